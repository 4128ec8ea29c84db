import type { PoolClient } from 'pg';
import { sleep } from '../../src/async/sleep.ts';
import { isLockFailure } from '../../src/ports/service-parts.ts';

/**
 * Waiting time of each attempt. Most are below the second after which Postgres looks for deadlocks, so that the swap does not
 * make others wait longer. Some are above it, because Postgres then also cancels a vacuum that is in the way.
 */
const attemptsMs = [200, 200, 200, 200, 1_500, 200, 200, 200, 200, 1_500];
const pauseMs = 100;

/**
 * Locks the tables for the swap. Requests read several of these tables in one statement, in an order of their own, which could
 * deadlock. And while the swap waits for a slow reader, every new request waits behind it. So each attempt is short, and releases
 * all locks before the next one.
 *
 * @returns false if no attempt succeeded
 */
export async function lockTables(tables: readonly string[], client: PoolClient): Promise<boolean> {
  for (const attemptMs of attemptsMs) {
    await client.query('savepoint before_locks');
    try {
      await client.query(`set local lock_timeout = ${String(attemptMs)}`);
      await client.query(`lock table ${tables.join(', ')} in access exclusive mode`);
      await client.query('set local lock_timeout = 0');
      return true;
    } catch (error) {
      if (!isLockFailure(error)) throw error;
      await client.query('rollback to savepoint before_locks');
      await sleep(pauseMs);
    }
  }
  return false;
}
