import type { Pool } from 'pg';
import type { LogBatch, LogPosition, RecordedEvent } from '../../src/ports/event-store.ts';
import { isAfter, positionOfEvent } from '../../src/ports/log-position.ts';
import { type Checkpoint, checkpointAfter, moveCheckpoints } from './checkpoints.ts';
import type { Apply, Projection } from './projection.ts';
import { inPoolTransaction } from './transaction.ts';

/** A read model, and how far it has followed the log. */
export interface RunningProjection {
  projection: Projection;
  apply: Apply;
  checkpoint: Checkpoint | undefined;
  /** It has taken everything up to here. */
  position: LogPosition | undefined;
}

/** Another projector, or a rebuild, holds or has moved the checkpoint: events that it applied must not be applied again. */
class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
}

/**
 * Applies a batch to read models in one transaction, which also moves their checkpoints.
 *
 * @returns the number of events that each of them has taken; those whose checkpoint somebody holds or has moved are missing, and
 *   nothing was applied to them: no read model waits for the lock of another
 * @throws {CheckpointMoved} if none of them could take it
 */
export async function applyBatch(
  pool: Pool,
  projections: readonly RunningProjection[],
  batch: LogBatch,
): Promise<Map<RunningProjection, number>> {
  const moves = projections.map((running) => ({
    running,
    name: running.projection.name,
    before: running.checkpoint,
    after: checkpointAfter(running.checkpoint, batch),
    events: eventsFor(running.projection, batch.events, running.position),
  }));
  const taken = await inPoolTransaction(pool, async (client) => {
    // Comes before any other write, so that a second runner gives way here.
    const names = await moveCheckpoints(client, moves);
    if (names.size === 0)
      throw new CheckpointMoved(
        `somebody else holds or has moved the checkpoint of ${moves.map(({ name }) => name).join(', ')}`,
      );
    const own = moves.filter(({ name }) => names.has(name));
    for (const { running, events } of own) if (events.length > 0) await running.apply(events, client);
    return own;
  });
  for (const { running, after } of taken) {
    running.checkpoint = after;
    running.position = batch.position;
  }
  return new Map(taken.map(({ running, events }) => [running, events.length]));
}

/** Those of the events that a read model takes. @param events in order @param position up to which it has taken everything */
export function eventsFor(
  { streamPrefixes }: Pick<Projection, 'streamPrefixes'>,
  events: readonly RecordedEvent[],
  position: LogPosition | undefined,
): RecordedEvent[] {
  const first = events.findIndex((event) => isAfter(positionOfEvent(event.position), position));
  if (first === -1) return [];
  return events.slice(first).filter(({ stream }) => streamPrefixes.some((prefix) => stream.startsWith(prefix)));
}
