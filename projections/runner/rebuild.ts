import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { coveredUpTo, positionOfEvent } from '../../src/ports/log-position.ts';
import type { EventStore, LogPosition, RecordedEvent } from '../../src/ports/event-store.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { lockCheckpoint, readCheckpoint } from './checkpoints.ts';
import type { Checkpoint } from './checkpoints.ts';
import { createMissingTables } from './missing-tables.ts';
import {
  compareTable,
  constrainShadowTable,
  correctTable,
  createShadowTable,
  indexShadowTable,
  lockTables,
  swapTable,
} from './rebuild-tables.ts';
import type { TableDifference } from './rebuild-tables.ts';
import { tablesOf } from './projection.ts';
import type { Apply, Projection, RebuildableProjection } from './projection.ts';
import { inTransaction } from './transaction.ts';

export interface RebuildDependencies {
  store: EventStore;
  /** Its queries must be allowed to take as long as a comparison of whole tables. */
  pool: Pool;
  macs: RowMacs;
  /** Told after every batch how far the replay is. */
  progress: (progress: RebuildProgress) => void;
  /**
   * Whether the end of a log that is older than the read model will do: what had been shown beyond it is given up, and the
   * runner, which refuses to run until then, goes on from there.
   */
  fromOlderLog?: boolean;
  /** Gives up, with the live read model as it was. */
  signal?: AbortSignal;
}

export interface RebuildProgress {
  events: number;
  position: bigint;
  /** Where the live read model stands, and the replay will end. */
  target: bigint;
}

export interface Rebuilt {
  /** Commit position of the log that the new tables stand for. */
  position: bigint;
  /** The one that the live read model stood for; beyond `position` only if the log was older. */
  before: bigint;
  events: number;
  tables: TableDifference[];
}

/** The read model cannot be rebuilt now; the live one is as it was. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

/** A replay is always a little behind; after so many rounds the live runner waits for the rest of it. */
const maxRounds = 10;
const maxTransactionEvents = 1_000;
/** How long Postgres waits, in the last step, for this process to go on. */
const maxIdle = '20s';
const closeEnoughPositions = 2_000n;

/**
 * Rebuilds a read model beside the live one: the log is replayed into tables of the same names in a schema of their own,
 * which the projection finds through the search path; they are compared with the live ones and take their place. The live
 * runner goes on until the end. Then its checkpoint is held for a moment, the replay goes on to exactly there, and tables
 * that stand for the same point of the log are compared and swapped in one transaction: the runner goes on from there.
 *
 * @throws {RebuildRefused} and other errors; the live read model is then as it was
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
    // What came while the indexes were made is not left for the last step, in which the live runner waits.
    ahead = await target();
    await followUp();
    return await replace(projection, { replay, lock, dependencies });
  } finally {
    // The end of a session frees its lock too, but some time later: whoever comes next would be refused.
    await lock.query('select pg_advisory_unlock_all()').catch(() => undefined);
    // Ends the sessions: with them the search path, and whatever a failure left open.
    shadow.release(true);
    lock.release(true);
  }
}

/** The shadow's tables in their schema; it is also where a rebuild that was killed has left its own. */
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
  // Nobody misses the shadow's rows after a crash, and the swap's own commit brings them all to the disk.
  await shadow.query('set synchronous_commit = off');
  await shadow.query(`select set_config('search_path', '${schema}, ' || current_setting('search_path'), false)`);
}

/**
 * The position of an event at which a read model's rows are those of its checkpoint: of a checkpoint that lies behind all
 * events nobody can tell whether the log still has what was before it.
 */
const standsFor = (checkpoint: Checkpoint | undefined): bigint => checkpoint?.eventPosition ?? 0n;

/**
 * Where the replay has to end: where the live read model stands, so that both can be compared.
 *
 * @throws {RebuildRefused} where the log ends before that: the read model would go back in time
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

  /** Commit position up to which everything has been applied. */
  get reached(): bigint {
    return coveredUpTo(this.#position);
  }

  /** Applies everything up to exactly this commit position, which the log has reached. */
  async upTo(target: bigint): Promise<void> {
    if (target <= this.reached) return;
    // Deliveries are small where the log is read faster than it comes; a transaction for each would take most of the time.
    let waiting: RecordedEvent[] = [];
    let delivered = this.#position;
    let failure: Error | undefined;
    let underWay: Promise<void> = Promise.resolve();
    // The next events are read while a batch is being applied, and no more than that.
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
      // What is left below the target when the end of the log is reached are events of other streams.
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
    // The subscription would have tried again for ever; here, somebody waits to be told.
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

/** The last step: the live runner waits until the new tables have taken the place of its own. */
async function replace(
  projection: RebuildableProjection,
  { replay, lock, dependencies }: { replay: Replay; lock: PoolClient; dependencies: RebuildDependencies },
): Promise<Rebuilt> {
  const { name, tables, corrected } = projection;
  const schema = shadowSchema(projection);
  // There is a row to lock, also before the first runner has begun.
  await lock.query('insert into checkpoints (name) values ($1) on conflict do nothing', [name]);
  return await inTransaction(lock, async () => {
    // A process that is suspended now, or has lost the log, must not hold up the live runner for ever.
    await lock.query(`set local idle_in_transaction_session_timeout = '${maxIdle}'`);
    // From here on the live runner waits, so that its tables and checkpoint stand still.
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
    // Last, since requests wait for the rows that it locks.
    if (corrected) await correctTable(corrected, schema, lock);
    await lock.query(`drop schema ${schema} cascade`);
    return { position, before, events: replay.events, tables: differences };
  });
}
