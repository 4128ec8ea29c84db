import type { FastifyReply } from 'fastify';
import type { JobStatus } from '../../../projections/jobs.ts';
import type { DownloadProgress } from '../../ports/videos.ts';
import type { LiveStream, LiveStreams } from './live-streams.ts';
import type { LongVisit } from './long-visits.ts';

/** Dependencies of live pages. */
export interface LiveDependencies {
  streams: LiveStreams;
  /**
   * Waits for another status of one of these jobs, together with everything else in this process that waits for one.
   *
   * @param options holder: whose place it takes, an account or a member of staff
   */
  waitForChange: (
    known: readonly JobStatus[],
    options: { seconds: number; gone: AbortSignal; holder: string },
  ) => Promise<readonly JobStatus[]> | undefined;
  /** The last progress that a worker reported of a running download. */
  progress: (token: string) => DownloadProgress | undefined;
}

/** Progress is new every second; a download that waits for a worker has none. */
const progressSeconds = 1;
const waitingSeconds = 30;

/**
 * Streams a `change` for each of an account's downloads whenever there is something new, and `end` when all have ended.
 *
 * @param known their statuses as the page may have them
 * @returns false where no more streams can be open, in this process or for this account
 */
export function followDownloads(
  reply: FastifyReply,
  { accountId, stay, known }: { accountId: string; stay: () => LongVisit; known: readonly JobStatus[] },
  dependencies: LiveDependencies,
): boolean {
  return dependencies.streams.open(reply, { reader: accountId, stay }, (stream) =>
    sendChanges(known, { ...stream, accountId }, dependencies),
  );
}

async function sendChanges(
  known: readonly JobStatus[],
  { send, gone, isOver, accountId }: LiveStream & { accountId: string },
  { waitForChange, progress }: LiveDependencies,
): Promise<void> {
  const statuses = new Map(known.map(({ token, status }) => [token, status]));
  const sent = new Map<string, string>();
  while (!isOver()) {
    const changes = [...statuses]
      .map(([token, status]) => changeOf(token, status, progress))
      .filter((change) => sent.get(change.token) !== JSON.stringify(change));
    for (const change of changes) sent.set(change.token, JSON.stringify(change));
    await send(changes.map((data) => ({ name: 'change', data })));
    const running = [...statuses].map(([token, status]) => ({ token, status })).filter(isUnfinished);
    if (running.length === 0) {
      await send([{ name: 'end', data: {} }]);
      return;
    }
    // Until one of them changes, or a moment has passed in which progress may have come.
    const seconds = running.some(({ status }) => status === 'running') ? progressSeconds : waitingSeconds;
    const changed = waitForChange(running, { seconds, gone, holder: accountId });
    if (!changed) return;
    for (const { token, status } of await changed) statuses.set(token, status);
  }
}

/** Tells whether a download goes on. */
export const isUnfinished = ({ status }: Pick<JobStatus, 'status'>): boolean =>
  status !== 'done' && status !== 'failed';

/** A download as pages show it while it goes on. */
export function changeOf(token: string, status: JobStatus['status'], progressOf: LiveDependencies['progress']) {
  const progress = status === 'running' ? progressOf(token) : undefined;
  const { percent = null, bytesPerSecond = null, etaSeconds = null } = progress ?? {};
  return {
    token,
    status,
    percent,
    speed: bytesPerSecond === null ? null : `${(bytesPerSecond / 1_000_000).toFixed(1)} MB a second`,
    eta: etaSeconds === null ? null : `${String(Math.ceil(etaSeconds))} s left`,
  };
}
