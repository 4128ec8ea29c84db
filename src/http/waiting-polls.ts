import type { JobStatus } from '../../projections/jobs.ts';
import type { Outage } from '../ports/outage.ts';

interface Waiting extends JobStatus {
  keyHash: string | undefined;
  answer: (status?: JobStatus['status']) => void;
}

interface WaitingPollsOptions {
  /** @returns the jobs whose status has changed, with the new one */
  changedJobs: (known: readonly JobStatus[]) => Promise<JobStatus[]>;
  /** @returns those of the keys, by their hashes, that admit nobody any more */
  keysNotInForce: (keyHashes: readonly string[]) => Promise<ReadonlySet<string>>;
  outage: Outage;
  maxWaiting?: number;
}

const lookEveryMs = 250;

/**
 * The polls of this process that wait for another status of their jobs. While there are any, one query reads the status of all
 * of them every quarter of a second. No notification has to reach the process, so none can be lost; between two queries a
 * waiting poll holds nothing but the connection to its client (decision 34).
 */
export class WaitingPolls {
  readonly #changedJobs: WaitingPollsOptions['changedJobs'];
  readonly #keysNotInForce: WaitingPollsOptions['keysNotInForce'];
  readonly #outage: Outage;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<Waiting>();
  #isLooking = false;
  #isStopped = false;

  constructor({ changedJobs, keysNotInForce, outage, maxWaiting = 2_000 }: WaitingPollsOptions) {
    this.#changedJobs = changedJobs;
    this.#keysNotInForce = keysNotInForce;
    this.#outage = outage;
    this.#maxWaiting = maxWaiting;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until a job has another status than the one known, the time is over, the key is revoked, or the client is gone.
   *
   * @param keyHash the key of the poll; none for a page of the console, whose session ends by itself
   * @param gone aborted when nobody waits for the answer any more
   * @returns the new status, or undefined at the end of the time; no promise, at once, where no more polls can wait
   */
  wait(
    known: JobStatus,
    { seconds, gone, keyHash }: { seconds: number; gone: AbortSignal; keyHash?: string },
  ): Promise<JobStatus['status'] | undefined> | undefined {
    if (this.#isStopped || this.#waiting.size >= this.#maxWaiting) return undefined;
    const { token, status } = known;
    return new Promise((resolve) => {
      const answer = (changed?: JobStatus['status']) => {
        clearTimeout(timer);
        gone.removeEventListener('abort', answerGone);
        this.#waiting.delete(waiting);
        resolve(changed);
      };
      const answerGone = () => answer();
      const waiting = { token, status, keyHash, answer };
      const timer = setTimeout(answerGone, seconds * 1_000);
      this.#waiting.add(waiting);
      gone.addEventListener('abort', answerGone);
      if (gone.aborted) answer();
      if (!this.#isLooking) this.#lookLater();
    });
  }

  /** Ends all waits: each poll is answered with the current status. */
  stop(): void {
    this.#isStopped = true;
    for (const { answer } of this.#waiting) answer();
  }

  #lookLater(): void {
    this.#isLooking = true;
    setTimeout(() => void this.#look(), lookEveryMs).unref();
  }

  async #look(): Promise<void> {
    if (this.#waiting.size > 0) {
      try {
        const keyHashes = new Set([...this.#waiting].map(({ keyHash }) => keyHash ?? []).flat());
        const [changed, notInForce] = await Promise.all([
          this.#changedJobs([...this.#waiting]),
          keyHashes.size === 0 ? new Set<string>() : this.#keysNotInForce([...keyHashes]),
        ]);
        this.#outage.works();
        this.#answerRevoked(notInForce);
        this.#answerChanged(new Map(changed.map(({ token, status }) => [token, status])));
      } catch (error) {
        // They wait on: the status is read once more at the end of their time.
        this.#outage.failed('a look at jobs that are waited for', error);
      }
    }
    this.#isLooking = false;
    if (this.#waiting.size > 0) this.#lookLater();
  }

  #answerRevoked(notInForce: ReadonlySet<string>): void {
    if (notInForce.size === 0) return;
    for (const { keyHash, answer } of this.#waiting) if (keyHash !== undefined && notInForce.has(keyHash)) answer();
  }

  #answerChanged(statuses: ReadonlyMap<string, JobStatus['status']>): void {
    if (statuses.size === 0) return;
    for (const { token, status, answer } of this.#waiting) {
      const now = statuses.get(token) ?? status;
      if (now !== status) answer(now);
    }
  }
}
