import { hash } from 'node:crypto';
import type { Pool, QueryConfig, QueryResult } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listAccessRecords } from '../../projections/access-records.ts';
import { listKeysWithUse } from '../../projections/admission/key-use.ts';
import { listApiKeys } from '../../projections/api-keys.ts';
import { listChargesLeft } from '../../projections/charge-left.ts';
import {
  listCorrections,
  listMadeEvents,
  listWaitingCorrections,
  listWaitingCorrectionsOf,
  readCorrection,
} from '../../projections/corrections.ts';
import { readCustomers } from '../../projections/customers.ts';
import { readInvoices } from '../../projections/invoices.ts';
import { listJobDays } from '../../projections/job-days.ts';
import { listPeopleOfAddress } from '../../projections/people.ts';
import { nodesOf as proofNodesOf, readHeadFor } from '../../projections/proofs.ts';
import {
  type DownloadFilter,
  listAccountDownloads,
  readAccountDownload,
} from '../../projections/queries/account-downloads.ts';
import { pageAccountPeriods } from '../../projections/queries/account-periods.ts';
import { readAccountRecord } from '../../projections/queries/account-record.ts';
import { readBooks } from '../../projections/queries/books.ts';
import { readDownloadRecord } from '../../projections/queries/download-record.ts';
import { listEnded, listPlacesPassed, readEnded, readLastEnded } from '../../projections/queries/ended-downloads.ts';
import { findEvent, findEventsAround } from '../../projections/queries/event-places.ts';
import { listGivenBack } from '../../projections/queries/given-back.ts';
import { listAccountCloses, readMonthClose } from '../../projections/queries/month-close.ts';
import { listNotices, readWork } from '../../projections/queries/operation.ts';
import {
  listMonthMoney,
  listPeriodMoney,
  type OverageCursor,
  type OverageFilter,
  type OverageOrder,
  overageSorts,
} from '../../projections/queries/overage-table.ts';
import { listPeriodCharges } from '../../projections/queries/period-charges.ts';
import { listPlatformOutage } from '../../projections/queries/platform-outage.ts';
import { readSalesPage, readSumsOfPage, type SalesFilter } from '../../projections/queries/sales-book.ts';
import { search } from '../../projections/queries/search-by-id-or-number.ts';
import { readSignedLog } from '../../projections/queries/signed-log.ts';
import { readTile } from '../../projections/queries/tiles.ts';
import { listUsageOfKeys } from '../../projections/queries/usage-of-keys.ts';
import { readWhatWaits } from '../../projections/queries/what-waits.ts';
import { listStaffMembers, listStaffOfAddress, readStaffMember } from '../../projections/staff.ts';
import { readStaffToken } from '../../projections/staff-tokens.ts';
import { listUsageDays } from '../../projections/usage-days.ts';
import {
  countDue,
  listAccountsToClose,
  listPeriodsInGrace,
  listPeriodsToClose,
} from '../../projections/work-lists/due-periods.ts';
import { inclusionProof } from '../../src/proof/merkle-tree.ts';
import { scaled } from '../support/proof-scale.ts';
import { patienceMs } from '../support/wait-for.ts';
import { createReadModels, testMacs, type TestReadModels } from './read-models-under-test.ts';

/**
 * What the queries behind pages look at, in tables of many accounts: never a whole table, and never more rows than they say. One
 * account has a third of all downloads.
 */
let models: TestReadModels;
const accounts = scaled(2_000, 50_000);
const jobs = scaled(120_000, 3_000_000);
const largest = 'acc_large000000000000000';
const small = 'acc_0000000000000000000a';
const md5 = (text: string) => hash('md5', text);
const uuidOf = (text: string) => md5(text).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
/** A token as they are drawn. */
const linked = 'A' + md5('linked').slice(1);
const accountOf = (n: number) => `acc_${n.toString(16).padStart(20, '0')}`;
const queuedAt = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

