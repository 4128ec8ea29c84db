import { sleep } from '../../src/async/sleep.ts';
import type { Logger } from 'pino';
import type { Pool } from 'pg';
import type { ProjectionObserver } from '../../src/ports/observers.ts';
import type { EventStore, LogBatch, Subscription } from '../../src/ports/event-store.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { checkpointAfter, checkpointValues, openCheckpoint, resumePosition } from './checkpoints.ts';
import type { Checkpoint } from './checkpoints.ts';
import type { Apply, Projection } from './projection.ts';
import { inPoolTransaction } from './transaction.ts';

export interface RunnerDependencies {
  store: EventStore;
  pool: Pool;
  macs: RowMacs;
  logger: Logger;
  observer?: ProjectionObserver;
}

/** Another projector has moved the checkpoint: the events that it applied must not be applied again. */
class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
}

/**
 * The least time between two small batches. A batch costs about the same whatever its size: under load this halves the cost of
 * the read models, and a row is late by no more than this time.
 */
const paceMs = 20;
const fullBatchEvents = 100;

/**
 * Keeps a read model up to date: applies batches in order, each in one transaction with its checkpoint. The checkpoint is
 * compared and set, so two runners may overlap and every event is still applied exactly once.
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
      // Creates the row before the first batch, so a batch only compares and sets it.
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
      // The first batch of a burst is applied at once, and the next one collects what follows.
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
  await inPoolTransaction(pool, async (client) => {
    // Comes before any other write, so that a second runner waits here and then gives way.
    const { rowCount } = await client.query(
      `update checkpoints
       set position = $3, prepare_position = $4, event_position = $5, applied_events = applied_events + $2
       where name = $1 and (position, prepare_position) is not distinct from ($6::numeric, $7::numeric)`,
      [name, events.length, ...checkpointValues(next), ...checkpointValues(expected).slice(0, 2)],
    );
    if (rowCount !== 1) throw new CheckpointMoved(`another projector has moved the checkpoint of ${name}`);
    if (events.length > 0) await apply(events, client);
  });
}
