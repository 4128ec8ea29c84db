import { type BillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import type { Queryable } from '../runner/rows.ts';

/** The downloads of an API key in a billing period. */
export interface UsageOfKey {
  /** Null for downloads that were queued without an API key. */
  key_id: string | null;
  key_prefix: string | null;
  label: string | null;
  downloads: number;
  /** Those of them beyond the allowance, and their price, before what was given back. */
  overage_downloads: number;
  overage_cents: number;
}

interface Wanted {
  accountId: string;
  period: BillingPeriod;
  /** Only keys after this id; empty: after the downloads without a key. */
  after?: string | undefined;
  limit: number;
}

/** By the ids of the keys, downloads without a key first. It reads the downloads of the whole period. */
export async function listUsageOfKeys(
  client: Queryable,
  { accountId, period, after, limit }: Wanted,
): Promise<UsageOfKey[]> {
  const { rows } = await client.query<UsageOfKey>(
    `select u.key_id, k.key_prefix, k.label, u.downloads, u.overage_downloads, u.overage_cents
     from (
       select key_id, count(*)::int as downloads, (count(*) filter (where overage))::int as overage_downloads,
              coalesce(sum(cents), 0)::float8 as overage_cents
       from jobs
       where account_id = $1 and queued_at >= $2 and queued_at < $3 and usage_stream = $4
         and ($5::text is null or coalesce(key_id, '') > $5)
       group by key_id order by coalesce(key_id, '') limit $6
     ) u left join api_keys k using (key_id)
     order by coalesce(u.key_id, '')`,
    [accountId, period.start, period.end, usageStream(accountId, period), after ?? null, limit],
  );
  return rows;
}