beforeAll(async () => {
  // Some of these statements make hundreds of thousands of rows.
  models = await createReadModels({ queryTimeoutMs: patienceMs });
  const { pool } = models;
  const acc = "case when n % 3 = 0 then $1 else 'acc_' || lpad(to_hex(n % $2::int), 20, '0') end";
  const account = "'acc_' || lpad(to_hex(n), 20, '0')";
  await pool.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
       status, revision, attempts, queued_at, waiting_since, key_id, cents, finished_at, ended_position)
     select 'A' || md5(n::text), ${acc}, 'usage', n, 'youtube', n::text, 'https://youtube.com/' || n, 'video', 'best', false,
       'done', 3, 1, timestamptz '2026-01-01T00:00Z' + n * interval '1 second', now(), 'key_' || n % 7, 0,
       timestamptz '2026-01-01T00:01Z' + n * interval '1 second', n
     from generate_series(1, $3::int) n`,
    [largest, accounts, jobs],
  );
  await pool.query(
    `insert into people select ${account}, 'per_' || n, now(), null, 'mac of ' || n from generate_series(1, $1::int) n`,
    [accounts],
  );
  await pool.query(
    `insert into usage_days select 'usage-' || ${account} || '-202601' || lpad((d % 2 * 10 + 1)::text, 2, '0'),
       ${account}, date '2026-01-01' + d, 1, 0, 0, 0, 0, 0, 0, 0
     from generate_series(1, $1::int) n, generate_series(1, 20) d`,
    [accounts],
  );
  await pool.query(
    `insert into credits
     select ${account}, m, m + interval '1 month', 'usage-' || n || '-' || m, 0, '', m, 'open', 1, 'dev', '{}', 0, 0, 0, 0, 0, null
     from generate_series(1, $1::int) n, generate_series(timestamptz '2026-01-01', '2026-12-01', interval '1 month') m`,
    [accounts],
  );
  await pool.query(
    `insert into api_keys select 'key_' || n || '_' || k, ${account}, md5(n::text || k), 'rtk', 'a key', now(), null
     from generate_series(1, $1::int) n, generate_series(1, 3) k`,
    [accounts],
  );
  await pool.query(
    `insert into api_key_window (hash, key_id, account_id, hourly_limit) select key_hash::uuid, key_id, account_id, 9 from api_keys`,
  );
  await pool.query(
    `insert into job_timeline
     select token, n, 'JobStarted', 'job', n, md5(token || n)::uuid, now(), '{}', null, '{}' from jobs, generate_series(1, 3) n
     where usage_revision <= 60000`,
  );
  await pool.query(
    `insert into invoices
     select account_id, 'InvoiceIssued', n, md5(account_id || n)::uuid, n, '', n, now(), 'period', period_start, 0, '{}', '{}'
     from (select *, row_number() over (partition by account_id order by period_start) as n from credits) c`,
  );
  await fillCustomers(pool);
  await fillForStaff(pool);
  await fillProofs(pool);
  await pool.query('vacuum analyze');
});

afterAll(() => models[Symbol.asyncDispose]());

/** Every account has a name of two words that are its own and one of a hundred, and every tenth an address of one domain. */
async function fillCustomers(pool: Pool): Promise<void> {
  await pool.query(
    `insert into customers
     select 'acc_' || lpad(to_hex(n), 20, '0'), $2, array['own ' || n, 'two ' || n, 'one of ' || n % 100]
     from generate_series(1, $1::int) n`,
    [accounts, testMacs.encrypt('A name')],
  );
  await pool.query(
    `insert into jobs select (jsonb_populate_record(j, jsonb_build_object('token', $1::text))).* from jobs j where token = $2`,
    [linked, 'A' + md5('7')],
  );
  const macOf = (word: string) => testMacs.sign('customers', word);
  await pool.query('update customers set words = $2 where account_id = $1', [
    small,
    ['name ku', 'name kuhn', 'name partner', 'tax ID DE123'].map(macOf),
  ]);
  await pool.query('update people set domain_mac = person_id');
  await pool.query('update people set domain_mac = $2 where account_id = $1', [
    small,
    testMacs.sign('people', '@kuhn.example'),
  ]);
}

/** A signed tree, whose last subtrees are small. Its hashes are no hashes of anything. */
const leaves = scaled(20_000, 100_000) + 15;
const leafEvent = (index: number) => uuidOf(`leaf ${String(index)}`);

async function fillProofs(pool: Pool): Promise<void> {
  await pool.query(
    `insert into proof_leaves
     select n, repeat(md5(n::text), 2), 'InvoiceIssued', 'invoices-a', n, md5('leaf ' || n)::uuid, n
     from generate_series(0, $1::int - 1) n`,
    [leaves],
  );
  await pool.query(
    `insert into proof_nodes
     select level, n, repeat(md5(level || ' ' || n), 2)
     from generate_series(0, 20) level, generate_series(0, ($1::int >> level) - 1) n`,
    [leaves],
  );
  await pool.query(
    `insert into proof_heads
     select n, 'log', '', 'note', 'key', n, n, now() from generate_series(1, $1::int) n`,
    [leaves],
  );
}

/** What staff look at: everybody's money in two years, and what was given back. */
async function fillForStaff(pool: Pool): Promise<void> {
  const account = "'acc_' || lpad(to_hex(n), 20, '0')";
  await pool.query(
    `insert into period_money
     select ${account}, m, to_char(m, 'YYYY-MM'), 'usage-' || n || '-' || m, 'dev', 'closed', n % 5, n % 5 * 25, n % 7, n % 11, 0, 0,
            n % 13, 0, 0, n % 3, 0, n % 17
     from generate_series(1, $1::int) n, generate_series(timestamptz '2025-01-01', '2026-12-01', interval '1 month') m`,
    [accounts],
  );
  await pool.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage, status,
       revision, attempts, queued_at, waiting_since, finished_at, failure_reason, key_id, cents)
     select 'F' || md5(n::text), 'acc_outage', 'usage-outage', n, 'youtube', 'f' || n, 'https://youtube.com/f' || n, 'video', 'best',
       true, 'failed', 3, 1, timestamptz '2025-05-05T00:00Z', now(), timestamptz '2026-05-05T00:00Z' + n * interval '1 minute',
       'platform_error', 'key_0', 25
     from generate_series(1, 5000) n`,
  );
  await pool.query(
    `insert into month_money
     select to_char(m, 'YYYY-MM'), phase, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
     from generate_series(timestamptz '2025-01-01', '2026-12-01', interval '1 month') m, unnest(array['open', 'ended', 'closed']) phase`,
  );
  await pool.query(
    `insert into overage_ledger (event_id, account_id, period_start, type, token, ordinal, stream, revision, position, time, cents,
       request_id, actor, corrects, reference)
     select md5('l' || n)::uuid, ${account}, '2026-01-01', case when n % 50 = 0 then 'ChargeWaived' else 'DownloadCreditDebited' end,
       'A' || md5(n::text), case when n % 50 = 0 then null else n end, 'usage-' || ${account}, n, n, now(), 0, 'req-' || n, '{}',
       case when n % 50 = 0 then md5('c' || n)::uuid end, case when n % 50 = 0 then 'case-' || n end
     from generate_series(1, $1::int) n`,
    [jobs],
  );
  await pool.query(
    `insert into job_timeline
     select token, 9, 'DownloadQueued', 'usage-' || account_id || '-20260101', usage_revision, md5('q' || token)::uuid, queued_at, '{}', 0,
            json_build_object('platform', platform, 'video_id', video_id)
     from jobs`,
  );
  await pool.query(
    `insert into idempotency_keys select account_id, md5('k' || token), '', token, false, 'usage', 1, false, false, null from jobs
     on conflict do nothing`,
  );
  await pool.query(
    `insert into corrections
     select md5('x' || n)::uuid, ${account}, n, (array['asked', 'permitted', 'made', 'refused', 'failed'])[1 + least(n % 40, 4)], 1,
       'charges', jsonb_build_object('charges', jsonb_build_array(jsonb_build_object('token', 'T' || n))), 'ask-' || n, 1, 1, true, md5('a' || n)::uuid, now(), jsonb_build_object('id', 'stf_' || n % 100)
     from generate_series(1, $1::int) n`,
    [accounts],
  );
  await pool.query(
    `insert into staff_looks
     select md5('look' || n)::uuid, n, 'stf_' || n % 100, ${account}, 'A' || md5(n::text), 'download', now()
     from generate_series(1, $1::int) n`,
    [accounts],
  );
  await pool.query(
    `insert into usage_warnings (event_id, account_id, stream, revision, pool, threshold_percent, used, credit_limit, time)
     select md5('w' || n)::uuid, ${account}, 'usage', n, 'downloads', 80, 1, 1, timestamptz '2026-01-01' + n * interval '1 minute'
     from generate_series(1, $1::int) n`,
    [accounts],
  );
  await pool.query(
    `insert into document_mails
     select event_id, account_id, revision, time + number * interval '1 second', '[]' from invoices`,
  );
  await pool.query(
    `insert into invoices
     select account_id, 'CreditNoteIssued', n, md5('note' || account_id || n)::uuid, 100 + n, '', 100000 + n, now(), null, null, 1,
       json_build_object('reference', 'note-' || left(md5(account_id), 2)), '{}'
     from (select distinct account_id from invoices) i, generate_series(1, 10) n`,
  );
  await pool.query(`insert into account_heads select ${account}, 1, '' from generate_series(1, $1::int) n`, [accounts]);
  await fillWork(pool);
  await fillStaff(pool);
  await fillClosedAccounts(pool);
  await fillSales(pool);
  // One period with many charges, of which every tenth was waived.
  await pool.query(
    "update jobs set running_cents = 25 * usage_revision where usage_stream = 'usage' and usage_revision <= 5000",
  );
  await pool.query(
    `insert into overage_ledger (event_id, account_id, period_start, type, token, ordinal, stream, revision, position, time, cents,
       rate_cents, rate_version, request_id, actor, corrects, reference)
     select md5('charge' || n)::uuid, $1, '2026-02-01', case when n % 10 = 0 then 'ChargeWaived' else 'OverageCharged' end,
       'A' || md5(n::text), case when n % 10 > 0 then n end, 'usage-charged', n, 1000000 + n, now(), case when n % 10 = 0 then -25 else 25 end,
       case when n % 10 > 0 then 25 end, case when n % 10 > 0 then 'v1' end, 'request-' || n, '{}',
       case when n % 10 = 0 then md5('charge' || n - 1)::uuid end, case when n % 10 = 0 then 'charged' end
     from generate_series(1, 5000) n`,
    [small],
  );
}

