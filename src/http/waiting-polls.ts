import type { JobStatus } from '../../projections/jobs.ts';
import type { EndPlace } from '../../projections/queries/ended-downloads.ts';
import type { ServicePart } from '../ports/service-parts.ts';

export interface WaitOptions {
  seconds: number;
  /** Aborted when nobody waits for the answer any more. */
  gone: AbortSignal;
  /** Whose place it takes: an account, or a member of staff. */
  holder: string;
  /** The key of the poll; none for a page of the console, whose session ends by itself. */
  keyHash?: string;
  /** Waits for the end of a job, and for no other status. */
  untilEnded?: boolean;
}

interface Waiting extends Pick<WaitOptions, 'holder' | 'keyHash' | 'untilEnded'> {
  known: readonly JobStatus[];
  /** Waits for any end after this place. */
  after?: EndPlace;
  answer: (changed: readonly JobStatus[]) => void;
}

interface WaitingPollsOptions {
  /** @returns the jobs whose status has changed, with the new one */
  changedJobs: (known: readonly JobStatus[]) => Promise<JobStatus[]>;
  /** @returns those of the places after which a download has ended */
  placesPassed: (places: readonly EndPlace[]) => Promise<readonly EndPlace[]>;
  /** @returns those of the keys, by their hashes, that admit nobody any more */
  keysNotInForce: (keyHashes: readonly string[]) => Promise<ReadonlySet<string>>;
  part: ServicePart;
  maxWaiting?: number;
}

const lookEveryMs = 250;
/** One account gets a tenth of all places, so that it cannot take those of others; and enough for a few programs. */
const shareOfOne = 0.1;
const leastOfOne = 20;

/**
 * The polls and live pages of this process that wait for another status of their jobs. While there are any, one query reads the
 * status of all of them every quarter of a second. No notification has to reach the process, so none can be lost; between two
 * queries a waiting poll holds nothing but the connection to its client (decision 34).
 */
export class WaitingPolls {
  readonly #options: WaitingPollsOptions;
  readonly #maxWaiting: number;
  readonly #maxOfOne: number;
  readonly #waiting = new Set<Waiting>();
  readonly #placesTaken = new Map<string, number>();
  #isLooking = false;
  #isStopped = false;

  constructor(options: WaitingPollsOptions) {
    this.#options = options;
    this.#maxWaiting = options.maxWaiting ?? 2_000;
    this.#maxOfOne = Math.max(leastOfOne, Math.floor(this.#maxWaiting * shareOfOne));
  }

