import type { PoolClient } from 'pg';
import { usageStream } from '../src/domain/billing-period.ts';
import { parseUsageEvent } from '../src/domain/parse-event.ts';
import type { LedgerEvent, UsageEvent } from '../src/domain/usage-events.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';

/**
 * The read model behind plots of usage: table `usage_days`, one row per UTC day of a billing period on which something was
 * charged or given back.
 *
 * A correction belongs to the day on which it was made, in columns of its own, not to the day of its charge. So a day that is
 * over never changes, a plot shows what was accepted as it was accepted, and the days of a period, charges less corrections, add
 * up to its row of `credits`. The books of a period are open for a while after its end: its last days may lie behind it, with
 * corrections alone.
 */
export const usageDays: RebuildableProjection = {
  name: 'usage_days',
  tables: ['usage_days'],
  streamPrefixes: ['usage-'],
  start: () => async (events, client) => {
    const days = new Map<string, DayRow>();
    for (const recorded of events) {
      const { event, stream, metadata } = parseUsageEvent(recorded);
      const changes = changesOf(event);
      if (!changes) continue;
      const day = metadata.time.slice(0, 10);
      const key = stream + day;
      const row = days.get(key);
      if (row) add(row, changes);
      else days.set(key, { stream, day, ...changes });
    }
    if (days.size > 0) await addToDays([...days.values()], client);
  },
};

/** What was charged on a day, and what was given back on it. All are 0 or more. */
const countNames = [
  // Downloads that were accepted, on a credit or as overage.
  'downloads',
  // Those of them that were overage, and their price.
  'overage_downloads',
  'overage_cents',
  'metadata_requests',
  'returned_credits',
  // Overage downloads of which nothing is left to pay.
  'returned_overage_downloads',
  // Cents of overage, by voids and waivers.
  'returned_cents',
  'returned_metadata_credits',
] as const;
type UsageCounts = Record<(typeof countNames)[number], number>;

/** Most rows have one or two counts, so the others are left out. */
interface DayRow extends Partial<UsageCounts> {
  stream: string;
  day: string;
}

function add(row: DayRow, changes: Partial<UsageCounts>): void {
  for (const name of countNames) {
    const change = changes[name];
    if (change !== undefined) row[name] = (row[name] ?? 0) + change;
  }
}

/** @returns undefined for an event that neither charges nor gives back */
function changesOf(event: UsageEvent): Partial<UsageCounts> | undefined {
  const { type, data } = event as LedgerEvent;
  switch (type) {
    case 'DownloadCreditDebited':
      return { downloads: 1 };
    case 'OverageCharged':
      return { downloads: 1, overage_downloads: 1, overage_cents: data.cents };
    case 'MetadataCreditDebited':
      return { metadata_requests: 1 };
    case 'DownloadVoided':
      return {
        returned_credits: data.credits,
        returned_overage_downloads: data.overage_downloads,
        returned_cents: data.cents,
      };
    case 'ChargeWaived':
      return { returned_overage_downloads: data.overage_downloads, returned_cents: data.cents };
    case 'DownloadCreditReturned':
      return { returned_credits: 1 };
    case 'MetadataCreditVoided':
      return { returned_metadata_credits: 1 };
    default:
      return undefined;
  }
}

async function addToDays(rows: readonly DayRow[], client: PoolClient): Promise<void> {
  await client.query({
    name: 'add-to-usage-days',
    text: `insert into usage_days as d (stream, day, account_id, ${countNames.join(', ')})
     select stream, day, split_part(stream, '-', 2), ${countNames.map((name) => `coalesce(${name}, 0)`).join(', ')}
     from json_populate_recordset(null::usage_days, $1::json)
     on conflict (stream, day) do update set ${countNames.map((name) => `${name} = d.${name} + excluded.${name}`).join(', ')}`,
    values: [JSON.stringify(rows)],
  });
}

/** @param day UTC, YYYY-MM-DD */
export type UsageDay = UsageCounts & { day: string };

/** The days of a billing period with usage or corrections, in their order. A period has few. */
export async function listUsageDays(
  client: Queryable,
  { accountId, periodStart }: { accountId: string; periodStart: string },
): Promise<UsageDay[]> {
  const { rows } = await client.query<UsageDay>(
    `select day::text, downloads, overage_downloads, overage_cents::float8, metadata_requests, returned_credits,
            returned_overage_downloads, returned_cents::float8, returned_metadata_credits
     from usage_days d where stream = $1 order by d.day`,
    [usageStream(accountId, { start: periodStart })],
  );
  return rows;
}
