import type { FastifyReply } from 'fastify';
import type { JobStatus } from '../../../projections/jobs.ts';
import type { DownloadProgress } from '../../ports/videos.ts';
import { type LiveStream, LiveStreams } from './live-streams.ts';
import type { LongVisit } from './long-visits.ts';

/**
 * Waits for another status of one of these jobs, together with everything else in this process that waits for one.
 *
 * @param options holder: whose place it takes, an account or a member of staff
 */
export type WaitForChange = (
  known: readonly JobStatus[],
  options: { seconds: number; gone: AbortSignal; holder: string },
) => Promise<readonly JobStatus[]> | undefined;

interface LiveOptions {
  wait: WaitForChange;
  progress: (token: string) => DownloadProgress | undefined;
}

/** Progress is new every second; a download that waits for a worker has none. */
const progressSeconds = 1;
const waitingSeconds = 30;

/** Streams of server-sent events that tell pages how downloads go on. */
export class LiveDownloads {
  readonly #options: LiveOptions;
  readonly #streams = new LiveStreams();

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Ends all streams, as the process ends. */
  stop(): void {
    this.#streams.stop();
  }

  /**
   * Sends a `change` for each of the downloads whenever there is something new, and `end` when all have ended.
   *
   * @param known their statuses as the page may have them
   * @returns false where no more streams can be open, in this process or for this account
   */
  follow(
    reply: FastifyReply,
    { accountId, stay, known }: { accountId: string; stay: () => LongVisit; known: readonly JobStatus[] },
  ): boolean {
    return this.#streams.open(reply, { reader: accountId, stay }, (stream) =>
      this.#send(known, { ...stream, accountId }),
    );
  }

  async #send(
    known: readonly JobStatus[],
    { send, gone, isOver, accountId }: LiveStream & { accountId: string },
  ): Promise<void> {
    const statuses = new Map(known.map(({ token, status }) => [token, status]));
    const sent = new Map<string, string>();
    while (!isOver()) {
      const changes = [...statuses]
        .map(([token, status]) => changeOf(token, status, this.#options.progress))
        .filter((change) => sent.get(change.token) !== JSON.stringify(change));
      for (const change of changes) sent.set(change.token, JSON.stringify(change));
      await send(changes.map((data) => ({ name: 'change', data })));
      const running = [...statuses]
        .filter(([, status]) => status !== 'done' && status !== 'failed')
        .map(([token, status]) => ({ token, status }));
      if (running.length === 0) {
        await send([{ name: 'end', data: {} }]);
        return;
      }
      // Until one of them changes, or a moment has passed in which progress may have come.
      const seconds = running.some(({ status }) => status === 'running') ? progressSeconds : waitingSeconds;
      const changed = this.#options.wait(running, { seconds, gone, holder: accountId });
      if (!changed) return;
      for (const { token, status } of await changed) statuses.set(token, status);
    }
  }
}

/** A download as pages show it while it goes on. */
export function changeOf(token: string, status: JobStatus['status'], progressOf: LiveOptions['progress']) {
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
