import { sleep } from '../../src/async/sleep.ts';
import type { Pool, PoolClient } from 'pg';
import { coveredUpTo, positionOfEvent } from '../../src/ports/log-position.ts';
import type { EventStore, LogPosition, RecordedEvent } from '../../src/ports/event-store.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { lockCheckpoint, readCheckpoint } from './checkpoints.ts';
import type { Checkpoint } from './checkpoints.ts';
import { createMissingTables } from './missing-tables.ts';
import { lockTables } from './retry-table-locks.ts';
import {
  compareTable,
  constrainShadowTable,
  correctTable,
  createShadowTable,
  indexShadowTable,
  swapTable,
} from './rebuild-tables.ts';
import type { TableDifference } from './rebuild-tables.ts';
import { tablesOf } from './projection.ts';
import type { Apply, Projection, RebuildableProjection } from './projection.ts';
import { inTransaction } from './transaction.ts';

export interface RebuildDependencies {
  store: EventStore;
  /** Without a statement timeout, because whole tables are compared. */
  pool: Pool;
  macs: RowMacs;
  /** Called after every batch. */
  progress: (progress: RebuildProgress) => void;
  /**
   * Accepts a log that ends before the read model's position. The later rows are given up, and the runner, which refuses to run
   * until then, goes on from the end of the log.
   */
  fromOlderLog?: boolean;
  /** Ends the rebuild, with the live read model unchanged. */
  signal?: AbortSignal;
}

export interface RebuildProgress {
  events: number;
  position: bigint;
  /** Position of the live read model, at which the replay ends. */
  target: bigint;
}

export interface Rebuilt {
  /** Commit position that the new tables have reached. */
  position: bigint;
  /** The position that the live read model had reached; beyond `position` only if the log was older. */
  before: bigint;
  events: number;
  tables: TableDifference[];
}

/** The read model cannot be rebuilt now; the live one is unchanged. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

/** A replay is always a little behind. After this many rounds the live runner waits for the rest of it. */
const maxRounds = 10;
const maxTransactionEvents = 1_000;
/** Time for which Postgres waits for this process in the last step. */
const maxIdle = '20s';
const closeEnoughPositions = 2_000n;

/**
 * Rebuilds a read model beside the live one. The log is replayed into shadow tables of the same names, in a schema of their own
 * that the projection finds through the search path. The live runner goes on meanwhile. At the end its checkpoint is locked for
 * a moment, the replay goes on to exactly that position, and the tables are compared and swapped in one transaction.
 *
 * @throws {RebuildRefused} and other errors; the live read model is then unchanged
 */
export async function rebuild(projection: RebuildableProjection, dependencies: RebuildDependencies): Promise<Rebuilt> {
  const { pool } = dependencies;
  const { name } = projection;
  const lock = await pool.connect();
  const shadow = await pool.connect();
  try {
    const { rows } = await lock.query<{ alone: boolean }>('select pg_try_advisory_lock(hashtext($1)) as alone', [
      `rebuild ${name}`,
    ]);
    if (rows[0]?.alone !== true) throw new RebuildRefused(`another rebuild of ${name} is under way`);
    const target = async () => targetOf(name, standsFor(await readCheckpoint(pool, name)), dependencies);
    let ahead = await target();
    await createMissingTables(tablesOf(projection), lock);
    await createShadow(projection, lock, shadow);
    const replay = new Replay(projection, dependencies, shadow);
    const followUp = async () => {
      for (let round = 1; round <= maxRounds && ahead - replay.reached > closeEnoughPositions; round += 1) {
        await replay.upTo(ahead);
        ahead = await target();
      }
    };
    await followUp();
    for (const table of projection.tables) {
      if (projection.onlyAdds) await constrainShadowTable(table, shadowSchema(projection), lock);
      await indexShadowTable(table, shadowSchema(projection), lock);
    }
    // Replays the events that came while the indexes were made, to keep the last step, in which the live runner waits, short.
    ahead = await target();
    await followUp();
    return await replace(projection, { replay, lock, dependencies });
  } finally {
    // The end of the session would release the lock too, but later: the next rebuild might be refused.
    await lock.query('select pg_advisory_unlock_all()').catch(() => undefined);
    // Ends the sessions, and with them the search path and anything that a failure left open.
    shadow.release(true);
    lock.release(true);
  }
}

/** Schema of the shadow tables. A rebuild that was killed has left its tables there. */
const shadowSchema = ({ name }: Projection) => `rebuild_${name}`;

async function createShadow(projection: RebuildableProjection, lock: PoolClient, shadow: PoolClient): Promise<void> {
  const { tables, corrected, onlyAdds = false } = projection;
  const schema = shadowSchema(projection);
  await lock.query(`drop schema if exists ${schema} cascade; create schema ${schema}`);
  for (const table of tables) {
    await createShadowTable(table, schema, lock);
    if (!onlyAdds) await constrainShadowTable(table, schema, lock);
  }
  if (corrected) {
    await createShadowTable(corrected.name, schema, lock);
    await constrainShadowTable(corrected.name, schema, lock);
    await indexShadowTable(corrected.name, schema, lock);
  }
  // Shadow rows may get lost in a crash, and the commit of the swap flushes them all.
  await shadow.query('set synchronous_commit = off');
  await shadow.query(`select set_config('search_path', '${schema}, ' || current_setting('search_path'), false)`);
}

/**
 * The position of the newest event that a checkpoint covers. A checkpoint after all events would not show whether the log still
 * has the events before it.
 */
