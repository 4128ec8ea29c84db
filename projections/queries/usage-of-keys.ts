import { type BillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import { type LabelReader, withLabel } from '../api-keys.ts';
import type { Queryable } from '../runner/rows.ts';

interface DownloadCounts {
  downloads: number;
  /** Those of them beyond the allowance, and their price, before what was given back. */
  overage_downloads: number;
  overage_cents: number;
}

/** The downloads of an API key in a billing period. */
export interface UsageOfKey extends DownloadCounts {
  /** Null for downloads that were queued without an API key. */
  key_id: string | null;
  key_prefix: string | null;
  label: string | null;
  /** The days on which it queued any, YYYY-MM-DD in UTC, in their order. */
  days: (DownloadCounts & { day: string })[];
}

interface Wanted {
  accountId: string;
  period: BillingPeriod;
  /** Only keys after this id; empty: after the downloads without a key. */
  after?: string | undefined;
  limit: number;
  macs: LabelReader;
}

/** By the ids of the keys, downloads without a key first. It reads the downloads of the whole period. */
export async function listUsageOfKeys(
  client: Queryable,
  { accountId, period, after, limit, macs }: Wanted,
): Promise<UsageOfKey[]> {
  const { rows } = await client.query<UsageOfKey>(
    `select u.key_id, k.key_prefix, k.label, sum(u.downloads)::int as downloads,
            sum(u.overage_downloads)::int as overage_downloads, sum(u.overage_cents)::float8 as overage_cents,
            json_agg(json_build_object('day', u.day, 'downloads', u.downloads, 'overage_downloads', u.overage_downloads,
                                       'overage_cents', u.overage_cents) order by u.day) as days
     from (
       select key_id, (queued_at at time zone 'UTC')::date as day, count(*) as downloads,
              count(*) filter (where overage) as overage_downloads, coalesce(sum(cents), 0) as overage_cents
       from jobs
       where account_id = $1 and queued_at >= $2 and queued_at < $3 and usage_stream = $4
         and ($5::text is null or coalesce(key_id, '') > $5)
       group by 1, 2
     ) u left join api_keys k using (key_id)
     group by u.key_id, k.key_prefix, k.label
     order by coalesce(u.key_id, '') limit $6`,
    [accountId, period.start, period.end, usageStream(accountId, period), after ?? null, limit],
  );
  return rows.map((row) => withLabel(row, macs));
}
