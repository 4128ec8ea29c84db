import { type ApiKeyRow, type LabelReader, withLabel } from '../api-keys.ts';
import type { Queryable } from '../runner/rows.ts';
import { goneSql } from './admission-statement.ts';

const sinceBaseMs = 'extract(epoch from clock_timestamp() - w.base) * 1000';

/** An API key with its use, in the form that programs read. A request that was given back counts as none. */
export interface KeyWithUse extends ApiKeyRow {
  /** When its newest request was admitted; null if there was none since the window was made. */
  last_used_at: string | null;
  /** Requests that were admitted within the past hour. */
  used_in_past_hour: number;
}

/**
 * The keys of an account, in the order of their issue, with what admission has counted. Reads the windows without their locks, so
 * no request waits. A window keeps its newest instant until another request comes, however old it is.
 */
export async function listKeysWithUse(
  client: Queryable,
  { accountId, macs }: { accountId: string; macs: LabelReader },
): Promise<KeyWithUse[]> {
  const { rows } = await client.query<KeyWithUse>(
    `select k.key_id, k.account_id, k.key_prefix, k.label, k.created_at, k.revoked_at,
            w.base + w.admitted_ms[cardinality(w.admitted_ms)] * interval '1 millisecond' as last_used_at,
            coalesce(cardinality(w.admitted_ms) - ${goneSql(sinceBaseMs, 'w.admitted_ms')}, 0) as used_in_past_hour
     from api_keys k left join api_key_window w using (key_id)
     where k.account_id = $1 order by k.created_at, k.key_id`,
    [accountId],
  );
  return rows.map((row) => withLabel(row, macs));
}