const standsFor = (checkpoint: Checkpoint | undefined): bigint => checkpoint?.eventPosition ?? 0n;

/**
 * The position at which the replay ends: that of the live read model, so that both can be compared.
 *
 * @throws {RebuildRefused} if the log ends before that, because the read model would go back in time
 */
async function targetOf(
  name: string,
  shown: bigint,
  { store, fromOlderLog = false }: RebuildDependencies,
): Promise<bigint> {
  const head = (await store.headPosition()) ?? 0n;
  if (head >= shown) return shown;
  if (fromOlderLog) return head;
  throw new RebuildRefused(
    `${name} stands for position ${String(shown)}, beyond the end of the log (${String(head)}): the log was ` +
      'replaced by an older one, and a rebuild would take back what this read model has already shown; ' +
      '--from-older-log gives that up',
  );
}

class Replay {
  readonly #projection: Projection;
  readonly #dependencies: RebuildDependencies;
  readonly #client: PoolClient;
  readonly #applyEvents: Apply;
  #position: LogPosition | undefined;
  events = 0;

  constructor(projection: Projection, dependencies: RebuildDependencies, client: PoolClient) {
    this.#projection = projection;
    this.#dependencies = dependencies;
    this.#client = client;
    this.#applyEvents = projection.start(dependencies);
  }

  /** Commit position up to which all events are applied. */
  get reached(): bigint {
    return coveredUpTo(this.#position);
  }

  /** Applies everything up to exactly this commit position, which the log has reached. */
  async upTo(target: bigint): Promise<void> {
    if (target <= this.reached) return;
    // Deliveries may be small. A transaction for each would take most of the time.
    let waiting: RecordedEvent[] = [];
    let delivered = this.#position;
    let failure: Error | undefined;
    let underWay: Promise<void> = Promise.resolve();
    // Reads the next events while one batch is applied, and no further.
    const applyWaiting = async () => {
      await underWay;
      if (failure) return;
      const [events, position] = [waiting, delivered];
      waiting = [];
      underWay = this.#apply(events, { position, target }).catch((error: unknown) => {
        failure = error instanceof Error ? error : new Error(String(error));
      });
    };
    const subscription = this.#dependencies.store.subscribe({
      name: `rebuild of ${this.#projection.name}`,
      streamPrefixes: this.#projection.streamPrefixes,
      from: () => Promise.resolve(delivered),
      apply: async ({ events, position }) => {
        if (failure || coveredUpTo(delivered) >= target) return;
        waiting.push(...events.filter((event) => event.position <= target));
        delivered = coveredUpTo(position) < target ? position : positionOfEvent(target);
        if (waiting.length >= maxTransactionEvents) await applyWaiting();
      },
    });
    try {
      // At the end of the log, only events of other streams are left below the target.
      while (!failure && coveredUpTo(delivered) < target && !subscription.caughtUp) {
        this.#dependencies.signal?.throwIfAborted();
        await sleep(5);
      }
    } finally {
      await subscription.close();
      await underWay;
    }
    delivered = positionOfEvent(target);
    await applyWaiting();
    await underWay;
    // The subscription alone would retry without end, but here a caller waits for the result.
    if (failure) throw failure;
  }

  async #apply(
    events: readonly RecordedEvent[],
    { position, target }: { position: LogPosition | undefined; target: bigint },
  ): Promise<void> {
    await inTransaction(this.#client, async () => {
      if (events.length > 0) await this.#applyEvents(events, this.#client);
    });
    this.events += events.length;
    this.#position = position;
    this.#dependencies.progress({ events: this.events, position: this.reached, target });
  }
}

/** The last step, during which the live runner waits: compares the tables and swaps them. */
async function replace(
  projection: RebuildableProjection,
  { replay, lock, dependencies }: { replay: Replay; lock: PoolClient; dependencies: RebuildDependencies },
): Promise<Rebuilt> {
  const { name, tables, corrected } = projection;
  const schema = shadowSchema(projection);
  // Creates the row to lock, in case no runner has begun yet.
  await lock.query('insert into checkpoints (name) values ($1) on conflict do nothing', [name]);
  return await inTransaction(lock, async () => {
    // Keeps a process that is suspended now, or has lost the log, from blocking the live runner.
    await lock.query(`set local idle_in_transaction_session_timeout = '${maxIdle}'`);
    // From here on the live runner waits, and its tables and checkpoint do not change.
    const before = standsFor(await lockCheckpoint(lock, name));
    const position = await targetOf(name, before, dependencies);
    await replay.upTo(position);
    const differences: TableDifference[] = [];
    for (const table of tables) differences.push(await compareTable({ name: table }, schema, lock));
    if (corrected) {
      const columns = [corrected.key, ...corrected.columns].filter((column) => column !== 'mac');
      differences.push(await compareTable({ name: corrected.name, columns }, schema, lock));
    }
    if (!(await lockTables(tables, lock))) {
      throw new RebuildRefused(`somebody reads ${tables.join(' or ')} and does not let go: nothing was swapped`);
    }
    for (const table of tables) await swapTable(table, schema, lock);
    if (position !== before) {
      await lock.query(
        `update checkpoints set position = nullif($2::numeric, 0), prepare_position = null, event_position = null
         where name = $1`,
        [name, position.toString()],
      );
    }
    // Last, because requests wait for the rows that it locks.
    if (corrected) await correctTable(corrected, schema, lock);
    await lock.query(`drop schema ${schema} cascade`);
    return { position, before, events: replay.events, tables: differences };
  });
}