const queued = 15_000;

/** What waits and is worked on, and how downloads ended in two years. */
async function fillWork(pool: Pool): Promise<void> {
  await pool.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage, status,
       revision, attempts, queued_at, waiting_since, worker_id, claimed_at, key_id, cents)
     select 'Q' || md5(n::text), 'acc_queue' || n % 100, 'usage-queue', n, 'youtube', 'q' || n, 'https://youtube.com/q' || n, 'video',
       'best', false, case when n <= 60 then 'running' else 'queued' end, 1, 1, now(), now() - n * interval '1 second',
       case when n <= 60 then 'wrk_' || n % 20 end, case when n <= 60 then now() end, 'key_0', 0
     from generate_series(1, $1::int) n`,
    [queued],
  );
  await pool.query(
    "insert into worker_heartbeats (worker_id, about) select 'wrk_' || n, '{}' from generate_series(0, 19) n",
  );
  await pool.query(
    `insert into job_days
     select day::date, 'platform ' || platform, 'outcome ' || outcome, 1
     from generate_series(timestamptz '2025-01-01', '2026-12-31', interval '1 day') day, generate_series(1, 4) platform,
          generate_series(1, 5) outcome`,
  );
}

async function fillStaff(pool: Pool): Promise<void> {
  await pool.query(
    `insert into staff select 'stf_' || n, 'support', true, now() + n * interval '1 second', null, '' from generate_series(1, 5000) n`,
  );
  await pool.query("insert into staff_addresses select 'stf_' || n, 'mac of ' || n from generate_series(1, 5000) n");
  await pool.query(
    `insert into staff_tokens select 'hash ' || n, 'stk_' || n, 'stf_' || n, 'rts_', '', '[]', now(), now(), null, ''
     from generate_series(1, 5000) n`,
  );
}

/** Two years of invoices, each with overage and the fee of the next period, of which some are credited. */
async function fillSales(pool: Pool): Promise<void> {
  await pool.query(
    `insert into invoices
     select 'acc_sales' || n, 'InvoiceIssued', k, md5('sale' || n || '-' || k)::uuid, k, '', 2000000 + k * 1000 + n,
       m + interval '1 month 1 hour', 'period', m, 1925,
       json_build_object('lines', json_build_array(
         json_build_object('kind', 'overage', 'cents', 25),
         json_build_object('kind', 'fee', 'cents', 1900, 'period_start', m + interval '1 month'))),
       '{}'
     from generate_series(1, 200) n, (
       select row_number() over () as k, m from generate_series(timestamptz '2023-01-01', '2024-12-01', interval '1 month') m) months`,
  );
  await pool.query(
    `insert into invoices
     select account_id, 'CreditNoteIssued', number, md5('of' || event_id)::uuid, 100 + number, '', position + 500, time + interval '1 day',
       null, null, 25, json_build_object('invoice_number', number, 'line', 1), '{}'
     from invoices where account_id like 'acc_sales%' and number % 10 = 0`,
  );
}

const closing = 5;
/** Rows of those that are not closed: each with the event of its end, which is looked at for the filter and for the answer. */
const lastPeriods = 2 * closing * 3;

/** Accounts that are closed, a few of which not to the end, and the changes of everybody's terms. */
async function fillClosedAccounts(pool: Pool): Promise<void> {
  await pool.query(
    `insert into credits
     select 'acc_closed' || n, '2026-06-01', '2026-07-01', 'usage-closed' || n, 0, '', '2026-06-20', 'closed', 1, 'dev', '{}',
            0, 0, 0, 0, 0, null
     from generate_series(1, $1::int) n`,
    [accounts],
  );
  await pool.query(
    "insert into account_heads select 'acc_closed' || n, 1, '', n > $2 from generate_series(1, $1::int) n",
    [accounts, closing],
  );
  await pool.query(
    `update credits set phase = 'ended' where account_id like 'acc_closed%' and substr(account_id, 11)::int <= 2 * $1::int`,
    [closing],
  );
  await pool.query(
    `insert into usage_changes
     select md5(account_id || n)::uuid, account_id, stream, n, n, timestamptz '2026-06-10' + n * interval '1 day',
       case n when 10 then 'UsagePeriodEnded' else 'OverageCapSet' end
     from credits, generate_series(1, 10) n where period_start = '2026-06-01'`,
  );
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

interface Looked {
  /** Scans of whole tables. */
  whole: string[];
  rows: number;
  statements: number;
}

/** Runs a query, and what Postgres did for it. */
async function lookedAt<Result>(
  work: (client: Pick<Pool, 'query'>) => Promise<Result>,
): Promise<{ result: Result; looked: Looked }> {
  const looked: Looked = { whole: [], rows: 0, statements: 0 };
  const query = async (given: string | QueryConfig, more: unknown[] = []): Promise<QueryResult> => {
    const { text, values = more } = typeof given === 'string' ? { text: given } : given;
    const explained = await models.pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, format json) ${text}`,
      values,
    );
    for (const { Plan: plan } of explained.rows[0]!['QUERY PLAN']) {
      // At most a row for each reader of the log.
      const isCounted = ({ 'Relation Name': table }: Plan) => table !== undefined && table !== 'refused_readers';
      const scans = nodesOf(plan).filter(isCounted);
      looked.whole.push(
        ...scans.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']!),
      );
      for (const node of scans) {
        const each =
          node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
        looked.rows += each * node['Actual Loops'];
      }
    }
    looked.statements += 1;
    return await models.pool.query(given, values);
  };
  return { result: await work({ query } as Pick<Pool, 'query'>), looked };
}

