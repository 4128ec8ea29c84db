import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import { pino } from 'pino';
import type { Logger } from 'pino';

import type { Checkpoint } from '../../projections/runner/checkpoints.ts';
import { notBelieved } from '../../projections/credits-macs.ts';
import type { NotBelieved } from '../../projections/credits-macs.ts';
import { createAdmissions } from '../../projections/admission/admission.ts';
import type { Admissions } from '../../projections/admission/admission.ts';
import { migrate, openPool } from '../../src/adapters/postgres/postgres.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { deriveKeys } from '../../src/adapters/secrets.ts';
import { positionOfEvent } from '../../src/ports/log-position.ts';
import { createDatabase } from '../support/postgres.ts';

const migrationsDirectory = fileURLToPath(new URL('../../projections/migrations', import.meta.url));

/** Of a reader that has taken the event at a position. */
export const checkpointAt = (commit: bigint): Checkpoint => ({
  position: positionOfEvent(commit),
  eventPosition: commit,
});

export const silent: Logger = pino({ level: 'silent' });

/** A logger, and what it was told. */
export function rememberingLogger(level: 'info' | 'debug' = 'info'): { logger: Logger; text: () => string } {
  let text = '';
  const logger = pino({ level }, { write: (line: string) => void (text += line) });
  return { logger, text: () => text };
}

/** Of an installation that has never changed its secret. */
export const testSecrets = { current: deriveKeys('a secret that is long enough for a test'), others: [] };
export const testMacs = createRowMacs(testSecrets, { logger: silent });

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

/** What was read, for a test whose rows are all the projector's own. */
export function believed<Value>(read: Value | NotBelieved): Value {
  if (read === notBelieved) throw new Error('a row of the projector itself is not believed');
  return read;
}

/** @param pool with the settings of admission */
export const admissionsOn = (pool: Pool): Admissions =>
  createAdmissions(pool, { measureTime: () => () => undefined, macs: testMacs });
