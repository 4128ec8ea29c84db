import type { BillingPeriod } from '../../src/domain/billing-period.ts';
import { type LabelReader, withLabel } from '../api-keys.ts';
import { onlyRow, type Queryable } from '../runner/rows.ts';

interface RequestCounts {
  /** Those that were let in, whatever they were answered. */
  answered: number;
  /** Those that the hourly limit has refused. */
  limited: number;
}

/** The requests of an API key to the API in a billing period, as `key_requests` has counted them. */
export interface RequestsOfKey extends RequestCounts {
  key_id: string;
  key_prefix: string | null;
  label: string | null;
  /** The days on which it sent any, YYYY-MM-DD in UTC, in their order. */
  days: (RequestCounts & { day: string })[];
}

interface RequestsOfKeys {
  /** By the ids of the keys. */
  keys: RequestsOfKey[];
  /** The first day of which requests with keys of the account are counted, YYYY-MM-DD in UTC; null before any. */
  firstDay: string | null;
}

export async function readRequestsOfKeys(
  client: Queryable,
  { accountId, period, macs }: { accountId: string; period: BillingPeriod; macs: LabelReader },
): Promise<RequestsOfKeys> {
  const { rows } = await client.query<RequestsOfKeys>(
    `select coalesce(json_agg(of_key order by of_key.key_id), '[]') as keys,
            (select min(day)::text from key_requests where account_id = $1) as "firstDay"
     from (
       select r.key_id, k.key_prefix, k.label, sum(r.answered) as answered, sum(r.limited) as limited,
              json_agg(json_build_object('day', r.day, 'answered', r.answered, 'limited', r.limited) order by r.day) as days
       from key_requests r left join api_keys k using (key_id)
       where r.account_id = $1 and r.day >= $2::timestamptz::date and r.day < $3::timestamptz::date
       group by r.key_id, k.key_prefix, k.label
     ) of_key`,
    [accountId, period.start, period.end],
  );
  const { keys, firstDay } = onlyRow(rows);
  return { keys: keys.map((key) => withLabel(key, macs)), firstDay };
}
