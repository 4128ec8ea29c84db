import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import type { EventStore, RecordedEvent } from '../src/commands/ports.ts';
import { readCheckpoint } from './runner.ts';
import type { Projection } from './runner.ts';

/**
 * A read model is rebuilt beside the live one: the log is replayed into tables of the same names in a schema of their own,
 * which the projection finds through the search path; they are compared with the live ones and take their place. The live
 * runner goes on until the end. Then its checkpoint is held for a moment, the replay goes on to exactly there, and tables
 * that stand for the same point of the log are compared and swapped in one transaction: the runner notices nothing.
 */
export interface RebuildableProjection extends Projection {
  /** All that `apply` writes to. They are swapped, so that nothing may live in them that is not in the log. */
  tables: readonly string[];
}

export interface RebuildDependencies {
  store: EventStore;
  /** Its queries must be allowed to take as long as a comparison of whole tables. */
  pool: Pool;
  /** Told after every batch how far the replay is. */
  progress: (progress: RebuildProgress) => void;
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
  events: number;
  tables: { name: string; rows: number; missing: number; surplus: number }[];
}

/** The read model cannot be rebuilt now; the live one is as it was. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

/** A replay is always a little behind; after so many rounds the live runner waits for the rest of it. */
const maxRounds = 10;
const maxTransactionEvents = 1_000;
const closeEnoughPositions = 2_000n;
/** Whoever reads a live table for so long keeps the swap, and all readers behind it, waiting: it is then given up. */
const lockTimeout = '5s';

/** @throws {RebuildRefused} and other errors; the live read model is then as it was */
export async function rebuild(projection: RebuildableProjection, dependencies: RebuildDependencies): Promise<Rebuilt> {
  const { store, pool } = dependencies;
  const lock = await pool.connect();
  const shadow = await pool.connect();
  try {
    const { rows } = await lock.query<{ alone: boolean }>('select pg_try_advisory_lock(hashtext($1)) as alone', [
      `rebuild ${projection.name}`,
    ]);
    if (rows[0]?.alone !== true) throw new RebuildRefused(`another rebuild of ${projection.name} is under way`);
    await refuseOlderLog(store, pool, projection.name);
    await createShadow(projection, lock, shadow);
    const replay = new Replay(projection, dependencies, shadow);
    for (let round = 1; round <= maxRounds; round += 1) {
      await replay.upTo((await readCheckpoint(pool, projection.name)) ?? 0n);
      const ahead = ((await readCheckpoint(pool, projection.name)) ?? 0n) - replay.position;
      if (ahead <= closeEnoughPositions) break;
    }
    const tables = await swap(projection, replay, lock);
    return { position: replay.position, events: replay.events, tables };
  } finally {
    // The end of a session frees its lock too, but some time later: whoever comes next would be refused.
    await lock.query('rollback').catch(() => undefined);
    await lock.query('select pg_advisory_unlock_all()').catch(() => undefined);
    // Ends the sessions: with them the search path, and whatever a failure left open.
    shadow.release(true);
    lock.release(true);
  }
}

/** The shadow's tables in their schema; it is also where a rebuild that was killed has left its own. */
const shadowSchema = ({ name }: Projection) => `rebuild_${name}`;

async function createShadow(projection: RebuildableProjection, lock: PoolClient, shadow: PoolClient): Promise<void> {
  const schema = shadowSchema(projection);
  await lock.query(`drop schema if exists ${schema} cascade; create schema ${schema}`);
  for (const table of projection.tables) {
    await lock.query(`create table ${schema}.${table} (like ${table} including all)`);
  }
  // Nobody misses the shadow's rows after a crash, and the swap's own commit brings them all to the disk.
  await shadow.query('set synchronous_commit = off');
  await shadow.query(`select set_config('search_path', '${schema}, ' || current_setting('search_path'), false)`);
}

/** Nothing of the log would be read that the live read model already has: it would go back in time. */
async function refuseOlderLog(store: EventStore, pool: Pool, name: string): Promise<void> {
  const checkpoint = (await readCheckpoint(pool, name)) ?? 0n;
  const head = (await store.headPosition()) ?? 0n;
  if (head < checkpoint) {
    throw new RebuildRefused(
      `${name} stands for position ${String(checkpoint)}, beyond the end of the log (${String(head)}): the log was ` +
        'replaced by an older one, and a rebuild would take back what this read model has already shown',
    );
  }
}

