import type { Pool } from 'pg';
import { type Background, runInBackground } from '../../async/background.ts';
import { sleep } from '../../async/sleep.ts';
import type { Clock } from './business-clock.ts';
import { requireWritable, type WritableRow, writableSql } from './session.ts';

/** Asks Postgres for its time. @throws when it is away @throws {PostgresUnusable} if it takes no changes */
export async function measureClock(pool: Pool, { measureTime }: Pick<Clock, 'measureTime'>): Promise<void> {
  const told = measureTime();
  const { rows } = await pool.query<WritableRow & { ms: string }>(
    `select extract(epoch from clock_timestamp()) * 1000 as ms, ${writableSql}`,
  );
  told(Number(rows[0]?.ms));
  requireWritable(rows[0]);
}

const defaultMeasureEveryMs = 2_000;

/** Measures the clock regularly. While Postgres is away, the time continues from the last measurement. */
export function keepMeasuring(
  pool: Pool,
  clock: Pick<Clock, 'measureTime'>,
  everyMs = defaultMeasureEveryMs,
): Background {
  return runInBackground(async (stopping) => {
    while (!stopping.aborted) {
      await measureClock(pool, clock).catch(() => undefined);
      await sleep(everyMs, stopping);
    }
  });
}