describe('a page of downloads', () => {
  const list = (filter: DownloadFilter, wanted: Partial<Parameters<typeof listAccountDownloads>[1]> = {}) =>
    lookedAt((client) => listAccountDownloads(client, { accountId: largest, filter, limit: 50, ...wanted }));
  const middle = { queuedAt: queuedAt(jobs / 2), token: '' };

  it.each([
    ['the newest', {}, {}],
    ['older than a place', {}, { after: middle }],
    ['newer than a place', {}, { before: middle }],
    ['between two times', { from: queuedAt(jobs / 4), to: queuedAt(jobs / 2) }, {}],
    ['of a filter that all match', { status: 'done', overage: false, platform: 'youtube' }, {}],
    ['of a small account', {}, { accountId: small }],
  ] as const)('%s looks at little more than it shows', async (_name, filter, wanted) => {
    const { result, looked } = await list(filter, wanted);
    expect(result.downloads.length).toBeGreaterThan(10);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBeLessThanOrEqual(110);
  });

  it('of one key in seven looks at seven times as much', async () => {
    const { result, looked } = await list({ keyId: 'key_3' });
    expect(result.downloads).toHaveLength(50);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBeLessThanOrEqual(700);
  });

  it.each<[string, DownloadFilter]>([
    ['status', { status: 'failed' }],
    ['platform', { platform: 'vimeo' }],
    ['key', { keyId: 'key_of_nobody' }],
    ['video', { search: { videoId: 'nothing' } }],
    ['address', { search: { url: 'https://example.com' } }],
  ])('of one %s that nothing matches ends after 10 000 rows, in either direction', async (_name, filter) => {
    for (const place of [{}, { after: middle }, { before: middle }]) {
      const { result, looked } = await list(filter, place);
      expect(result.downloads).toEqual([]);
      expect(result.lookedTo).toBe(result.next?.queuedAt);
      expect(result.next).toBeDefined();
      expect(looked).toMatchObject({ whole: [], rows: 10_000, statements: 1 });
    }
  });

  it('of a token looks at one row, of whichever account', async () => {
    const { rows } = await models.pool.query<{ token: string }>(
      'select token from jobs where account_id = $1 order by queued_at limit 1',
      [largest],
    );
    const search = { token: rows[0]!.token };
    const own = await list({ search });
    expect(own.result.downloads).toHaveLength(1);
    const foreign = await list({ search }, { accountId: small });
    expect(foreign.result.downloads).toEqual([]);
    for (const { looked } of [own, foreign]) expect(looked).toEqual({ whole: [], rows: 1, statements: 1 });
  });
});

