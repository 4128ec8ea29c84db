import type { KeyLimit } from '../domain/key-limits.ts';
import { refuse, type Refused } from '../domain/refusals.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { EventStore } from '../ports/event-store.ts';
import { readAccount } from './accounts.ts';
import { changeTerms } from './change-terms.ts';
import type { Cause } from './handler/event-metadata.ts';
import type { UsageAnswer } from './usage/decide-batch.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

interface KeyLimitRequest {
  accountId: string;
  keyId: string;
  /** Null: none from now on. */
  limit: KeyLimit | null;
  snapshot: UsageSnapshot;
  cause: Cause;
  timeoutMs: number;
}

/**
 * Sets or removes the limit of one API key. It counts from its append on. The limit of a revoked key can only be removed.
 *
 * @throws {EventStoreUnavailable}
 */
export async function limitKey(
  { store, writers }: { store: EventStore; writers: WriterRegistry },
  { accountId, keyId, limit, ...request }: KeyLimitRequest,
): Promise<UsageAnswer | Refused> {
  const key = (await readAccount(store, accountId)).keys.get(keyId);
  if (!key || (limit && key.revoked)) return refuse('key_not_found');
  const change = limit
    ? ({ kind: 'set_key_limit', keyId, limit } as const)
    : ({ kind: 'remove_key_limit', keyId } as const);
  return await changeTerms(writers, { accountId, change, ...request });
}
