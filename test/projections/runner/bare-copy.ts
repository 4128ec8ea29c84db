import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';

/**
 * The time that Postgres alone takes for the same rows: COPY into empty tables of the same shape, with their indexes.
 *
 * @param directory for the rows meanwhile
 * @returns seconds, for all the tables together
 */
export async function secondsOfCopy(pool: Pool, tables: readonly string[], directory: string): Promise<number> {
  // Postgres itself writes and reads the files, perhaps as another user.
  chmodSync(directory, 0o777);
  let seconds = 0;
  for (const table of tables) {
    const file = join(directory, `${table}.copy`);
    await pool.query(`create schema bare; create table bare.${table} (like ${table} including all)`);
    await pool.query(`copy ${table} to '${file}'`);
    const startedMs = performance.now();
    await pool.query(`copy bare.${table} from '${file}'`);
    seconds += (performance.now() - startedMs) / 1000;
    await pool.query('drop schema bare cascade');
  }
  return seconds;
}
