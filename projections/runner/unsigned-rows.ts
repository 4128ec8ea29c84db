import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { type Background, runInBackground } from '../../src/async/background.ts';
import { sleep } from '../../src/async/sleep.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import type { RebuildableProjection } from './projection.ts';
import { rebuild } from './rebuild.ts';

interface Dependencies {
  store: EventStore;
  /** Without a statement timeout, because whole tables are compared. */
  pool: Pool;
  macs: RowMacs;
  logger: Logger;
}

const retryMs = 10_000;

/**
 * Rebuilds the read models with rows that have no MAC (from an older version) or the MAC of a secret that is not configured any
 * more. Until then such rows are not believed: decisions start from the log instead, and keys are not admitted.
 */
export function rebuildUnsigned(projections: readonly RebuildableProjection[], dependencies: Dependencies): Background {
  return runInBackground(async (stopping) => {
    for (const projection of projections) {
      while (!stopping.aborted && !(await isDone(dependencies, projection, stopping))) await sleep(retryMs, stopping);
    }
  });
}

async function isDone(
  { logger, ...dependencies }: Dependencies,
  projection: RebuildableProjection,
  signal: AbortSignal,
): Promise<boolean> {
  const { name, signedTables = {} } = projection;
  try {
    if (!(await hasUnsigned(dependencies, signedTables))) return true;
    logger.warn({ projection: name }, 'a read model has rows that carry no MAC of this installation: it is made anew');
    const { events } = await rebuild(projection, { ...dependencies, signal, progress: () => undefined });
    logger.warn({ projection: name, events }, 'a read model is made anew: its rows carry MACs');
    return true;
  } catch (error) {
    if (!signal.aborted)
      logger.warn({ err: error, projection: name }, 'a read model could not be made anew; it is tried again');
    return false;
  }
}

async function hasUnsigned(
  { pool, macs }: Pick<Dependencies, 'pool' | 'macs'>,
  tables: Readonly<Record<string, string>>,
): Promise<boolean> {
  for (const [table, mac] of Object.entries(tables)) {
    const { rowCount } = await pool.query(
      `select from ${table} where ${mac} is null or split_part(${mac}, '.', 1) <> all($1) limit 1`,
      [macs.secretIds],
    );
    if (rowCount !== 0) return true;
  }
  return false;
}
