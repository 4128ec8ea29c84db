import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import { pino } from 'pino';
import type { Logger } from 'pino';

import type { Checkpoint } from '../../projections/checkpoints.ts';
import { createAdmissions } from '../../projections/admission.ts';
import type { Admissions } from '../../projections/admission.ts';
import { migrate, openPool } from '../../src/adapters/postgres.ts';
import { positionOfEvent } from '../../src/commands/log-position.ts';
import { createDatabase } from '../support/postgres.ts';

const migrationsDirectory = fileURLToPath(new URL('../../projections/migrations', import.meta.url));

/** Of a reader that has taken the event at a position. */
export const checkpointAt = (commit: bigint): Checkpoint => ({
  position: positionOfEvent(commit),
  eventPosition: commit,
});

export const silent: Logger = pino({ level: 'silent' });

/** A logger, and what it was told. */
export function rememberingLogger(): { logger: Logger; text: () => string } {
  let text = '';
  const logger = pino({ level: 'info' }, { write: (line: string) => void (text += line) });
  return { logger, text: () => text };
}

export interface TestReadModels extends AsyncDisposable {
  url: string;
  pool: Pool;
  /** Another pool on the same database, as another process would have. */
  openAnother: (options?: string) => Pool;
}

/** A fresh database with the current schema. */
export async function createReadModels({ queryTimeoutMs = 10_000 } = {}): Promise<TestReadModels> {
  const database = await createDatabase();
  const pools: Pool[] = [];
  const openAnother = (options?: string): Pool => {
    const settings = { logger: silent, max: 4, queryTimeoutMs, ...(options !== undefined && { options }) };
    const pool = openPool(database.url, settings);
    pools.push(pool);
    return pool;
  };
  const pool = openAnother();
  await migrate(pool, migrationsDirectory);
  return {
    url: database.url,
    pool,
    openAnother,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(pools.map((each) => each.end()));
      await database.drop();
    },
  };
}

/** @param pool with the settings of admission */
export const admissionsOn = (pool: Pool): Admissions => createAdmissions(pool, { measureTime: () => () => undefined });
