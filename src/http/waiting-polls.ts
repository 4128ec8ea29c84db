import type { JobStatus } from '../../projections/jobs.ts';
import type { Outage } from '../ports/outage.ts';

interface Waiting extends JobStatus {
  answer: (status?: JobStatus['status']) => void;
}

interface WaitingPollsOptions {
  /** @returns the jobs whose status has changed, with the new one */
  changedJobs: (known: readonly JobStatus[]) => Promise<JobStatus[]>;
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
  readonly #outage: Outage;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<Waiting>();
  #isLooking = false;
  #isStopped = false;

  constructor({ changedJobs, outage, maxWaiting = 2_000 }: WaitingPollsOptions) {
    this.#changedJobs = changedJobs;
    this.#outage = outage;
    this.#maxWaiting = maxWaiting;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until a job has another status than the one known, the time is over, or the client is gone.
   *
   * @param gone aborted when nobody waits for the answer any more
   * @returns the new status, or undefined at the end of the time; no promise, at once, where no more polls can wait
   */
  wait(
    known: JobStatus,
    { seconds, gone }: { seconds: number; gone: AbortSignal },
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
      const waiting = { token, status, answer };
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
        const changed = await this.#changedJobs([...this.#waiting]);
        this.#outage.works();
        this.#answerChanged(new Map(changed.map(({ token, status }) => [token, status])));
      } catch (error) {
        // They wait on: the status is read once more at the end of their time.
        this.#outage.failed('a look at jobs that are waited for', error);
      }
    }
    this.#isLooking = false;
    if (this.#waiting.size > 0) this.#lookLater();
  }

  #answerChanged(statuses: ReadonlyMap<string, JobStatus['status']>): void {
    if (statuses.size === 0) return;
    for (const { token, status, answer } of this.#waiting) {
      const now = statuses.get(token) ?? status;
      if (now !== status) answer(now);
    }
  }
}
