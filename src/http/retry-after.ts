/** The parts that answers of the API depend on. */
export type ApiPart = 'postgres' | 'event_store' | 'read_models' | 'workers' | 'file_store';

/** For a link with too many connections: one of them may end soon. */
export const linkRetryAfterSeconds = 10;

/** For a key whose hourly limit is used up: the seconds until its window has a place again. */
export const rateLimitRetryAfterSeconds = (resetAtSeconds: number, nowMs: number): number =>
  Math.max(1, resetAtSeconds - Math.floor(nowMs / 1000));

const longestSeconds = 30;
/** A part that nobody has missed for so long may have been back in between. */
const forgottenMs = 120_000;

/**
 * Computes Retry-After for a part that is away: half as long as it has been away. Waiting then lengthens an outage by at most half, and waiting
 * clients do not all return in the same second.
 *
 * @returns whole seconds, from 1 to 30
 */
export function retryAfterSeconds(awayMs: number): number {
  return Math.min(longestSeconds, Math.max(1, Math.ceil(awayMs / 2_000)));
}

/** Remembers since when each part has been away, as requests of this process found it. */
export class PartsAway {
  readonly #nowMs: () => number;
  readonly #missed = new Map<ApiPart, { sinceMs: number; lastMs: number }>();

  /** @param nowMs a clock that never goes backwards */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** @returns for how many seconds a client is asked to wait */
  missed(part: ApiPart): number {
    const lastMs = this.#nowMs();
    const before = this.#missed.get(part);
    const sinceMs = before && lastMs - before.lastMs < forgottenMs ? before.sinceMs : lastMs;
    this.#missed.set(part, { sinceMs, lastMs });
    return retryAfterSeconds(lastMs - sinceMs);
  }

  works(part: ApiPart): void {
    if (this.#missed.size > 0) this.#missed.delete(part);
  }
}
