import { LRUCache } from 'lru-cache';
import type { UsageSnapshot } from '../../domain/usage-state.ts';
import { isAfter } from './usage-cache.ts';

interface Newest {
  snapshot: UsageSnapshot;
  /** The log has contradicted a row of this account. */
  ignoresRows: boolean;
}

const maxAccounts = 10_000;

/**
 * The newest usage of each account that this process has answered from, by its writer or by a row of the read model, so that
 * nothing that a client was told goes back while the read models are behind (decision 56). It is there to be shown: nothing is
 * decided on it.
 */
export class NewestUsage {
  readonly #newest = new LRUCache<string, Newest>({ max: maxAccounts });

  get(accountId: string): UsageSnapshot | undefined {
    return this.#newest.get(accountId)?.snapshot;
  }

  /** Takes a row of the read model over, if it is newer. */
  takeRow(accountId: string, row: UsageSnapshot): void {
    const newest = this.#newest.get(accountId);
    if (newest && (newest.ignoresRows || !isAfter(row, newest.snapshot))) return;
    this.#newest.set(accountId, { snapshot: row, ignoresRows: false });
  }

  /** Takes over what a writer answers from. @param ignoresRows whether the log has contradicted a row: then this outranks all */
  takeAnswer(accountId: string, snapshot: UsageSnapshot, ignoresRows: boolean): void {
    const newest = this.#newest.get(accountId);
    if (!ignoresRows && newest && !isAfter(snapshot, newest.snapshot)) return;
    this.#newest.set(accountId, { snapshot, ignoresRows });
  }
}
