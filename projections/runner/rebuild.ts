import pMap from 'p-map';
import type { Pool, PoolClient } from 'pg';
import { settleAll } from '../../src/async/settle-all.ts';
import { type Checkpoint, checkpointAt, lockCheckpoint, readCheckpoint, writeCheckpoint } from './checkpoints.ts';
import { createMissingTables } from './missing-tables.ts';
import { type Projection, type RebuildableProjection, tablesOf } from './projection.ts';
import {
  compareTable,
  constrainShadowTables,
  correctTable,
  createShadowTables,
  indexShadowTables,
  swapTables,
  type TableDifference,
} from './rebuild-tables.ts';
import { admitReader } from './refused-readers.ts';
import { Replay, type ReplayDependencies, type ReplayGoal, replayTogether } from './replay.ts';
import { refusalOf } from './resume.ts';
import { lockTables } from './retry-table-locks.ts';
import { inTransaction } from './transaction.ts';

export interface RebuildDependencies extends ReplayDependencies {
  /** Without a statement timeout, because whole tables are compared. It needs `connectionsOfRebuild` connections. */
  pool: Pool;
  /**
   * Accepts a log that does not have what the read model has read. The rows of that are given up, and the runner, which refuses
   * to run until then, goes on from the end of the log.
   */
  fromOlderLog?: boolean;
}

/** How long a query over whole tables may take. */
export const wholeTableMs = 3_600_000;

/** How many read models get their keys and indexes at once: Postgres makes each with one core, or a few for a large table. */
const indexedAtOnce = 2;

/** One for each read model, one for the locks, and some to make indexes and to ask how far the live ones are. */
export const connectionsOfRebuild = (readModels: number): number =>
  readModels + 1 + Math.min(readModels, indexedAtOnce);

export type Rebuilt = Awaited<ReturnType<typeof replace>>;

/** The read model cannot be rebuilt now; the live one is unchanged. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

/** A replay is always a little behind. After this many rounds the live runner waits for the rest of it. */
const maxRounds = 10;
/** Time for which Postgres waits for this process in the last step. */
const maxIdle = '20s';
const closeEnoughPositions = 2_000n;

/**
 * Rebuilds read models beside the live ones. The log is replayed into shadow tables of the same names, in a schema of their own
 * that the projection finds through the search path. The live runner goes on meanwhile. The log is read once for all of them.
 * At the end of each its checkpoint is locked for a moment, the replay goes on to exactly that position, and the tables are
 * compared and swapped in one transaction.
 *
 * @returns each as soon as it is swapped
 * @throws {RebuildRefused} and other errors; the live read models that were not returned are then unchanged
 */
export async function* rebuildTogether(
  projections: readonly RebuildableProjection[],
  dependencies: RebuildDependencies,
): AsyncGenerator<Rebuilt> {
  const { pool } = dependencies;
  const needed = connectionsOfRebuild(projections.length);
  // One that waits for a connection while it holds all others would wait for ever.
  if (pool.options.max < needed) {
    throw new RebuildRefused(
      `to rebuild ${projections.length} read models takes ${needed} connections to Postgres, and the pool has ${pool.options.max}`,
    );
  }
  const lock = await pool.connect();
  const shadows: PoolClient[] = [];
  try {
    await lockOutOthers(projections, lock);
    await createMissingTables(projections.flatMap(tablesOf), lock);
    const rebuilds = await settleAll(
      projections.map(async (projection) => {
        const shadow = await pool.connect();
        shadows.push(shadow);
        return beginRebuild(projection, dependencies, shadow);
      }),
    );
    await replayTogether(rebuilds, dependencies);
    // Those with the most events first: one that begins last is waited for.
    const bySize = rebuilds.toSorted((one, other) => other.replay.events - one.replay.events);
    await pMap(bySize, (one) => indexTables(one, dependencies), { concurrency: indexedAtOnce });
    for (const one of rebuilds) yield await endRebuild(one, { dependencies, lock });
  } finally {
    // The end of the session would release the locks too, but later: the next rebuild might be refused.
    await lock.query('select pg_advisory_unlock_all()').catch(() => undefined);
    // Ends the sessions, and with them the search path and anything that a failure left open.
    for (const client of [...shadows, lock]) client.release(true);
  }
}

/** Rebuilds one read model alone, as `rebuildTogether`. */
export async function rebuild(projection: RebuildableProjection, dependencies: RebuildDependencies): Promise<Rebuilt> {
  const [rebuilt] = await Array.fromAsync(rebuildTogether([projection], dependencies));
  if (!rebuilt) throw new Error(`${projection.name} was not rebuilt`);
  return rebuilt;
}

/** A rebuild under way, with the position that the live read model had when it began. */
interface Rebuild extends ReplayGoal {
  projection: RebuildableProjection;
}

/** @throws {RebuildRefused} if one of them is being rebuilt already */
async function lockOutOthers(projections: readonly Projection[], lock: PoolClient): Promise<void> {
  const names = projections.map(({ name }) => name);
  const { rows } = await lock.query<{ name: string; isLocked: boolean }>(
    `select name, pg_try_advisory_lock(hashtext('rebuild ' || name)) as "isLocked" from unnest($1::text[]) name`,
    [names],
  );
  const other = rows.find(({ isLocked }) => !isLocked);
  if (other) throw new RebuildRefused(`another rebuild of ${other.name} is under way`);
}

async function beginRebuild(
  projection: RebuildableProjection,
  dependencies: RebuildDependencies,
  shadow: PoolClient,
): Promise<Rebuild> {
  const target = await liveTarget(projection.name, dependencies);
  await createShadow(projection, shadow);
  return { projection, target, replay: new Replay(projection, dependencies, shadow) };
}