describe('downloads that have ended', () => {
  it.each([
    ['of a large account', largest],
    ['of a small one', small],
  ])('%s are read no further than the answer has', async (_name, accountId) => {
    const last = await lookedAt((client) => readLastEnded(client, { accountId }));
    expect(last.looked).toEqual({ whole: [], rows: 1, statements: 1 });
    const { position = 0n, token = '' } = last.result ?? {};
    const found = await lookedAt((client) => readEnded(client, { accountId, token }));
    expect(found).toEqual({ result: last.result, looked: { whole: [], rows: 1, statements: 1 } });
    // For the large account, 20 downloads ended later.
    const since = queuedAt(jobs - (accountId === largest ? 60 : 0));
    const before = await lookedAt((client) => readLastEnded(client, { accountId, before: since }));
    expect(before.looked.rows).toBeLessThanOrEqual(130);
    const page = await lookedAt((client) => listEnded(client, { accountId, position: 0n, limit: 10 }));
    expect(page.result).toHaveLength(10);
    expect(page.looked).toMatchObject({ whole: [], statements: 1 });
    // Each with what is left of its charge.
    expect(page.looked.rows).toBeLessThanOrEqual(40);
    const places = [
      { accountId, position },
      { accountId, position: 0n },
    ];
    const passed = await lookedAt((client) => listPlacesPassed(client, places));
    expect(passed).toEqual({ result: [places[1]], looked: { whole: [], rows: 1, statements: 1 } });
  });

  it('of many are charged without a look at whole tables', async () => {
    const tokens = Array.from({ length: 100 }, (_, index) => `A${md5(String(index + 1))}`);
    const { result, looked } = await lookedAt((client) => listChargesLeft(client, tokens));
    expect(result.size).toBe(100);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBeLessThanOrEqual(300);
  });
});

it('the usage of keys looks at the downloads of its period alone', async () => {
  const period = { start: queuedAt(0), end: queuedAt(300) };
  const { looked } = await lookedAt((client) =>
    listUsageOfKeys(client, { accountId: largest, period, limit: 100, macs: testMacs }),
  );
  // Every third download is of this account.
  expect(looked).toEqual({ whole: [], rows: 99, statements: 1 });
});

describe('a page of everybody’s overage', () => {
  const page = (filter: OverageFilter, order: Partial<OverageOrder> = {}, after?: OverageCursor) =>
    lookedAt((client) =>
      listPeriodMoney(client, { filter, order: { sort: 'charged', descending: true, ...order }, after, limit: 50 }),
    );
  const middle = { value: 50, account_id: 'acc_00000000000000000200', period_start: '2026-03-01T00:00:00.000Z' };

  it.each(overageSorts.flatMap((sort) => [true, false].map((descending) => ({ sort, descending }))))(
    'of a month, by $sort, descending: $descending, looks at what it shows, wherever it begins',
    async (order) => {
      for (const after of [undefined, middle]) {
        const { result, looked } = await page({ month: '2026-03' }, order, after);
        if (!after) expect(result.rows).toHaveLength(50);
        expect(looked).toMatchObject({ whole: [], statements: 1 });
        expect(looked.rows).toBeLessThanOrEqual(51);
      }
    },
  );

  it('of all months looks at the first of each', async () => {
    const { result, looked } = await page({}, { sort: 'difference' });
    expect(result.rows).toHaveLength(50);
    expect(looked.whole).toEqual(['month_money']);
    expect(looked.rows).toBeLessThanOrEqual(25 * 51 + 72);
  });

  it('of a filter that nothing matches ends after so many rows', async () => {
    const month = await page({ month: '2026-03', phase: 'open' });
    expect(month.result.rows).toEqual([]);
    expect(month.looked.rows).toBeLessThanOrEqual(5_000);
    const all = await page({ phase: 'open' });
    expect(all.result).toMatchObject({ rows: [], is_partial: true });
    expect(all.looked.rows).toBeLessThanOrEqual(25 * 500 + 72);
  });

  it('of one account looks at its periods', async () => {
    const { result, looked } = await page({ accountId: small });
    expect(result.rows).toHaveLength(24);
    expect(looked).toEqual({ whole: [], rows: 24, statements: 1 });
  });
});

