import type { Pool, QueryResult } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';

import { listAccountDownloads, readAccountDownload } from '../../projections/account-downloads.ts';
import type { DownloadFilter } from '../../projections/account-downloads.ts';
import { pageAccountPeriods } from '../../projections/account-periods.ts';
import { listKeysWithUse } from '../../projections/admission/key-use.ts';
import { listPeopleOfAddress } from '../../projections/people.ts';
import { listUsageDays } from '../../projections/usage-days.ts';
import { scaled } from '../support/proof-scale.ts';
import { readModelsOfFile, testMacs } from './read-models-under-test.ts';

/**
 * What the queries behind pages look at, in tables of many accounts: never a whole table, and never more rows than they say. One
 * account has a third of all downloads.
 */
const models = readModelsOfFile();
const accounts = scaled(2_000, 50_000);
const jobs = scaled(120_000, 3_000_000);
const largest = 'acc_large000000000000000';
const small = 'acc_0000000000000000000a';
const queuedAt = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

beforeAll(
  async () => {
    const { pool } = models;
    const acc = "case when n % 3 = 0 then $1 else 'acc_' || lpad(to_hex(n % $2::int), 20, '0') end";
    const account = "'acc_' || lpad(to_hex(n), 20, '0')";
    await pool.query(
      `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
       status, revision, attempts, queued_at, waiting_since, key_id, cents)
     select 'A' || md5(n::text), ${acc}, 'usage', n, 'youtube', n::text, 'https://youtube.com/' || n, 'video', 'best', false,
       'done', 3, 1, timestamptz '2026-01-01T00:00Z' + n * interval '1 second', now(), 'key_' || n % 7, 0
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
    await pool.query('vacuum analyze');
  },
  scaled(60_000, 900_000),
);

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
  const query = async (text: string, values: unknown[]): Promise<QueryResult> => {
    const explained = await models.pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, format json) ${text}`,
      values,
    );
    for (const { Plan: plan } of explained.rows[0]!['QUERY PLAN']) {
      const scans = nodesOf(plan).filter((node) => node['Relation Name'] !== undefined);
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
    return await models.pool.query(text, values);
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

describe('the other queries of pages', () => {
  const token = async () =>
    (await models.pool.query<{ token: string }>('select token from jobs where usage_revision = 3')).rows[0]!.token;

  it.each<[string, number, number, (client: Pick<Pool, 'query'>) => Promise<unknown>]>([
    ['one download', 2, 4, async (client) => readAccountDownload(client, { accountId: largest, token: await token() })],
    ['the days of a period', 1, 10, (client) => listUsageDays(client, { accountId: small, periodStart: '2026-01-11' })],
    // Four periods, and the invoices of the account for each.
    [
      'the periods of an account',
      1,
      4 + 4 * 12,
      (client) => pageAccountPeriods(client, { accountId: small, macs: testMacs, limit: 4 }),
    ],
    ['keys with their use', 1, 6, (client) => listKeysWithUse(client, small)],
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
