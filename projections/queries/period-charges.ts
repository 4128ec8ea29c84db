import type { LedgerRow } from '../overage-ledger.ts';
import type { Queryable } from '../runner/rows.ts';

/**
 * Queries over the overage of one account and billing period: its rows of `overage_ledger` with an amount, in the order of the log.
 * Credits have none and are left out.
 */
export interface PeriodCharge extends Omit<LedgerRow, 'account_id' | 'period_start' | 'lookup_id'> {
  /** Null while the read model does not know the download. */
  platform: string | null;
  video_id: string | null;
  /** Overage of the period directly after the event, less what was given back by then; null where only a part is listed. */
  running_cents: number | null;
}

type ChargesOnly = 'charges' | 'corrections';

interface OfPeriod {
  accountId: string;
  /** UTC ISO-8601. */
  periodStart: string;
  /** Default: both. */
  only?: ChargesOnly | undefined;
}

/**
 * A page, in one statement; in two where the page has no charge that knows the total after it.
 *
 * @param of after: a position: only later ones
 */
export async function listPeriodCharges(
  client: Queryable,
  of: OfPeriod & { after?: string | undefined; limit: number },
): Promise<{ rows: PeriodCharge[]; next: string | undefined }> {
  const { after, limit, only } = of;
  const rows = await readRows(client, { ...of, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? shown.at(-1)?.position : undefined;
  if (only !== undefined) return { rows: shown, next };
  const before = after === undefined ? 0 : (totalBefore(shown) ?? (await sumUpTo(client, { ...of, after })));
  return { rows: withRunning(shown, before), next };
}

const exportedAtOnce = 2_000;

/** All of them page by page in constant memory; no connection is held between two pages, because rows are only added. */
export async function* exportPeriodCharges(pool: Queryable, of: OfPeriod): AsyncGenerator<PeriodCharge[]> {
  let after: string | undefined;
  let running = 0;
  for (;;) {
    const rows = await readRows(pool, { ...of, after, limit: exportedAtOnce });
    const page = of.only === undefined ? withRunning(rows, running) : rows;
    if (page.length > 0) yield page;
    if (page.length < exportedAtOnce) return;
    after = page.at(-1)?.position;
    running = page.at(-1)?.running_cents ?? 0;
  }
}

function withRunning(rows: readonly PeriodCharge[], before: number): PeriodCharge[] {
  let total = before;
  return rows.map((row) => ({ ...row, running_cents: (total += row.cents) }));
}

/** The total before the rows, from the first charge that knows the total after it. */
function totalBefore(rows: readonly PeriodCharge[]): number | undefined {
  let sum = 0;
  for (const { cents, running_cents: running } of rows) {
    sum += cents;
    if (running !== null) return running - sum;
  }
  return undefined;
}

async function sumUpTo(
  client: Queryable,
  { accountId, periodStart, after }: OfPeriod & { after: string },
): Promise<number> {
  const { rows } = await client.query<{ cents: number }>(
    `select coalesce(sum(cents), 0)::float8 as cents from overage_ledger l
     where account_id = $1 and period_start = $2 and cents <> 0 and position <= $3`,
    [accountId, periodStart, after],
  );
  return rows[0]?.cents ?? 0;
}

/** Each has an index. */
const conditions = { both: 'l.cents <> 0', charges: 'l.cents > 0', corrections: 'l.cents < 0' } as const;

async function readRows(
  client: Queryable,
  { accountId, periodStart, only, after, limit }: OfPeriod & { after?: string | undefined; limit: number },
): Promise<PeriodCharge[]> {
  const { rows } = await client.query<PeriodCharge>(
    `select l.event_id, l.type, l.time, l.stream, l.revision::float8, l.position::text, l.token, j.platform, j.video_id,
            l.ordinal, l.cents::float8, l.rate_cents::float8, l.rate_version,
            case when l.cents > 0 then j.running_cents::float8 end as running_cents,
            l.reference, l.corrects, l.request_id, l.actor
     from overage_ledger l left join jobs j on j.token = l.token
     where l.account_id = $1 and l.period_start = $2 and ${conditions[only ?? 'both']} and l.position > $3
     order by l.position limit $4`,
    [accountId, periodStart, after ?? '-1', limit],
  );
  return rows;
}
