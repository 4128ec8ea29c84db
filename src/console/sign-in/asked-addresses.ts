import { LRUCache } from 'lru-cache';
import { mailbox } from '../../domain/people.ts';
import { maxLinksOfAddress } from '../../domain/session-lifetimes.ts';
import { linkMinutes } from './asking-browser.ts';

const maxAddresses = 20_000;
const windowMs = linkMinutes * 60_000;

/**
 * The links that were asked for with each address of late, in the bounded memory of this process. Addresses that nobody has are
 * counted too, so that nobody learns from it which ones somebody has.
 */
export class AskedAddresses {
  readonly #nowMs: () => number;
  readonly #instants = new LRUCache<string, number[]>({ max: maxAddresses });

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Counts one more. @returns the minutes until another link is sent, where as many as are sent were asked for; else undefined */
  count(email: string): number | undefined {
    const nowMs = this.#nowMs();
    const recent = (this.#instants.get(mailbox(email)) ?? []).filter((instantMs) => instantMs > nowMs - windowMs);
    const [first = nowMs] = recent;
    if (recent.length >= maxLinksOfAddress) return Math.ceil((first + windowMs - nowMs) / 60_000);
    this.#instants.set(mailbox(email), [...recent, nowMs]);
    return undefined;
  }
}
