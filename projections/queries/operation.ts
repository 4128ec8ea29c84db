import { onlyRow, type Queryable, withInstants } from '../runner/rows.ts';

/** Queries for the page about the service itself: queue, workers, read models, notices and mails. */

interface WaitingBy {
  /** A platform, or an account. */
  name: string;
  waiting: number;
  /** UTC ISO-8601. */
  oldest: string;
}

export type Queue = ReturnType<typeof queueOf>;

const maxLookedDefault = 10_000;
const maxShownAccounts = 20;
/** With all platforms, of which there are fewer. */
const maxShownGroups = 100;

interface WorkerJob {
  token: string;
  account_id: string;
  platform: string;
  status: 'claimed' | 'running';
  /** UTC ISO-8601. */
  claimed_at: string;
}

export interface WorkerAtWork {
  worker_id: string;
  /** Seconds since its newest beat, by Postgres's clock; null for a worker without a row, whose jobs are swept. */
  quiet_seconds: number | null;
  /** What it says about itself: slots, guards, versions, host. */
  about: unknown;
  jobs: WorkerJob[];
}

interface QueueRow {
  platform: string | null;
  account_id: string | null;
  waiting: number;
  oldest: string;
}

type WorkerRow = Omit<WorkerAtWork, 'jobs'> & { jobs: WorkerJob[] | null };

/** Counts the downloads that have waited longest for a claim, $1 at most: in all, by platform, and by account. */
const queueSql = `
  select platform, account_id, count(*)::int as waiting, min(waiting_since) as oldest
  from (
    select platform, account_id, waiting_since from jobs where status = 'queued' order by waiting_since limit $1
  ) q
  group by grouping sets ((), (platform), (account_id)) having count(*) > 0
  order by account_id is not null, waiting desc, oldest limit ${String(maxShownGroups)}`;

/** Workers that have beaten within the last day, and those that hold a job, each with its jobs: $2 at most. */
const workersSql = `
  select worker_id, extract(epoch from clock_timestamp() - h.beaten_at)::float8 as quiet_seconds, h.about, j.jobs, h.beaten_at
  from worker_heartbeats h full join (
    select worker_id, json_agg(json_build_object('token', token, 'account_id', account_id, 'platform', platform,
                                                 'status', status, 'claimed_at', claimed_at) order by claimed_at, token) as jobs
    from jobs where status in ('claimed', 'running') group by worker_id
  ) j using (worker_id)
  order by h.beaten_at desc nulls last, worker_id limit $2`;

/** The downloads that were done within an hour, and the seconds that they waited and ran: half of them less than the median. */
export interface DoneHour {
  /** UTC ISO-8601. */
  hour: string;
  downloads: number;
  waited_median: number;
  waited_p95: number;
  ran_median: number;
  ran_p95: number;
}

const maxDone = 20_000;

const percentile = (share: number, seconds: string) =>
  `round((percentile_cont(${String(share)}) within group (order by ${seconds}))::numeric, 1)::float8`;

/** The newest downloads that are done since $3 and have their file still, by the hour. */
const hoursSql = `
  select date_trunc('hour', finished_at) as hour, count(*)::int as downloads,
         ${percentile(0.5, 'waited')} as waited_median, ${percentile(0.95, 'waited')} as waited_p95,
         ${percentile(0.5, 'ran')} as ran_median, ${percentile(0.95, 'ran')} as ran_p95
  from (
    select finished_at, extract(epoch from started_at - queued_at) as waited,
           extract(epoch from finished_at - started_at) as ran
    from jobs where status = 'done' and file_expired_at is null and finished_at >= $3
    order by finished_at desc limit ${String(maxDone)}
  ) d
  group by 1`;

/**
 * The downloads that wait, as far as `maxLooked`, who works, and how long downloads took, in one statement.
 *
 * @param since UTC ISO-8601: from when on downloads were done, of which at most the newest 20 000 are looked at
 */
