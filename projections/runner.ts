import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import type { Logger } from 'pino';
import type { Pool } from 'pg';
import type { ProjectionObserver } from '../src/commands/observers.ts';
import type { EventStore, LogBatch, RecordedEvent, RowMacs, Subscription } from '../src/commands/ports.ts';
import { CreditsRows } from './credits.ts';

/** A read model (or several that stand for the same point of the log) and how events change it. */
export interface Projection {
  name: string;
  streamPrefixes: readonly string[];
  /** Applies events, in order, within the transaction that also moves the checkpoint. */
  apply: (events: readonly RecordedEvent[], client: PoolClient, tools: ProjectionTools) => Promise<void>;
}

/** What applying events needs besides them: one for each run over the log. */
export interface ProjectionTools {
  macs: RowMacs;
  credits: CreditsRows;
}

export const toolsOf = ({ store, macs }: { store: Pick<EventStore, 'read'>; macs: RowMacs }): ProjectionTools => ({
  macs,
  credits: new CreditsRows({ store, macs }),
});

export interface RunnerDependencies {
  store: EventStore;
  pool: Pool;
  macs: RowMacs;
  logger: Logger;
  observer?: ProjectionObserver;
}

/** Another projector has moved the checkpoint on: what it applied must not be applied again. */
class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
}

/**
 * A batch costs about the same whatever its size, so that small ones follow one another no faster than this: under load it
 * halves what the read models cost, and a read model is never later by more.
 */
const paceMs = 20;
const fullBatchEvents = 100;

/**
 * Keeps a read model up to date: batches in order, each in one transaction with its checkpoint. The checkpoint is compared
 * and set, so that two runners may overlap and every event is still applied exactly once.
 */
export function runProjection(
  projection: Projection,
  { store, pool, macs, logger, observer }: RunnerDependencies,
): Subscription {
  const tools = toolsOf({ store, macs });
  let position: bigint | undefined;
  return store.subscribe({
    name: projection.name,
    streamPrefixes: projection.streamPrefixes,
    from: async () => {
      // The row is there before the first batch, so that a batch needs no more than to compare and set it.
      await pool.query('insert into checkpoints (name) values ($1) on conflict do nothing', [projection.name]);
      position = await readCheckpoint(pool, projection.name);
      await refuseCheckpointAheadOfLog(store, { name: projection.name, position });
      logger.info({ projection: projection.name, position: position?.toString() }, 'projection starts');
      return position;
    },
    apply: async (batch) => {
      const startedMs = performance.now();
      await applyBatch(projection, batch, { pool, tools, expected: position });
      position = batch.position;
      observer?.batchApplied(projection.name, batch.events.length);
      // The first of a burst is applied at once; what comes right behind it is worth a short wait.
      if (batch.events.length < fullBatchEvents) await sleep(Math.max(0, paceMs - (performance.now() - startedMs)));
    },
  });
}

/** @returns the commit position that a read model stands for; undefined before its first event */
export async function readCheckpoint(pool: Pool, name: string): Promise<bigint | undefined> {
  const { rows } = await pool.query<{ position: string | null }>('select position from checkpoints where name = $1', [
    name,
  ]);
  const position = rows[0]?.position;
  return position === null || position === undefined ? undefined : BigInt(position);
}

/** Name of the checkpoint of the dispatcher, which keeps no read model. */
export const dispatchCheckpoint = 'dispatch';

/** Not compared: for readers of the log that may repeat themselves. */
export async function writeCheckpoint(pool: Pool, name: string, position: bigint): Promise<void> {
  await pool.query(
    'insert into checkpoints values ($1, $2) on conflict (name) do update set position = excluded.position',
    [name, position.toString()],
  );
}

async function applyBatch(
  projection: Projection,
  { events, position }: LogBatch,
  { pool, tools, expected }: { pool: Pool; tools: ProjectionTools; expected: bigint | undefined },
): Promise<void> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('begin');
    // Before anything else is written, so that a second runner waits here and then gives way.
    const { rowCount } = await client.query(
      `update checkpoints set position = $2, applied_events = applied_events + $3
       where name = $1 and position is not distinct from $4`,
      [projection.name, position.toString(), events.length, expected?.toString() ?? null],
    );
    if (rowCount !== 1) throw new CheckpointMoved(`another projector has moved the checkpoint of ${projection.name}`);
    if (events.length > 0) await projection.apply(events, client, tools);
    await client.query('commit');
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    await client.query('rollback').catch(() => undefined);
    throw failure;
  } finally {
    // A connection that failed may be broken: it is not given back for others to find out.
    client.release(failure && !(failure instanceof CheckpointMoved) ? failure : undefined);
  }
}

/** A restored backup of the log would otherwise be read from a position it has not reached, and events be skipped. */
export async function refuseCheckpointAheadOfLog(
  store: EventStore,
  { name, position }: { name: string; position: bigint | undefined },
): Promise<void> {
  if (position === undefined) return;
  const head = await store.headPosition();
  if (head === undefined || head < position) {
    throw new Error(
      `the checkpoint of ${name} (${String(position)}) is ahead of the log (${String(head ?? 'empty')}): ` +
        'the log was replaced by an older one; "projections rebuild all --from-older-log" makes the read models anew from it',
    );
  }
}
