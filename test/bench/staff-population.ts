import type { Pool } from 'pg';
import type { EventStore } from '../../src/ports/event-store.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { waitFor } from '../support/wait-for.ts';

/** Rows of the staff's read models, as if the jobs that were copied had been charged beyond the allowance, spread over months. */

const months = 24;

/** So many charges each account has in each month. */
const perMonth = 4;

/** One account has so many of all downloads, in one period: a page of charges that is full, and an export that takes its time. */
const shareOfLargest = 1 / 10;
const workers = 20;
/** Accounts whose every event is in the log, beside the rows that are in the read models alone. */
const realAccounts = 20;
const realDownloads = 20;

export async function fillStaffModels(pool: Pool, store: EventStore, jobs: number): Promise<void> {
  await addLargest(pool, jobs * shareOfLargest);
  await addCharges(pool);
  await addWork(pool);
  await addDocuments(pool);
  await addRecords(pool);
  await pool.query('drop table charged');
  await pool.query('vacuum analyze');
  await addMonths(pool, { from: 1, to: months });
  await openRealAccounts(pool, store);
}

/** More jobs of the first account, all of them in one period. */
async function addLargest(pool: Pool, downloads: number): Promise<void> {
  await pool.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage, status,
       revision, attempts, queued_at, waiting_since, started_at, finished_at, key_id, cents, running_cents)
     select 'L' || md5(n::text), account_id, 'largest', n, 'youtube', 'aqz-KE-bpKQ', 'https://www.youtube.com/watch?v=aqz-KE-bpKQ',
            'video', '720', true, 'done', 3, 1, now(), now(), now(), now(), 'key_bench', 25, n * 25
     from (select min(account_id) as account_id from jobs) a, generate_series(1, $1::int) n`,
    [Math.ceil(downloads)],
  );
}

/** Each job is charged in one of the months before this one, 25 cents; every hundredth charge is waived. */
async function addCharges(pool: Pool): Promise<void> {
  const thisMonth = "date_trunc('month', now() at time zone 'utc') at time zone 'utc'";
  await pool.query(
    `create table charged as
     select j.token, j.account_id, j.video_id, j.platform, n, gen_random_uuid() as event_id,
            ${thisMonth} - make_interval(months => case j.usage_stream when 'largest' then 1 else n / ${perMonth} % ${months} + 1 end)
              as period_start
     from (select *, (row_number() over (partition by account_id order by usage_stream = 'largest', usage_revision))::int - 1 as n
           from jobs) j`,
  );
  await withoutIndexes(pool, 'overage_ledger', () =>
    pool.query(
      `insert into overage_ledger (event_id, account_id, period_start, type, token, ordinal, stream, revision, position, time,
         cents, rate_cents, rate_version, request_id, actor)
       select event_id, account_id, period_start, 'OverageCharged', token, n + 1,
              'usage-' || account_id || to_char(period_start at time zone 'utc', '-YYYYMMDD'), n,
              1000000000 + row_number() over (order by period_start, token), period_start + interval '3 days', 25, 25, 'v1',
              'req_' || token, '{"type":"api_key","id":"key_bench"}'
       from charged`,
    ),
  );
  await withoutIndexes(pool, 'job_timeline', () =>
    pool.query(
      `insert into job_timeline (token, position, time, type, stream, revision, event_id, actor, cents, data)
       select token, 1000000000 + 2 * row_number() over () + at, period_start + interval '3 days', type,
              'usage-' || account_id || to_char(period_start at time zone 'utc', '-YYYYMMDD'), 2 * n + at,
              case at when 0 then event_id else gen_random_uuid() end, '{"type":"api_key","id":"key_bench"}',
              case at when 0 then 25 end,
              json_build_object('token', token, 'cents', 25, 'ordinal', n + 1, 'platform', platform, 'video_id', video_id,
                                'format', 'video', 'quality', '720')
       from charged, (values (0, 'OverageCharged'), (1, 'DownloadQueued')) e(at, type)`,
    ),
  );
  await pool.query(
    `insert into overage_ledger (event_id, account_id, period_start, type, token, stream, revision, position, time, cents,
       request_id, actor, corrects, reference)
     select gen_random_uuid(), account_id, period_start, 'ChargeWaived', token, stream, 1000000 + revision, 2000000000 + revision +
              row_number() over (), time, -25, 'req_bench',
            '{"type":"staff","id":"bench","role":"operator","reason":"bench"}', event_id, 'case-' || token
     from overage_ledger where ordinal % 100 = 0`,
  );
  await pool.query(
    `insert into idempotency_keys (account_id, key_hash, fingerprint, token, overage, stream, revision)
     select account_id, encode(sha256(convert_to('order-' || token, 'UTF8')), 'hex'), '', token, true, 'usage', n from charged`,
  );
}

/** Every twentieth job has failed, some are worked on, and the days say how all ended. */
async function addWork(pool: Pool): Promise<void> {
  await pool.query(
    `update jobs j set status = 'failed', overage = true, failure_reason = 'platform_error',
       finished_at = c.period_start + interval '3 days' + c.n % 1440 * interval '1 minute'
     from charged c where c.token = j.token and c.n % 20 = 19`,
  );
  await pool.query(
    `update jobs j set status = 'running', worker_id = 'wrk_bench' || r.at % ${String(workers)}, claim_revision = 0, claimed_at = now()
     from (select token, row_number() over () as at from jobs where status = 'queued' limit ${String(4 * workers)}) r
     where r.token = j.token`,
  );
  const about = { host: 'bench', slots: 4, sandbox: 'namespaces', guards: [{ guard: 'a guard', state: 'on' }] };
  await pool.query(
    `insert into worker_heartbeats (worker_id, about) select 'wrk_bench' || n, $1 from generate_series(0, ${String(workers - 1)}) n`,
    [JSON.stringify(about)],
  );
  await pool.query(
    `insert into job_days
     select day::date, platform, outcome, 400
     from generate_series(now() - make_interval(months => ${String(months)}), now(), interval '1 day') day,
          unnest(array['youtube', 'vimeo', 'tiktok']) platform,
          unnest(array['done', 'platform_error', 'video_unavailable', 'private_video', 'timed_out']) outcome`,
  );
}

/** An invoice of each account and month, each told by mail after a warning; a credit note for every tenth. */
async function addDocuments(pool: Pool): Promise<void> {
  await withoutIndexes(pool, 'invoices', () =>
    pool.query(
      `insert into invoices (account_id, type, number, event_id, revision, last_hash, position, time, covers, period_start,
         total_cents, data, actor)
       select account_id, type, case type when 'InvoiceIssued' then n else n / 10 end, gen_random_uuid(), 2 * n + at, '',
              3000000000 + row_number() over (order by n, at), period_start + interval '1 month',
              case type when 'InvoiceIssued' then 'period' end, case type when 'InvoiceIssued' then period_start end, 1900,
              case type when 'InvoiceIssued' then '{}' else json_build_object('invoice_number', n, 'line', 1, 'charges', json_build_array(),
                'reference', 'note-' || account_id) end,
              '{"type":"system","id":"bench"}'
       from (select account_id, min(n) / ${perMonth} + 1 as n, period_start from charged group by account_id, period_start) c,
            (values (0, 'InvoiceIssued'), (1, 'CreditNoteIssued')) e(at, type)
       where at = 0 or n % 10 = 0`,
    ),
  );
  await pool.query(
    `insert into document_mails (event_id, account_id, revision, time, waiting)
     select event_id, account_id, revision, time, '[]' from invoices where position >= 3000000000`,
  );
  await pool.query(
    `insert into usage_warnings (event_id, account_id, stream, revision, pool, threshold_percent, used, credit_limit, time, message_id)
     select gen_random_uuid(), account_id, 'usage', revision, 'downloads', 80, 80, 100, time, 'sent'
     from invoices where position >= 3000000000 and type = 'InvoiceIssued'`,
  );
}

/** What staff have asked for and looked at: two corrections of each account, and every tenth download. */
async function addRecords(pool: Pool): Promise<void> {
  await pool.query(
    `insert into corrections (correction_id, account_id, position, status, revision, kind, correction, reference, cents, limit_cents,
       needs_approval, asked_event_id, asked_at, asked_by, decided_event_id, made_cents)
     select gen_random_uuid(), account_id, 4000000000 + row_number() over (order by n, account_id),
            case when n = 1 and account_id < 'acc_1' then 'asked' else 'made' end, n, 'charges',
            json_build_object('kind', 'charges', 'stream', 'usage', 'charges',
              json_build_array(json_build_object('token', token, 'revision', n, 'cents', 25))), 'ask-' || token, 25, 100, true,
            gen_random_uuid(), period_start + interval '4 days', json_build_object('type', 'staff', 'id', 'stf_bench' || n % 100,
            'role', 'support', 'reason', 'bench'), gen_random_uuid(), 25
     from charged where n < 2`,
  );
  await pool.query(
    `insert into staff_looks
     select gen_random_uuid(), 5000000000 + row_number() over (), 'stf_bench' || n % 100, account_id, token, 'download', period_start
     from charged where n % 10 = 0`,
  );
  // Of accounts that were generated all begin alike.
  await pool.query("update api_keys set key_prefix = 'rtk_' || substr(md5(key_id), 1, 8)");
}

/** With downloads that were worked on, an invoice, a credit note, and a correction that waits. */
async function openRealAccounts(pool: Pool, store: EventStore): Promise<void> {
  const accounts = Array.from({ length: realAccounts }, () => new GeneratedAccount());
  for (const account of accounts) {
    await appendAll(store, [
      ...account.open(),
      account.issueKey().append,
      account.invoice(),
      account.queue(realDownloads),
    ]);
    await appendAll(store, [...account.work(), account.credit(1), account.ask()]);
  }
  const ids = accounts.map(({ accountId }) => accountId);
  const rowsOf = { jobs: realDownloads, overage_ledger: realDownloads, invoices: 2, corrections: 1, period_money: 1 };
  for (const [table, each] of Object.entries(rowsOf)) {
    const known = async () =>
      (await pool.query(`select from ${table} where account_id = any($1)`, [ids])).rowCount === each * realAccounts;
    await waitFor(known, { what: `the rows of ${table}`, timeoutMs: 60_000 });
  }
}

/** Money of each account in each of these months, counted back from this one; a row in ten has a difference. */
export async function addMonths(pool: Pool, { from, to }: { from: number; to: number }): Promise<void> {
  await withoutIndexes(pool, 'period_money', () =>
    pool.query(
      `insert into period_money (account_id, period_start, month, stream, plan, phase, charges, charged_cents, voided_cents,
         waived_cents, fee_cents, fee_difference_cents, invoiced_overage_cents, invoiced_fee_cents,
         invoiced_fee_difference_cents, credited_overage_cents, credited_fee_cents, difference_cents)
       select id, start, to_char(start at time zone 'utc', 'YYYY-MM'), 'usage-' || id || to_char(start at time zone 'utc', '-YYYYMMDD'),
              'dev_100', 'closed', charges, charges * 25, 0, 0, 1900, 0, charges * 25 - open, 1900, 0, 0, 0, open
       from (select distinct account_id as id from credits) a,
            lateral (select date_trunc('month', now() at time zone 'utc') at time zone 'utc' - make_interval(months => m) as start
                     from generate_series($1::int, $2::int) m) s,
            lateral (select hashtext(id || start) & 63 as charges) c,
            lateral (select case when hashtext(id || start || 'open') % 10 = 0 then charges * 25 else 0 end as open) o`,
      [from, to],
    ),
  );
  const sums = ['charges', 'charged_cents', 'voided_cents', 'waived_cents', 'fee_cents', 'fee_difference_cents']
    .concat(['invoiced_overage_cents', 'invoiced_fee_cents', 'invoiced_fee_difference_cents'])
    .concat(['credited_overage_cents', 'credited_fee_cents', 'difference_cents']);
  await pool.query(
    `insert into month_money (month, phase, periods, ${sums.join()})
     select month, phase, count(*), ${sums.map((name) => `sum(${name})`).join()} from period_money group by month, phase
     on conflict do nothing`,
  );
  await pool.query('vacuum analyze period_money, month_money');
}

/** All but those that a constraint keeps. */
async function withoutIndexes(pool: Pool, table: string, work: () => Promise<unknown>): Promise<void> {
  const { rows } = await pool.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes i
     where tablename = $1 and not exists (select from pg_constraint where conname = i.indexname)`,
    [table],
  );
  for (const { name } of rows) await pool.query(`drop index ${name}`);
  await work();
  for (const { definition } of rows) await pool.query(definition);
}