export async function readWork(
  client: Queryable,
  { maxLooked = maxLookedDefault, maxWorkers, since }: { maxLooked?: number; maxWorkers: number; since: string },
): Promise<{ queue: Queue; workers: WorkerAtWork[]; hours: DoneHour[] }> {
  const { rows } = await client.query<{ queue: QueueRow[]; workers: WorkerRow[]; hours: DoneHour[] }>(
    `select (select coalesce(json_agg(q order by waiting desc, oldest), '[]') from (${queueSql}) q) as queue,
            (select coalesce(json_agg(w order by beaten_at desc nulls last, worker_id), '[]') from (${workersSql}) w) as workers,
            (select coalesce(json_agg(h order by hour), '[]') from (${hoursSql}) h) as hours`,
    [maxLooked, maxWorkers, since],
  );
  const { queue, workers, hours } = onlyRow(rows);
  return {
    queue: queueOf(queue, maxLooked),
    workers: workers.map(workerOf),
    hours: hours.map((row) => withInstants(row, 'hour')),
  };
}

function queueOf(json: readonly QueueRow[], maxLooked: number) {
  const rows = json.map((row) => withInstants(row, 'oldest'));
  const all = rows.find(({ platform, account_id: account }) => platform === null && account === null);
  const by = (nameOf: (row: QueueRow) => string | null) =>
    rows.flatMap((row): WaitingBy[] => {
      const name = nameOf(row);
      return name === null ? [] : [{ name, waiting: row.waiting, oldest: row.oldest }];
    });
  return {
    waiting: all?.waiting ?? 0,
    /** More wait than were looked at. */
    is_more: all?.waiting === maxLooked,
    /** UTC ISO-8601; null if none waits. */
    oldest: all?.oldest ?? null,
    platforms: by(({ platform }) => platform),
    /** Those with the most, at most `maxShownAccounts`. */
    accounts: by(({ account_id: account }) => account).slice(0, maxShownAccounts),
  };
}

const workerOf = ({ worker_id, quiet_seconds, about, jobs }: WorkerRow): WorkerAtWork => ({
  worker_id,
  quiet_seconds,
  about,
  jobs: (jobs ?? []).map((job) => withInstants(job, 'claimed_at')),
});

/** What the workers that beat now lack, as they say it. @returns one row for each of them */
export async function listWorkerNotices(client: Queryable): Promise<{ host: string; notices: string[] }[]> {
  const { rows } = await client.query<{ host: string; notices: string[] }>(
    `select coalesce(about->>'host', worker_id) as host, coalesce(about->'notices', '[]') as notices
     from worker_heartbeats where beaten_at > clock_timestamp() - interval '1 minute' order by worker_id limit 200`,
  );
  return rows;
}

/** Something that the owner of an account is told: a warning, a reached overage cap, an invoice or a credit note. */
export interface Notice {
  kind: 'usage_warning' | 'overage_cap' | 'document';
  event_id: string;
  account_id: string;
  /** UTC ISO-8601. */
  time: string;
  /** Pool and threshold of a warning. */
  pool: string | null;
  threshold_percent: number | null;
  /** The key whose limit a warning is about; null: the account's own. */
  limited_key_id: string | null;
  /** What the mails are about; null for a warning, and for mails that staff have asked for again. */
  document: { type: 'InvoiceIssued' | 'CreditNoteIssued'; number: number } | null;
  /** Mails that are not recorded yet. */
  waiting: number;
}

/** @param which of the rows of each table, by its alias: a condition, and an order */
export const noticesSql = (which: (alias: string) => string) => `
  (select case type when 'OverageCapReached' then 'overage_cap' else 'usage_warning' end as kind, event_id, account_id, w.time,
          pool, threshold_percent, limited_key_id, null::json as document, (message_id is null)::int as waiting
   from usage_warnings w where ${which('w')})
  union all
  (select 'document', event_id, account_id, d.time, null, null, null,
          (select json_build_object('type', i.type, 'number', i.number) from invoices i where i.event_id = d.event_id),
          jsonb_array_length(waiting)
   from document_mails d where ${which('d')})`;

/** The newest first, in one statement. @param before a notice: only older ones */
export async function listNotices(
  client: Queryable,
  { before, limit }: { before?: Pick<Notice, 'time' | 'event_id'> | undefined; limit: number },
): Promise<Notice[]> {
  const older = (alias: string) =>
    `(${alias}.time, ${alias}.event_id) < (coalesce($1::timestamptz, 'infinity'), coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
     order by ${alias}.time desc, ${alias}.event_id desc limit $3`;
  const { rows } = await client.query<Notice>(`${noticesSql(older)} order by time desc, event_id desc limit $3`, [
    before?.time ?? null,
    before?.event_id ?? null,
    limit,
  ]);
  return rows;
}