class Replay {
  readonly #projection: Projection;
  readonly #dependencies: RebuildDependencies;
  readonly #client: PoolClient;
  position = 0n;
  events = 0;

  constructor(projection: Projection, dependencies: RebuildDependencies, client: PoolClient) {
    this.#projection = projection;
    this.#dependencies = dependencies;
    this.#client = client;
  }

  /** Applies everything up to exactly this commit position, which the log has reached. */
  async upTo(target: bigint): Promise<void> {
    if (target <= this.position) return;
    // Deliveries are small where the log is read faster than it comes; a transaction for each would take most of the time.
    let waiting: RecordedEvent[] = [];
    let delivered = this.position;
    let failure: Error | undefined;
    const applyWaiting = async () => {
      const events = waiting;
      waiting = [];
      await this.#apply(events, { position: delivered, target });
    };
    const subscription = this.#dependencies.store.subscribe({
      name: `rebuild of ${this.#projection.name}`,
      streamPrefixes: this.#projection.streamPrefixes,
      from: async () => (delivered === 0n ? undefined : delivered),
      apply: async ({ events, position }) => {
        if (failure || delivered >= target) return;
        waiting.push(...events.filter((event) => event.position <= target));
        delivered = position < target ? position : target;
        if (waiting.length < maxTransactionEvents) return;
        // The subscription would try again for ever; here, somebody waits to be told.
        await applyWaiting().catch((error: unknown) => {
          failure = error instanceof Error ? error : new Error(String(error));
        });
      },
    });
    try {
      // What is left below the target when the end of the log is reached are events of other streams.
      while (!failure && delivered < target && !subscription.caughtUp) await sleep(5);
    } finally {
      await subscription.close();
    }
    if (failure) throw failure;
    delivered = target;
    await applyWaiting();
  }

  async #apply(
    events: readonly RecordedEvent[],
    { position, target }: { position: bigint; target: bigint },
  ): Promise<void> {
    await this.#client.query('begin');
    if (events.length > 0) await this.#projection.apply(events, this.#client);
    await this.#client.query('commit');
    this.events += events.length;
    this.position = position;
    this.#dependencies.progress({ events: this.events, position, target });
  }
}

async function swap(projection: RebuildableProjection, replay: Replay, lock: PoolClient): Promise<Rebuilt['tables']> {
  const schema = shadowSchema(projection);
  await lock.query('begin');
  // From here on the live runner waits, so that its tables and checkpoint stand still.
  const { rows } = await lock.query<{ position: string | null }>(
    'select position from checkpoints where name = $1 for update',
    [projection.name],
  );
  await replay.upTo(BigInt(rows[0]?.position ?? 0));
  const compared = [];
  for (const table of projection.tables) compared.push(await compare(table, schema, lock));
  const home = await lock.query<{ name: string }>('select quote_ident(current_schema()) as name');
  await lock.query(`set local lock_timeout = '${lockTimeout}'`);
  for (const table of projection.tables) {
    await lock.query(`drop table ${table}; alter table ${schema}.${table} set schema ${home.rows[0]?.name ?? ''}`);
  }
  await lock.query(`drop schema ${schema}`);
  await lock.query('commit');
  return compared;
}

/** Whole rows, as text: also columns of a type that knows no equality are compared. */
async function compare(table: string, schema: string, client: PoolClient): Promise<Rebuilt['tables'][number]> {
  const { rows } = await client.query<{ rows: number; missing: number; surplus: number }>(
    `select
       (select count(*)::int from ${schema}.${table}) as rows,
       (select count(*)::int
        from (select s::text from ${schema}.${table} s except all select l::text from ${table} l) missing) as missing,
       (select count(*)::int
        from (select l::text from ${table} l except all select s::text from ${schema}.${table} s) surplus) as surplus`,
  );
  return { name: table, rows: 0, missing: 0, surplus: 0, ...rows[0] };
}
