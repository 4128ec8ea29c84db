import type { Pool } from 'pg';
import { type EventStore, type LogPosition, LogReplaced, ReaderRefused } from '../../src/ports/event-store.ts';
import { isPosition, positionOfEvent } from '../../src/ports/log-position.ts';
import { type Checkpoint, openCheckpoint, readCheckpoints } from './checkpoints.ts';
import { admitReader, refuseReader } from './refused-readers.ts';

/**
 * A reader may go on from its checkpoint if the log has the events that it has taken. In a log that was replaced by an older one,
 * it would skip what was written since, up to its old place.
 */

/**
 * Opens the checkpoint of a reader that begins. If the log was replaced, that is recorded for all processes of the installation,
 * until the reader goes on.
 *
 * @returns the checkpoint, and the position to go on from
 * @throws {ReaderRefused}
 */
export async function resume(
  { pool, store }: { pool: Pool; store: EventStore },
  name: string,
): Promise<{ checkpoint: Checkpoint | undefined; position: LogPosition | undefined }> {
  const checkpoint = await openCheckpoint(pool, name);
  try {
    const position = await resumePosition(store, name, checkpoint);
    await admitReader(pool, name);
    return { checkpoint, position };
  } catch (error) {
    if (error instanceof LogReplaced) await refuseReader(pool, { name, checkpoint }, error);
    throw error;
  }
}

/**
 * Finds out for all readers whether the log was replaced, and records it, so that nothing is admitted before the readers
 * themselves have begun.
 */
export async function recordRefusals(
  { pool, store }: { pool: Pool; store: EventStore },
  names: readonly string[],
): Promise<void> {
  const checkpoints = await readCheckpoints(pool);
  const recording = names.map(async (name) => {
    const checkpoint = checkpoints.get(name);
    const refusal = await refusalOf(store, name, checkpoint);
    if (refusal instanceof LogReplaced) await refuseReader(pool, { name, checkpoint }, refusal);
  });
  await Promise.all(recording);
}

/** Why a reader may not go on from its checkpoint in this log; undefined if it may. @throws {EventStoreUnavailable} */
export async function refusalOf(
  store: Pick<EventStore, 'read' | 'headPosition'>,
  name: string,
  checkpoint: Checkpoint | undefined,
): Promise<ReaderRefused | undefined> {
  try {
    await resumePosition(store, name, checkpoint);
    return undefined;
  } catch (error) {
    if (error instanceof ReaderRefused) return error;
    throw error;
  }
}

/**
 * A position after the last record cannot be told from one of a replaced log. Until the log has an event there, the reader goes
 * on from the newest event that it knows: between the two there was no event for it.
 *
 * @throws {ReaderRefused} @throws {LogReplaced} if the log has lost events that the reader has taken
 */
export async function resumePosition(
  store: Pick<EventStore, 'read' | 'headPosition'>,
  name: string,
  checkpoint: Checkpoint | undefined,
): Promise<LogPosition | undefined> {
  if (!checkpoint) return undefined;
  const { position, eventPosition, seen } = checkpoint;
  if (!isPosition(position)) {
    throw new ReaderRefused(
      `the checkpoint of ${name} (${String(position.commit)}) is no position of a log, although events were ` +
        `applied: "projections rebuild ${name} --from-older-log" makes the read model anew`,
    );
  }
  const head = await store.headPosition();
  const replaced = (finding: string) =>
    new LogReplaced(
      `${finding}: the log was replaced by an older one; "projections rebuild all --from-older-log" makes the read models anew from it`,
      head,
    );
  const newest = seen?.position ?? eventPosition;
  if (newest !== undefined && (head ?? -1n) < newest)
    throw replaced(`the checkpoint of ${name} (${String(newest)}) is ahead of the log (${String(head ?? 'empty')})`);
  if (seen) {
    const [found] = await store.read(seen.stream, seen.revision, 1);
    if (found?.id !== seen.id || found.position !== seen.position)
      throw replaced(`the log does not have the event of the checkpoint of ${name} (${String(seen.position)})`);
  }
  if ((head ?? -1n) >= position.commit) return position;
  // An earlier version that has run since has taken events, and noted none of them.
  const from = eventPosition !== undefined && eventPosition <= (head ?? -1n) ? eventPosition : newest;
  return from === undefined ? undefined : positionOfEvent(from);
}
