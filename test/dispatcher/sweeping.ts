import { onTestFinished } from 'vitest';
import { startSweeping, type SweepDependencies } from '../../src/dispatcher/sweep-lost-jobs.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { silent } from '../projections/read-models-under-test.ts';
import { countRows } from '../support/postgres.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Dispatching } from './dispatching.ts';

/** A sweeper in a hurry, whose business time stands; it stops with the test at the latest. */
export function sweep(
  { store, queue, models }: Dispatching,
  { now, ...changed }: { now: string } & Partial<Omit<SweepDependencies, 'now'>>,
): { stop: () => Promise<void> } {
  const sweeping = startSweeping({
    store,
    queue,
    pool: models.pool,
    now: () => now,
    newUuid,
    logger: silent,
    attemptTimeoutSeconds: 600,
    maxJobsPerAccount: 10,
    leaseSeconds: 1,
    everyMs: 50,
    ...changed,
  });
  onTestFinished(() => sweeping.stop());
  return sweeping;
}

/** A worker's heartbeat, so many seconds ago; in the future, for one that lives through the test. */
export async function beat({ models }: Dispatching, workerId: string, secondsAgo: number): Promise<void> {
  await models.pool.query("insert into worker_heartbeats values ($1, clock_timestamp() - $2 * interval '1 second')", [
    workerId,
    secondsAgo,
  ]);
}

/** Waits until a sweep has come to its last act, which is to forget workers that are long gone. */
export async function sweepOnce(parts: Dispatching, changed: Parameters<typeof sweep>[1]): Promise<void> {
  await beat(parts, newId('wrk'), 86_401);
  const sweeping = sweep(parts, changed);
  await waitFor(async () => (await countOldWorkers(parts)) === 0, { what: 'a whole sweep' });
  await sweeping.stop();
}

const countOldWorkers = ({ models }: Dispatching): Promise<number> =>
  countRows(models.pool, "worker_heartbeats where beaten_at < clock_timestamp() - interval '1 day'");