describe('a search', () => {
  const find = (text: string) => lookedAt((client) => search({ client: client, macs: testMacs, platforms: {} }, text));

  it.each([
    ['a token', 'A' + md5('7'), 1],
    ['a video', '7', 1],
    ['a request', 'req-7', 1],
    ['a reference', 'case-50', 1],
    ['the reference of a correction', 'ask-7', 1],
    ['the reference of many credit notes', `note-${md5(small).slice(0, 2)}`, 21],
    ['an event of a job', uuidOf(`q${'A' + md5('7')}`), 1],
    ['an event of a correction', uuidOf('a7'), 1],
    ['an account', small, 1],
    ['a key', 'key_7_1', 1],
    ['the beginning of a token', ('A' + md5('7')).slice(0, 10), 1],
    ['a link to a file', `https://example.com/files/${linked}/3/x.mp4?download=x`, 1],
    ['words of a name', 'Kühn, partner', 1],
    ['a tax ID', 'de 1.2.3', 1],
    ['a domain', '@kuhn.example', 1],
    ['nothing', 'nothing-that-is-anywhere', 0],
  ])('for %s looks at a few rows, by their keys', async (_name, text, hits) => {
    const { result, looked } = await find(text);
    expect(result.length).toBeGreaterThanOrEqual(hits);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBeLessThanOrEqual(3 + hits);
  });
});

const outageOfOneHour = { platform: 'youtube', from: '2026-05-05T00:00:00Z', to: '2026-05-05T01:00:00Z' };

const charged = { accountId: small, periodStart: '2026-02-01T00:00:00.000Z' };
const waits = { endedBefore: '2026-07-01T00:00:00.000Z', limit: 10 };
/** Rows were made here without their MACs. */
const believing = { ...testMacs, verifies: () => true };

describe('the other queries of staff', () => {
  it.each<[string, number, (client: Pick<Pool, 'query'>) => Promise<unknown[]>]>([
    ['corrections that wait', 50, (client) => listWaitingCorrections(client, { status: 'asked', limit: 50 })],
    ['corrections of an account', 1, (client) => listCorrections(client, { filter: { accountId: small }, limit: 50 })],
    [
      'corrections of charges that wait',
      1,
      (client) => listWaitingCorrectionsOf(client, { accountId: accountOf(40), tokens: ['T40'] }),
    ],
    ['corrections of a person', 20, (client) => listCorrections(client, { filter: { askedBy: 'stf_7' }, limit: 20 })],
    ['the newest corrections', 50, (client) => listCorrections(client, { limit: 50 })],
    // A correction is looked for beside each.
    ['what was given back', 150, (client) => listGivenBack(client, { limit: 50 })],
    ['what an account was given back', 11, (client) => listGivenBack(client, { accountId: accountOf(50), limit: 50 })],
    ['the newest looks', 20, (client) => listAccessRecords(client, { of: {}, limit: 20 })],
    ['looks of a person', 20, (client) => listAccessRecords(client, { of: { staffId: 'stf_7' }, limit: 20 })],
    ['looks at an account', 1, (client) => listAccessRecords(client, { of: { accountId: small }, limit: 20 })],
    ['looks at a download', 1, (client) => listAccessRecords(client, { of: { token: 'A' + md5('7') }, limit: 20 })],
    // Each with the events of its download.
    [
      'what an outage failed',
      400,
      async (client) => (await listPlatformOutage(client, outageOfOneHour, { maxCharges: 80 })).periods,
    ],
    [
      'names of 200 accounts',
      200,
      async (client) => [
        ...(await readCustomers(client, {
          accountIds: Array.from({ length: 200 }, (_, n) => accountOf(n + 1)),
          macs: testMacs,
        })),
      ],
    ],
    // With the document of each mail.
    ['warnings and mails', 150, (client) => listNotices(client, { limit: 50 })],
    // Each with its download, and with what was given back of it.
    ['charges', 300, async (client) => (await listPeriodCharges(client, { ...charged, limit: 50 })).rows],
    [
      'charges behind a place',
      300,
      async (client) => (await listPeriodCharges(client, { ...charged, after: '1002500', limit: 50 })).rows,
    ],
    [
      'corrections of a period',
      120,
      async (client) => (await listPeriodCharges(client, { ...charged, only: 'corrections', limit: 50 })).rows,
    ],
    // Each with the period before it.
    ['accounts of a month', 100, (client) => Array.fromAsync(listAccountCloses(client, '2026-03', { limit: 50 }))],
    ['how downloads ended', 31 * 20, (client) => listJobDays(client, { from: '2026-03-01', to: '2026-03-31' })],
    ['members of staff', 26, (client) => listStaffMembers(client, { limit: 26, macs: believing })],
    ['a member of staff', 1, async (client) => [await readStaffMember(client, 'stf_7', believing)]],
    [
      'members with an address',
      2,
      (client) => {
        const macs = { ...believing, signUnderEach: () => ['mac of 10', 'mac of nobody'] };
        return listStaffOfAddress(client, { email: 'a@example.org', macs, limit: 10 });
      },
    ],
    ['a token of staff', 1, async (client) => [await readStaffToken(client, 'hash 7', believing)]],
    ['one correction', 1, async (client) => [await readCorrection(client, uuidOf('x7'))]],
    ['an event', 1, async (client) => [await findEvent(client, uuidOf('w7'))]],
    // Its invoices and credit notes.
    ['documents of an account', 22, async (client) => (await readInvoices(client, small)).invoices],
    ['keys of an account', 3, (client) => listApiKeys(client, { accountId: small, macs: testMacs })],
    // The newest of each kind.
    ['all of an account', 24 + 10 + 22 + 10 + 20 + 10, async (client) => [await readAccountRecord(client, small)]],
  ])('%s', async (_name, rows, work) => {
    const { result, looked } = await lookedAt(work);
    expect(result.length).toBeGreaterThan(0);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBeLessThanOrEqual(rows);
  });
});