  get count(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until one of the jobs has another status than the one known (or has ended), the time is over, the key is revoked, or the client is
   * gone. However many jobs it waits for, it takes one place.
   *
   * @returns the jobs that have changed, or none; no promise, at once, where no more polls can wait, in all or of this holder
   */
  wait(known: readonly JobStatus[], options: WaitOptions): Promise<readonly JobStatus[]> | undefined {
    return this.#wait({ known }, options);
  }

  /**
   * Waits until a download of the account has ended after this place, the time is over, the key is revoked, or the client is gone.
   *
   * @returns no promise where no more polls can wait, as `wait`
   */
  waitForEnd(after: EndPlace, options: WaitOptions): Promise<unknown> | undefined {
    return this.#wait({ known: [], after }, options);
  }

  #wait(
    awaited: Pick<Waiting, 'known' | 'after'>,
    { seconds, gone, holder, keyHash, untilEnded = false }: WaitOptions,
  ): Promise<readonly JobStatus[]> | undefined {
    const isFull = this.#waiting.size >= this.#maxWaiting || this.#placesOf(holder) >= this.#maxOfOne;
    if (this.#isStopped || isFull) return undefined;
    return new Promise((resolve) => {
      const answer = (changed: readonly JobStatus[]) => {
        clearTimeout(timer);
        gone.removeEventListener('abort', answerGone);
        this.#leave(waiting);
        resolve(changed);
      };
      const answerGone = () => answer([]);
      const waiting: Waiting = { ...awaited, holder, untilEnded, ...(keyHash !== undefined && { keyHash }), answer };
      const timer = setTimeout(answerGone, seconds * 1_000);
      this.#waiting.add(waiting);
      this.#placesTaken.set(holder, this.#placesOf(holder) + 1);
      gone.addEventListener('abort', answerGone);
      if (gone.aborted) answerGone();
      if (!this.#isLooking) this.#lookLater();
    });
  }

  /** Ends all waits: each poll is answered with the current status. */
  stop(): void {
    this.#isStopped = true;
    for (const { answer } of this.#waiting) answer([]);
  }

  #placesOf(holder: string): number {
    return this.#placesTaken.get(holder) ?? 0;
  }

  #leave(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) return;
    const left = this.#placesOf(waiting.holder) - 1;
    if (left > 0) this.#placesTaken.set(waiting.holder, left);
    else this.#placesTaken.delete(waiting.holder);
  }

  #lookLater(): void {
    this.#isLooking = true;
    setTimeout(() => void this.#look(), lookEveryMs).unref();
  }

  async #look(): Promise<void> {
    const { changedJobs, placesPassed, keysNotInForce, part } = this.#options;
    if (this.#waiting.size > 0) {
      try {
        const waiting = [...this.#waiting];
        const known = new Map(waiting.flatMap((each) => each.known.map((job) => [textOf(job), job])));
        const places = new Map(waiting.flatMap(({ after }) => (after ? [[placeText(after), after]] : [])));
        const keyHashes = new Set(waiting.flatMap(({ keyHash }) => keyHash ?? []));
        const [changed, passed, notInForce] = await Promise.all([
          known.size === 0 ? [] : changedJobs([...known.values()]),
          places.size === 0 ? [] : placesPassed([...places.values()]),
          keyHashes.size === 0 ? new Set<string>() : keysNotInForce([...keyHashes]),
        ]);
        part.works();
        this.#answerRevoked(notInForce);
        this.#answerChanged(new Map(changed.map((job) => [job.token, job])));
        this.#answerPassed(new Set(passed.map(placeText)));
      } catch (error) {
        // They wait on: the status is read once more at the end of their time.
        part.failed('a look at jobs that are waited for', error);
      }
    }
    this.#isLooking = false;
    if (this.#waiting.size > 0) this.#lookLater();
  }

  #answerRevoked(notInForce: ReadonlySet<string>): void {
    if (notInForce.size === 0) return;
    for (const { keyHash, answer } of this.#waiting) if (keyHash !== undefined && notInForce.has(keyHash)) answer([]);
  }

  #answerPassed(passed: ReadonlySet<string>): void {
    if (passed.size === 0) return;
    for (const { after, answer } of this.#waiting) if (after && passed.has(placeText(after))) answer([]);
  }

  #answerChanged(current: ReadonlyMap<string, JobStatus>): void {
    if (current.size === 0) return;
    for (const waiting of this.#waiting) {
      const { known, untilEnded, answer } = waiting;
      const changed = known.flatMap(({ token, status }) => {
        const now = current.get(token);
        return now && now.status !== status ? [now] : [];
      });
      if (untilEnded ? changed.some(hasEnded) : changed.length > 0) answer(changed);
      // The next look asks for what differs from this.
      else if (changed.length > 0) waiting.known = known.map((job) => current.get(job.token) ?? job);
    }
  }
}

export const hasEnded = ({ status }: Pick<JobStatus, 'status'>): boolean => status === 'done' || status === 'failed';

/** Pages of one account wait for the same jobs, each of which is asked for once. */
const textOf = ({ token, status }: JobStatus): string => `${token} ${status}`;
const placeText = ({ accountId, position }: EndPlace): string => `${accountId} ${String(position)}`;
