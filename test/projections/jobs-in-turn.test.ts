import type { Pool, QueryConfig } from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { readTurn } from '../../projections/work-lists/jobs-in-turn.ts';
import type { TurnWanted } from '../../src/ports/job-turns.ts';
import { scaled } from '../support/proof-scale.ts';
import { readModelsOfFile } from './read-models-under-test.ts';

const models = readModelsOfFile();
beforeEach(() => models.pool.query('truncate jobs'));

const now = '2026-11-02T00:00:00.000Z';

interface Rows {
  account: string;
  count?: number;
  status?: string;
  /** Seconds before `now`, of the oldest; each further job is a second younger. */
  waited?: number;
  platform?: string;
  worker?: string;
  notBefore?: string;
}

async function insert(...inserted: readonly Rows[]): Promise<void> {
  for (const { account, count = 1, status = 'queued', waited = 60, platform = 'sample', worker, notBefore } of inserted)
    await models.pool.query(
      `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
                         status, revision, attempts, worker_id, not_before, queued_at, waiting_since)
       select concat_ws('-', $1::text, $2::text, $5::int, n), $1, 'usage', n, $6, 'bars', 'url', 'video', 'best', false,
         $2, -1, 0, $7, $8, since, since
       from generate_series(1, $3::int) n,
         lateral (select $4::timestamptz + (n - 1 - $5::int) * interval '1 second' as since) at`,
      [account, status, count, now, waited, platform, worker ?? null, notBefore ?? null],
    );
}

const turn = (wanted: Partial<TurnWanted> = {}) =>
  readTurn(models.pool, {
    workerId: 'wrk_own',
    after: '',
    now,
    maxJobsPerAccount: 10,
    own: {},
    fullPlatforms: [],
    settled: [],
    named: undefined,
    ...wanted,
  });

const nextToken = async (wanted?: Partial<TurnWanted>) => (await turn(wanted)).next?.token;

describe('the job that comes next', () => {
  it('is none where none waits', async () => {
    await insert({ account: 'a', status: 'done' }, { account: 'b', status: 'running', worker: 'wrk_other' });
    expect(await turn()).toEqual({ next: null, accounts: [], named: null });
  });

  it('is of the account after the one that was served last, and its oldest', async () => {
    await insert({ account: 'a', count: 3 }, { account: 'b', count: 2, waited: 10 }, { account: 'c', waited: 5 });
    expect([await nextToken(), await nextToken({ after: 'a' }), await nextToken({ after: 'b' })]).toEqual([
      ...['a-queued-60-1', 'b-queued-10-1', 'c-queued-5-1'],
    ]);
    // In a circle, also from an account that nobody has.
    expect([await nextToken({ after: 'c' }), await nextToken({ after: 'bb' })]).toEqual([
      'a-queued-60-1',
      'c-queued-5-1',
    ]);
  });

  it('is of the account with the fewest in progress, of this worker by its own count', async () => {
    await insert({ account: 'a', count: 3 }, { account: 'b', count: 3 }, { account: 'c', count: 3 });
    await insert(
      { account: 'a', status: 'running', worker: 'wrk_other' },
      { account: 'c', status: 'claimed', worker: 'wrk_own' },
    );
    expect((await turn({ own: { b: 2 } })).next).toMatchObject({ account_id: 'c', in_progress: 0 });
    expect((await turn({ own: { b: 2, c: 2 } })).next).toMatchObject({ account_id: 'a', in_progress: 1 });
    expect((await turn()).accounts).toEqual([
      ...[
        { account_id: 'a', in_progress: 1 },
        { account_id: 'b', in_progress: 0 },
        { account_id: 'c', in_progress: 0 },
      ],
    ]);
  });

  it('is of no account at its limit, no full platform, none before its time, and none that is known to be taken', async () => {
    await insert(
      { account: 'a', count: 2 },
      { account: 'b', platform: 'full' },
      { account: 'c', notBefore: '2026-11-02T00:00:00.001Z' },
    );
    const wanted = { own: { a: 10 }, fullPlatforms: ['full'] };
    expect(await turn(wanted)).toMatchObject({ next: null, accounts: [{ in_progress: 10 }, {}, {}] });
    expect((await turn({ ...wanted, now: '2026-11-02T00:00:00.001Z' })).next).toMatchObject({ account_id: 'c' });
    const settled = ['a-queued-60-1:-1', 'a-queued-60-2:0'];
    expect(await nextToken({ settled })).toBe('a-queued-60-2');
  });

  it('tells of the named job how far its row is, and how much of its account is in progress', async () => {
    await insert({ account: 'a', status: 'done', waited: 1 }, { account: 'a', status: 'running', worker: 'wrk_other' });
    const named = async (token: string, accountId: string) =>
      (await turn({ own: { a: 2 }, named: { token, accountId } })).named;
    expect(await named('a-done-1-1', 'a')).toEqual({
      in_progress: 3,
      row: { status: 'done', revision: -1, not_before: null },
    });
    expect(await named('unknown', 'b')).toEqual({ in_progress: 0, row: null });
  });
});

describe('however many wait', () => {
  const jobs = scaled(20_000, 100_000);
  const accounts = scaled(2_000, 10_000);

  /** Milliseconds of the server, and the pages that it read, of the median look. */
  async function cost(): Promise<{ ms: number; pages: number; nodes: string }> {
    await models.pool.query('analyze jobs');
    const found: { ms: number; pages: number; nodes: string }[] = [];
    const explaining = {
      query: async ({ text, values }: QueryConfig) => {
        const { rows } = await models.pool.query<{ 'QUERY PLAN': Record<string, unknown>[] }>(
          `explain (analyze, buffers, timing off, format json) ${text}`,
          values,
        );
        const [explained] = rows[0]?.['QUERY PLAN'] ?? [];
        const { Plan: plan, 'Execution Time': ms } = explained as {
          Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
          'Execution Time': number;
        };
        const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
        found.push({ ms, pages, nodes: JSON.stringify(plan) });
        return { rows: [{}] };
      },
    };
    for (let look = 0; look < 9; look += 1)
      await readTurn(explaining as unknown as Pool, {
        workerId: 'wrk_own',
        after: `a${String(look * 100)}`,
        now,
        maxJobsPerAccount: 10,
        own: { a1: 1 },
        fullPlatforms: [],
        settled: ['x:-1'],
        named: { token: 'a1-queued-60-1', accountId: 'a1' },
      });
    return found.toSorted((a, b) => a.ms - b.ms)[4]!;
  }

  it('a look reads a few hundred pages at most, by the index alone', async () => {
    await insert({ account: 'large', count: jobs, waited: jobs });
    const ofOne = await cost();
    await models.pool.query(
      `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
                         status, revision, attempts, worker_id, queued_at, waiting_since)
       select 't' || n, 'a' || n, 'usage', n, 'sample', 'bars', 'url', 'video', 'best', false,
         case when n % 20 = 0 then 'running' else 'queued' end, -1, 0, 'wrk_other', $2, $2
       from generate_series(1, $1::int) n`,
      [accounts, now],
    );
    const ofMany = await cost();
    for (const { nodes } of [ofOne, ofMany]) expect(nodes).not.toMatch(/Seq Scan/);
    expect(ofOne.pages).toBeLessThan(60);
    expect(ofMany.pages).toBeLessThan(600);
  });
});
