import type { Pool } from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { oldestWaitingSeconds } from '../../projections/work-lists/unfinished-jobs.ts';
import { readModelsOfFile } from './read-models-under-test.ts';

const models = readModelsOfFile();
beforeAll(async () => {
  await insert('done', 20_000, '2026-11-01T00:00:00Z');
  await models.pool.query('analyze jobs');
});

async function insert(status: string, count: number, since: string): Promise<void> {
  await models.pool.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
                       status, revision, attempts, queued_at, waiting_since)
     select $1 || number || $3::text, 'acc', 'usage', number, 'sample', 'bars', 'url', 'video', 'best', false, $1, 0, 0, $3::timestamptz, $3::timestamptz
     from generate_series(1, $2::int) number`,
    [status, count, since],
  );
}

const now = '2026-11-02T00:00:00.000Z';

it('tells how long the job that waits longest has waited, and 0 if none waits', async () => {
  expect(await oldestWaitingSeconds(models.pool, now)).toBe(0);
  await insert('claimed', 3, '2026-11-01T12:00:00Z');
  await insert('queued', 3, '2026-11-01T23:59:00Z');
  await insert('queued', 1, '2026-11-01T23:58:30Z');
  expect(await oldestWaitingSeconds(models.pool, now)).toBe(90);
  // A clock that is behind has no job wait for less than nothing.
  expect(await oldestWaitingSeconds(models.pool, '2026-11-01T00:00:00.000Z')).toBe(0);
});

it('reads the index of unfinished jobs, never the rows of finished ones', async () => {
  const plans: unknown[] = [];
  const explaining = {
    query: async (text: string, values: unknown[]) => {
      plans.push((await models.pool.query(`explain ${text}`, values)).rows);
      return { rows: [] };
    },
  };
  await oldestWaitingSeconds(explaining as unknown as Pool, now);
  const plan = JSON.stringify(plans);
  expect(plan).toMatch(/Index (Only )?Scan using jobs_unfinished/);
  expect(plan).not.toMatch(/Seq Scan|Sort/);
});