describe('the sales book', () => {
  // Nobody has a name here.
  const store = { read: () => Promise.resolve([]) };
  const after = { issued_at: '2023-06-01T01:00:00.000Z', position: '2005100' };

  it.each<[SalesFilter, number, number]>([
    // Each document with its place in the index, its row, and the note about it.
    [{ issued: '2023-06' }, 26 * 3, 200],
    [{ issued: '2023-06', state: 'open' }, 26 * 5, 200 * 2],
    [{ issued: '2023-11', state: 'credit_note' }, 26 * 4 + 200, 400],
    // The invoices of two months are looked at, and the notes about them.
    [{ period: '2023-06' }, 2 * 400 + 26 * 3, 101],
    // Up to so many are looked through for those of a country.
    [{ issued: '2023-06', country: 'DE' }, 251 * 3, 101],
  ])('of %j looks at its month alone', async (filter, rows, rowsOfSums) => {
    for (const place of [undefined, after]) {
      const page = await lookedAt((client) =>
        readSalesPage({ store, pool: client }, filter, { after: place, limit: 25 }),
      );
      expect(page.looked).toMatchObject({ whole: [], statements: 1 });
      expect(page.looked.rows).toBeLessThanOrEqual(rows);
    }
    const sums = await lookedAt((client) => readSumsOfPage({ store, pool: client }, filter));
    expect(sums.looked.whole).toEqual([]);
    expect(sums.looked.rows).toBeLessThanOrEqual(rowsOfSums);
  });
});

describe('what is small, and what is counted up to a limit', () => {
  it('the sums of months are three rows each', async () => {
    const { result, looked } = await lookedAt((client) => listMonthMoney(client, { months: 1_200 }));
    expect(result).toHaveLength(72);
    expect(looked).toMatchObject({ rows: 72, statements: 1 });
    const close = await lookedAt((client) => readMonthClose(client, '2026-03'));
    expect(close.looked).toMatchObject({ statements: 2 });
    expect(close.looked.rows).toBeLessThanOrEqual(72 + 1);
  });

  it('the queue is looked at no further than a limit, and workers with what they hold', async () => {
    const { result, looked } = await lookedAt((client) =>
      readWork(client, { maxLooked: 10_000, maxWorkers: 200, since: '2020-01-01T00:00:00.000Z' }),
    );
    expect(result.queue).toMatchObject({ waiting: 10_000, is_more: true });
    expect(result.workers).toHaveLength(20);
    expect(looked).toMatchObject({ whole: ['worker_heartbeats'], statements: 1 });
    // And the newest downloads that are done.
    expect(looked.rows).toBeLessThanOrEqual(10_000 + 60 + 20 + 20_000);
  });

  it('the books have the first periods that are not closed', async () => {
    const { result, looked } = await lookedAt((client) => readBooks(client, waits));
    expect(result.unclosed).toHaveLength(waits.limit);
    expect(looked).toMatchObject({ statements: 1 });
    // Both tables have a row or two.
    for (const table of looked.whole) expect(['audit_state', 'checkpoints']).toContain(table);
    expect(looked.rows).toBeLessThanOrEqual(waits.limit + 20 + lastPeriods);
  });

  it.each<[string, number, number, (client: Pool) => Promise<unknown[]>]>([
    [
      'closings that are open',
      closing,
      4 * closing,
      (client) => listAccountsToClose(client, { except: [], limit: 100 }),
    ],
    [
      'periods in their grace',
      2 * closing,
      lastPeriods,
      (client) => listPeriodsInGrace(client, { now: '2026-06-20T01:00:00.000Z', graceSeconds: 7_200 }),
    ],
    [
      'books to close',
      closing,
      6 * closing,
      (client) => listPeriodsToClose(client, { endedBefore: '2025-12-01T00:00:00Z', except: [], limit: 100 }),
    ],
    ['what is due', 1, 2 * closing + 1, async (client) => [await countDue(client, '2025-12-01T00:00:00Z')]],
  ])('the calendar looks for %s at periods that are not closed', async (_name, found, rows, work) => {
    const { result, looked } = await lookedAt((client) => work(client as Pool));
    expect(result).toHaveLength(found);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBeLessThanOrEqual(rows);
  });

  it('the first page has the first of each that waits', async () => {
    const { result, looked } = await lookedAt((client) => readWhatWaits(client, waits));
    for (const list of [result.corrections, result.periods, result.failures]) expect(list).toHaveLength(waits.limit);
    for (const table of looked.whole) expect(table).toBe('audit_state');
    expect(looked.rows).toBeLessThanOrEqual(3 * waits.limit + 1 + lastPeriods);
  });

  it('a download is read with what belongs to it, and an event with what is around it', async () => {
    const token = 'A' + md5('7');
    const record = await lookedAt((client) => readDownloadRecord(client, { token, macs: testMacs }));
    expect(record.result?.timeline.length).toBeGreaterThan(0);
    expect(record.looked).toMatchObject({ whole: [], statements: 3 });
    expect(record.looked.rows).toBeLessThanOrEqual(20);
    const around = { causationId: uuidOf('l7'), correlationId: 'req-7', token };
    const events = await lookedAt((client) => findEventsAround(client, around));
    expect(events.result.cause).toBeDefined();
    expect(events.looked).toMatchObject({ whole: [], statements: 1 });
    expect(events.looked.rows).toBeLessThanOrEqual(20);
  });

  it('what a correction has given back is found by its reference', async () => {
    const asked = await readCorrection(models.pool, uuidOf('x7'));
    const charges = [{ token: 'A' + md5('7'), revision: 1, cents: 1 }];
    for (const correction of [
      { kind: 'charges' as const, stream: 'usage', charges },
      { kind: 'credit_line' as const, invoice_number: 1, line: 1 },
    ]) {
      const { looked } = await lookedAt((client) =>
        listMadeEvents(client, { ...asked!, reference: 'case-50', correction }),
      );
      expect(looked).toMatchObject({ whole: [], statements: 1 });
      expect(looked.rows).toBeLessThanOrEqual(2);
    }
  });
});

