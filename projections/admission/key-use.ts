import type { PoolClient } from 'pg';
import type { ApiKeyRow } from '../api-keys.ts';
import { goneSql } from './admission-statement.ts';

const sinceBaseMs = 'extract(epoch from clock_timestamp() - w.base) * 1000';

/** An API key with its use, in the form that programs read. A request that was given back counts as none. */
export interface KeyWithUse extends Omit<ApiKeyRow, 'created_at' | 'revoked_at'> {
  /** Instants are UTC ISO-8601. */
  created_at: string;
  revoked_at: string | null;
  /** When its newest request was admitted; null if there was none since the window was made. */
  last_used_at: string | null;
  /** Requests that were admitted within the past hour. */
  used_in_past_hour: number;
}

/**
 * The keys of an account, in the order of their issue, with what admission has counted. Reads the windows without their locks, so
 * no request waits. A window keeps its newest instant until another request comes, however old it is.
 */
export async function listKeysWithUse(client: Pick<PoolClient, 'query'>, accountId: string): Promise<KeyWithUse[]> {
  const { rows } = await client.query<ApiKeyRow & { last_used_at: Date | null; used_in_past_hour: number }>(
    `select k.key_id, k.account_id, k.key_prefix, k.label, k.created_at, k.revoked_at,
            w.base + w.admitted_ms[cardinality(w.admitted_ms)] * interval '1 millisecond' as last_used_at,
            coalesce(cardinality(w.admitted_ms) - ${goneSql(sinceBaseMs, 'w.admitted_ms')}, 0) as used_in_past_hour
     from api_keys k left join api_key_window w using (key_id)
     where k.account_id = $1 order by k.created_at, k.key_id`,
    [accountId],
  );
  return rows.map((row) => ({
    ...row,
    created_at: row.created_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  }));
}