async function indexTables({ projection }: Rebuild, { pool }: RebuildDependencies): Promise<void> {
  const { tables, onlyAdds = false } = projection;
  if (onlyAdds) await constrainShadowTables(tables, shadowSchema(projection), pool);
  await indexShadowTables(tables, shadowSchema(projection), pool);
}

async function endRebuild(
  { projection, replay }: Rebuild,
  { dependencies, lock }: { dependencies: RebuildDependencies; lock: PoolClient },
): Promise<Rebuilt> {
  // Replays the events that came meanwhile, to keep the last step, in which the live runner waits, short.
  for (let round = 1; round <= maxRounds; round += 1) {
    const target = await liveTarget(projection.name, dependencies);
    if (target - replay.reached <= closeEnoughPositions) break;
    await replayTogether([{ replay, target }], dependencies);
  }
  return await replace(projection, { replay, lock, dependencies });
}

/** Schema of the shadow tables. A rebuild that was killed has left its tables there. */
const shadowSchema = ({ name }: Projection) => `rebuild_${name}`;

async function createShadow(projection: RebuildableProjection, shadow: PoolClient): Promise<void> {
  const { tables, corrected, onlyAdds = false } = projection;
  const schema = shadowSchema(projection);
  // Shadow rows may get lost in a crash, and the commit of the swap flushes them all.
  await shadow.query('set synchronous_commit = off');
  await createShadowTables(tablesOf(projection), schema, shadow);
  if (!onlyAdds) await constrainShadowTables(tables, schema, shadow);
  if (corrected) {
    await constrainShadowTables([corrected.name], schema, shadow);
    await indexShadowTables([corrected.name], schema, shadow);
  }
  await shadow.query(`select set_config('search_path', '${schema}, ' || current_setting('search_path'), false)`);
}

/**
 * The position of the newest event that a checkpoint covers. A checkpoint after all events would not show whether the log still
 * has the events before it.
 */
const standsFor = (checkpoint: Checkpoint | undefined): bigint => checkpoint?.eventPosition ?? 0n;

const liveTarget = async (name: string, dependencies: RebuildDependencies): Promise<bigint> =>
  (await targetOf(name, await readCheckpoint(dependencies.pool, name), dependencies)).position;

/**
 * The position at which the replay ends: that of the live read model, so that both can be compared. In a log that was replaced,
 * it is the end of the log.
 *
 * @throws {RebuildRefused} if the log was replaced, because the read model would go back in time
 */
async function targetOf(
  name: string,
  checkpoint: Checkpoint | undefined,
  { store, fromOlderLog = false }: RebuildDependencies,
): Promise<{ position: bigint; isLogReplaced: boolean }> {
  const shown = standsFor(checkpoint);
  const head = (await store.headPosition()) ?? 0n;
  const isReplaced = (await refusalOf(store, name, checkpoint)) !== undefined;
  if (head >= shown && !isReplaced) return { position: shown, isLogReplaced: false };
  if (fromOlderLog) return { position: head, isLogReplaced: true };
  const finding =
    head < shown ? `beyond the end of the log (${String(head)})` : 'with an event there that the log does not have';
  throw new RebuildRefused(
    `${name} stands for position ${String(shown)}, ${finding}: the log was ` +
      'replaced by an older one, and a rebuild would take back what this read model has already shown; ' +
      '--from-older-log gives that up',
  );
}

/** The last step, during which the live runner waits: compares the tables and swaps them. */
async function replace(
  projection: RebuildableProjection,
  { replay, lock, dependencies }: { replay: Replay; lock: PoolClient; dependencies: RebuildDependencies },
) {
  const { name, tables, corrected, signedTables = {}, secretColumns = {} } = projection;
  const schema = shadowSchema(projection);
  // Creates the row to lock, in case no runner has begun yet.
  await lock.query('insert into checkpoints (name) values ($1) on conflict do nothing', [name]);
  return await inTransaction(lock, async () => {
    // Keeps a process that is suspended now, or has lost the log, from blocking the live runner.
    await lock.query(`set local idle_in_transaction_session_timeout = '${maxIdle}'`);
    // From here on the live runner waits, and its tables and checkpoint do not change.
    const checkpoint = await lockCheckpoint(lock, name);
    const { position, isLogReplaced } = await targetOf(name, checkpoint, dependencies);
    await replayTogether([{ replay, target: position }], dependencies);
    const differences: TableDifference[] = [];
    const compare = async (table: { name: string; columns?: readonly string[] }) =>
      differences.push(
        await compareTable({ ...table, except: [signedTables[table.name], secretColumns[table.name]] }, schema, lock),
      );
    for (const table of tables) await compare({ name: table });
    if (corrected) await compare({ name: corrected.name, columns: [corrected.key, ...corrected.columns] });
    if (!(await lockTables(tables, lock))) {
      throw new RebuildRefused(`somebody reads ${tables.join(' or ')} and does not let go: nothing was swapped`);
    }
    await swapTables(tables, schema, lock);
    if (isLogReplaced) {
      await writeCheckpoint(lock, name, position === 0n ? undefined : checkpointAt(position, replay.seen));
      await admitReader(lock, name);
    }
    // Last, because requests wait for the rows that it locks.
    if (corrected) await correctTable(corrected, schema, lock);
    await lock.query(`drop schema ${schema} cascade`);
    return {
      name,
      /** Commit position that the new tables have reached. */
      position,
      /** The position that the live read model had reached; another one than `position` only if the log was replaced. */
      before: standsFor(checkpoint),
      /** True if the read model stood for events that the log does not have. */
      isLogReplaced,
      events: replay.events,
      tables: differences,
    };
  });
}
