import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Pool } from 'pg';
import type { ProjectionObserver } from '../../src/ports/observers.ts';
import type { EventStore, LogBatch, Subscription } from '../../src/ports/event-store.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { checkpointAfter, checkpointValues, openCheckpoint, resumePosition } from './checkpoints.ts';
import type { Checkpoint } from './checkpoints.ts';
import type { Apply, Projection } from './projection.ts';

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
  const apply = projection.start({ store, macs });
  let checkpoint: Checkpoint | undefined;
  let isFirst = true;
  return store.subscribe({
    name: projection.name,
    streamPrefixes: projection.streamPrefixes,
    from: async () => {
      // The row is there before the first batch, so that a batch needs no more than to compare and set it.
      checkpoint = await openCheckpoint(pool, projection.name);
      const position = await resumePosition(store, projection.name, checkpoint);
      logger[isFirst ? 'info' : 'debug'](
        { projection: projection.name, position: position?.commit.toString() },
        'projection starts',
      );
      isFirst = false;
      return position;
    },
    apply: async (batch) => {
      const startedMs = performance.now();
      const next = checkpointAfter(checkpoint, batch);
      await applyBatch(projection.name, batch, { pool, apply, expected: checkpoint, next });
      checkpoint = next;
      observer?.batchApplied(projection.name, batch.events.length);
      // The first of a burst is applied at once; what comes right behind it is worth a short wait.
      if (batch.events.length < fullBatchEvents) await sleep(Math.max(0, paceMs - (performance.now() - startedMs)));
    },
  });
}

async function applyBatch(
  name: string,
  { events }: LogBatch,
  change: { pool: Pool; apply: Apply; expected: Checkpoint | undefined; next: Checkpoint },
): Promise<void> {
  const { pool, apply, expected, next } = change;
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('begin');
    // Before anything else is written, so that a second runner waits here and then gives way.
    const { rowCount } = await client.query(
      `update checkpoints
       set position = $3, prepare_position = $4, event_position = $5, applied_events = applied_events + $2
       where name = $1 and (position, prepare_position) is not distinct from ($6::numeric, $7::numeric)`,
      [name, events.length, ...checkpointValues(next), ...checkpointValues(expected).slice(0, 2)],
    );
    if (rowCount !== 1) throw new CheckpointMoved(`another projector has moved the checkpoint of ${name}`);
    if (events.length > 0) await apply(events, client);
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
