import type { KeyLimit } from '../domain/key-limits.ts';
import { refuse, type Refused } from '../domain/refusals.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { EventStore } from '../ports/event-store.ts';
import { readAccount } from './accounts.ts';
import { changeTerms, type TermsAnswer } from './change-terms.ts';
import type { Cause } from './handler/event-metadata.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

interface KeyLimitRequest {
  accountId: string;
  keyId: string;
  /** Null: no limit in this part. Parts that are not named stay unchanged. */
  changes: Partial<KeyLimit>;
  snapshot: UsageSnapshot;
  cause: Cause;
  timeoutMs: number;
}

/**
 * Changes the limit of one API key, or removes it with its last part. It counts from its append on. Of a revoked key, parts are
 * only removed.
 *
 * @returns `key_not_found` also for a revoked key that is to be limited
 * @throws {EventStoreUnavailable}
 */
export async function limitKey(
  { store, writers }: { store: EventStore; writers: WriterRegistry },
  { accountId, keyId, changes, ...request }: KeyLimitRequest,
): Promise<TermsAnswer | Refused<'key_not_found'>> {
  const key = (await readAccount(store, accountId)).keys.get(keyId);
  const removes = Object.values(changes).every((part) => part === null);
  if (!key || (key.revoked && !removes)) return refuse('key_not_found');
  return await changeTerms(writers, { accountId, change: { kind: 'change_key_limit', keyId, changes }, ...request });
}