describe('the other queries of pages', () => {
  const token = async () =>
    (
      await models.pool.query<{ token: string }>(
        "select token from jobs where usage_stream = 'usage' and usage_revision = 3",
      )
    ).rows[0]!.token;

  it.each<[string, number, number, (client: Pick<Pool, 'query'>) => Promise<unknown>]>([
    ['one download', 2, 5, async (client) => readAccountDownload(client, { accountId: largest, token: await token() })],
    ['the days of a period', 1, 10, (client) => listUsageDays(client, { accountId: small, periodStart: '2026-01-11' })],
    // Four periods, and the invoices of the account for each.
    [
      'the periods of an account',
      1,
      4 + 4 * 22,
      (client) => pageAccountPeriods(client, { accountId: small, macs: testMacs, limit: 4 }),
    ],
    ['keys with their use', 1, 6, (client) => listKeysWithUse(client, { accountId: small, macs: testMacs })],
    [
      'the accounts of an address',
      1,
      1,
      (client) => {
        const macs = { ...testMacs, signUnderEach: () => ['mac of 10', 'mac of nobody'] };
        return listPeopleOfAddress(client, { email: 'a@example.org', macs, limit: 10 });
      },
    ],
  ])('%s', async (_name, statements, rows, work) => {
    const { result, looked } = await lookedAt(work);
    expect(result).toSatisfy((found) => (Array.isArray(found) ? found.length > 0 : Boolean(found)));
    expect(looked).toMatchObject({ whole: [], statements });
    expect(looked.rows).toBeLessThanOrEqual(rows);
  });
});

describe('the signed log', () => {
  it.each([0, 12_345, leaves - 1])('has the path of entry %i in one statement', async (index) => {
    const { result, looked } = await lookedAt((client) => inclusionProof(index, leaves, proofNodesOf(client)));
    expect(result.length).toBeGreaterThan(5);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBeLessThanOrEqual(2 * Math.log2(leaves));
  });

  it('tells its newest head, the place of an entry, and whether the head covers it', async () => {
    const log = await lookedAt((client) => readSignedLog(client));
    expect(log).toMatchObject({ result: { size: leaves }, looked: { whole: [], rows: 1, statements: 1 } });
    const place = await lookedAt(async (client) => (await readSignedLog(client))?.indexOf(leafEvent(12_345)));
    expect(place).toEqual({ result: 12_345, looked: { whole: [], rows: 2, statements: 2 } });
    const head = await lookedAt((client) => readHeadFor(client, leafEvent(12_345)));
    expect(head).toEqual({ result: { note: 'note', covers: true }, looked: { whole: [], rows: 2, statements: 1 } });
  });

  it.each(['entries', 0, 1] as const)('has a tile of %s in one statement', async (level) => {
    const width = level === 1 ? Math.floor(leaves / 256) : 256;
    const index = level === 1 ? 0 : 3;
    const { result, looked } = await lookedAt((client) =>
      readTile(client, { level, index, width: Math.min(256, width) }),
    );
    expect(result.length).toBeGreaterThan(32);
    expect(looked).toMatchObject({ whole: [], statements: 1 });
    expect(looked.rows).toBe(Math.min(256, width));
  });
});
