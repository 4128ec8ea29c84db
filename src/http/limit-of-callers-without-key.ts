import { LRUCache } from 'lru-cache';
import type { RateWindow } from '../../projections/admission/admission.ts';
import { networkOf } from '../requests/client-address.ts';

const windowMs = 3_600_000;
const maxAddresses = 20_000;

/**
 * The request window of callers without a valid key, per client address, in the bounded memory of this process. It only tells
 * such a caller when to stop; past its limit, the connection is closed after the answer.
 */
export class AddressWindows {
  readonly #limit: number;
  readonly #realNowMs: () => number;
  readonly #instants = new LRUCache<string, number[]>({ max: maxAddresses });

  constructor(limit: number, realNowMs: () => number) {
    this.#limit = limit;
    this.#realNowMs = realNowMs;
  }

  /** @returns the window after counting one more failure, and whether it was over its limit already */
  count(address: string): { window: RateWindow; exhausted: boolean } {
    const recent = this.#recent(address);
    const exhausted = recent.length >= this.#limit;
    if (!exhausted) recent.push(this.#realNowMs());
    this.#instants.set(networkOf(address), recent);
    return { window: this.#windowOf(recent), exhausted };
  }

  /** Counts nothing. */
  show(address: string): RateWindow {
    return this.#windowOf(this.#recent(address));
  }

  #recent(address: string): number[] {
    const sinceMs = this.#realNowMs() - windowMs;
    return (this.#instants.get(networkOf(address)) ?? []).filter((instantMs) => instantMs >= sinceMs);
  }

  #windowOf(recent: readonly number[]): RateWindow {
    const leavesMs = recent[0] === undefined ? this.#realNowMs() : recent[0] + windowMs + 1;
    return {
      limit: this.#limit,
      remaining: this.#limit - recent.length,
      resetAtSeconds: Math.ceil(leavesMs / 1000),
    };
  }
}
