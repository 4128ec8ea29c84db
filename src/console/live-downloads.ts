import type { FastifyReply } from 'fastify';
import type { JobStatus } from '../../projections/jobs.ts';
import type { DownloadProgress } from '../ports/videos.ts';

/** Waits for another status of a job, together with everything else in this process that waits for one. */
type WaitForChange = (
  known: JobStatus,
  options: { seconds: number; gone: AbortSignal },
) => Promise<JobStatus['status'] | undefined> | undefined;

interface LiveOptions {
  wait: WaitForChange;
  progress: (token: string) => DownloadProgress | undefined;
}

/** Progress is new every second; a download that waits for a worker has none. */
const progressSeconds = 1;
const waitingSeconds = 30;
/** After so long a stream ends, and the browser opens another one: with its session as it is then. */
const longestSeconds = 60;
const maxStreams = 2_000;
/** As many pages as the people of one account may have open. */
const maxStreamsOfAccount = 200;

/** Streams of server-sent events that tell pages how downloads go on. */
export class LiveDownloads {
  readonly #options: LiveOptions;
  /** By account. */
  readonly #open = new Map<AbortController, string>();

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Ends all streams, as the process ends. */
  stop(): void {
    for (const stream of this.#open.keys()) stream.abort();
  }

  /**
   * Sends a `change` for each of the downloads whenever there is something new, and `end` when all have ended.
   *
   * @param known their statuses as the page may have them
   * @returns false where no more streams can be open, in this process or for this account
   */
  follow(reply: FastifyReply, { accountId, known }: { accountId: string; known: readonly JobStatus[] }): boolean {
    if (this.#open.size >= maxStreams || this.#countOf(accountId) >= maxStreamsOfAccount) return false;
    const stream = new AbortController();
    this.#open.set(stream, accountId);
    reply.raw.once('close', () => stream.abort());
    reply.raw.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Accel-Buffering': 'no',
    });
    reply.raw.write('retry: 2000\n\n');
    void this.#send(reply, known, stream.signal).finally(() => {
      this.#open.delete(stream);
      reply.raw.end();
    });
    return true;
  }

  #countOf(accountId: string): number {
    let count = 0;
    for (const other of this.#open.values()) if (other === accountId) count += 1;
    return count;
  }

  async #send(reply: FastifyReply, known: readonly JobStatus[], gone: AbortSignal): Promise<void> {
    const statuses = new Map(known.map(({ token, status }) => [token, status]));
    const sent = new Map<string, string>();
    const untilMs = performance.now() + longestSeconds * 1_000;
    while (!gone.aborted && performance.now() < untilMs) {
      for (const [token, status] of statuses) {
        const text = JSON.stringify(this.#changeOf(token, status));
        if (sent.get(token) === text) continue;
        sent.set(token, text);
        reply.raw.write(`event: change\ndata: ${text}\n\n`);
      }
      const running = [...statuses].filter(([, status]) => status !== 'done' && status !== 'failed');
      if (running.length === 0) {
        reply.raw.write('event: end\ndata: {}\n\n');
        return;
      }
      const changed = await this.#nextChange(running, gone);
      if (changed === 'cannot_wait') return;
      if (changed) statuses.set(changed.token, changed.status);
    }
  }

  /** Until one of them changes, or a moment has passed in which progress may have come. */
  async #nextChange(
    running: readonly (readonly [string, JobStatus['status']])[],
    gone: AbortSignal,
  ): Promise<JobStatus | 'cannot_wait' | undefined> {
    const over = new AbortController();
    const either = AbortSignal.any([gone, over.signal]);
    const hasProgress = running.some(([, status]) => status === 'running');
    const seconds = hasProgress ? progressSeconds : waitingSeconds;
    const waits = running.map(([token, status]) =>
      this.#options.wait({ token, status }, { seconds, gone: either })?.then((now) => now && { token, status: now }),
    );
    const waiting = waits.filter((wait) => wait !== undefined);
    const changed = waiting.length < waits.length ? 'cannot_wait' : await Promise.race(waiting);
    over.abort();
    return changed;
  }

  #changeOf(token: string, status: JobStatus['status']) {
    const progress = status === 'running' ? this.#options.progress(token) : undefined;
    const { percent = null, bytesPerSecond = null, etaSeconds = null } = progress ?? {};
    return {
      token,
      status,
      percent,
      speed: bytesPerSecond === null ? null : `${(bytesPerSecond / 1_000_000).toFixed(1)} MB a second`,
      eta: etaSeconds === null ? null : `${String(Math.ceil(etaSeconds))} s left`,
    };
  }
}
