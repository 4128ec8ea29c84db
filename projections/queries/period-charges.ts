import type { Job } from '../../src/domain/download-job.ts';
import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import type { LedgerRow } from '../overage-ledger.ts';
import { type Bind, bindings, equalities, type Queryable } from '../runner/rows.ts';
import type { DownloadSearch } from './account-downloads.ts';

/**
 * Queries over the overage of one account and billing period: its rows of `overage_ledger` with an amount, in the order of the log.
 * Credits have none and are left out.
 */
export interface PeriodCharge extends Omit<LedgerRow, 'account_id' | 'period_start' | 'lookup_id'> {
  /** Null while the read model does not know the download. */
  platform: string | null;
  video_id: string | null;
  /** Canonical address of the video. */
  url: string | null;
  job_status: Job['status'] | null;
  failure_reason: FailureReason | null;
  /** Overage of the period directly after the event, less what was given back by then; null where only a part is listed. */
  running_cents: number | null;
  /** What was given back of a charge: before the close, and by credit notes; 0 for a correction. */
  voided_cents: number;
  waived_cents: number;
  credited_cents: number;
}

interface OfPeriod {
  accountId: string;
  /** UTC ISO-8601. */
  periodStart: string;
  /** Default: both. */
  only?: 'charges' | 'corrections' | undefined;
  /** Only those of downloads in this state. */
  job?: Job['status'] | undefined;
  /** Only those of downloads of this video; without a platform, its id may be the token of a download. */
  search?: DownloadSearch | undefined;
  /** Only those of this day in UTC, such as 2026-11-24. */
  on?: string | undefined;
}

const isWhole = ({ only, job, search, on }: OfPeriod) => [only, job, search, on].every((part) => part === undefined);

/**
 * A page, in one statement; in two where the page has no charge that knows the total after it.
 *
 * @param of after: a position: only later ones
 */
export async function listPeriodCharges(
  client: Queryable,
  of: OfPeriod & { after?: string | undefined; limit: number },
): Promise<{ rows: PeriodCharge[]; next: string | undefined }> {
  const { after, limit } = of;
  const rows = await readRows(client, { ...of, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? shown.at(-1)?.position : undefined;
  if (!isWhole(of)) return { rows: shown, next };
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
    const page = isWhole(of) ? withRunning(rows, running) : rows;
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

/** Charges of a period by their revisions, in the order of the log. */
export const readChargesAt = (
  client: Queryable,
  { accountId, stream, revisions }: { accountId: string; stream: string; revisions: readonly number[] },
): Promise<PeriodCharge[]> => {
  const { values, bind } = bindings();
  const account = bind(accountId);
  const where = `l.account_id = ${account} and l.stream = ${bind(stream)} and l.revision = any(${bind(revisions)}) and l.cents > 0`;
  return select(client, { where, account }, values);
};

/** Each has an index. */
const conditions = { both: 'l.cents <> 0', charges: 'l.cents > 0', corrections: 'l.cents < 0' } as const;

function readRows(
  client: Queryable,
  {
    accountId,
    periodStart,
    only,
    job,
    search,
    on,
    after,
    limit,
  }: OfPeriod & { after?: string | undefined; limit: number },
): Promise<PeriodCharge[]> {
  const { values, bind } = bindings();
  const account = bind(accountId);
  const where = [
    `l.account_id = ${account} and l.period_start = ${bind(periodStart)} and ${conditions[only ?? 'both']}`,
    `l.position > ${bind(after ?? '-1')}`,
    ...(on === undefined
      ? []
      : [`l.time >= ${bind(on)}::timestamptz`, `l.time < ${bind(on)}::timestamptz + interval '1 day'`]),
    ...(search === undefined ? [] : [searchSql(search, bind)]),
    ...equalities({ 'j.status': job }, bind),
  ].join(' and ');
  return select(client, { where, account, limit: bind(limit) }, values);
}

function searchSql(search: DownloadSearch, bind: Bind): string {
  if ('token' in search) return `l.token = ${bind(search.token)}`;
  if ('url' in search) return `j.url = ${bind(search.url)}`;
  const { platform, videoId } = search;
  if (platform !== undefined) return `(j.platform, j.video_id) = (${bind(platform)}, ${bind(videoId)})`;
  return `${bind(videoId)} in (l.token, j.video_id)`;
}

/** What was given back is summed for the rows of the page alone. */
async function select(
  client: Queryable,
  { where, account, limit = 'null' }: { where: string; account: string; limit?: string },
  values: readonly unknown[],
): Promise<PeriodCharge[]> {
  const { rows } = await client.query<PeriodCharge>(
    `with listed as materialized (
       select l.event_id, l.type, l.time, l.stream, l.revision::float8, l.position, l.token, j.platform, j.video_id, j.url,
              j.status as job_status, j.failure_reason, l.ordinal, l.cents::float8, l.rate_cents::float8, l.rate_version,
              case when l.cents > 0 then j.running_cents::float8 end as running_cents,
              l.reference, l.corrects, l.request_id, l.actor
       from overage_ledger l left join jobs j on j.token = l.token
       where ${where}
       order by l.position limit ${limit}
     ), credited as materialized (
       select c->>'token' as token, sum((c->>'cents')::int) as cents
       from invoices i, json_array_elements(i.data->'charges') c
       where i.account_id = ${account} and i.type = 'CreditNoteIssued'
       group by 1
     )
     select l.event_id, l.type, l.time, l.stream, l.revision, l.position::text, l.token, l.platform, l.video_id, l.url,
            l.job_status, l.failure_reason, l.ordinal, l.cents, l.rate_cents, l.rate_version, l.running_cents,
            coalesce(g.voided, 0)::float8 as voided_cents, coalesce(g.waived, 0)::float8 as waived_cents,
            (case when l.cents > 0 then coalesce(c.cents, 0) else 0 end)::float8 as credited_cents,
            l.reference, l.corrects, l.request_id, l.actor
     from listed l
     left join credited c on c.token = l.token
     left join lateral (
       select -sum(t.cents) filter (where t.type = 'DownloadVoided') as voided,
              -sum(t.cents) filter (where t.type = 'ChargeWaived') as waived
       from job_timeline t where l.cents > 0 and t.token = l.token and t.cents < 0
     ) g on true
     order by l.position`,
    [...values],
  );
  return rows;
}
