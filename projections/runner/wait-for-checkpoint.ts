import type { Pool } from 'pg';
import { sleep } from '../../src/async/sleep.ts';
import { type EventStore, ReaderRefused } from '../../src/ports/event-store.ts';
import { coveredUpTo } from '../../src/ports/log-position.ts';
import {
  dispatchCheckpoint,
  reachedOf,
  type ReachedRow,
  reachedSql,
  readCheckpoint,
  readCheckpoints,
  readReached,
} from './checkpoints.ts';
import type { Projection } from './projection.ts';
import { readRefusal } from './refused-readers.ts';
import { refusalOf, resumePosition } from './resume.ts';

/** The progress of the read models, seen from outside their runners. */

const pollMs = 20;

/**
 * Waits until a read model has reached a commit position of the log.
 *
 * @returns the position that it has reached, which is smaller after `timeoutMs`; 0 before its first event
 * @throws {ReaderRefused} if its position is of another log, or it is refused meanwhile
 */
export async function waitForCheckpoint(
  { store, pool }: { store: EventStore; pool: Pool },
  name: string,
  { position, timeoutMs }: { position: bigint; timeoutMs: number },
): Promise<bigint> {
  const deadlineMs = performance.now() + timeoutMs;
  await resumePosition(store, name, await readCheckpoint(pool, name));
  for (;;) {
    const refusal = await readRefusal(pool, name);
    if (refusal !== undefined) throw new ReaderRefused(refusal);
    const reached = await readReached(pool, name);
    if (reached >= position || performance.now() >= deadlineMs) return reached;
    await sleep(pollMs);
  }
}

/**
 * Waits until a read model has applied all of its events that are in the log now.
 *
 * @returns whether it has
 * @throws {ReaderRefused} see `waitForCheckpoint`
 */
export async function catchUp(
  { store, pool }: { store: EventStore; pool: Pool },
  { name, streamPrefixes }: Projection,
  timeoutMs: number,
): Promise<boolean> {
  const reached = await readReached(pool, name);
  // The head itself will not do: a checkpoint follows events of other streams late, or not at all.
  const [newest = 0n] = await store.newestPositions([{ streamPrefixes, after: reached }]);
  return (await waitForCheckpoint({ store, pool }, name, { position: newest, timeoutMs })) >= newest;
}

/** The position of a read model, and the distance to the newest of its events. */
export async function measureLag(
  { store, pool }: { store: EventStore; pool: Pool },
  { name, streamPrefixes }: Pick<Projection, 'name' | 'streamPrefixes'>,
) {
  const position = (await readCheckpoint(pool, name))?.position;
  const reached = coveredUpTo(position);
  const [newest] = await store.newestPositions([{ streamPrefixes, after: reached }]);
  return {
    /** Commit position that the read model has reached; undefined before its first event. */
    position: position?.commit,
    /** Positions of the log between the read model and its newest event; 0 if it has caught up. */
    lag: newest === undefined ? 0n : newest - reached,
  };
}

/**
 * The lag of several read models, in one pass over the newest `maxEvents` events of the log. One that has no event among them is
 * measured by the newest that an earlier call has seen: else one that is stuck would seem to be none once others have written
 * enough. It is left out if nothing is known of its events after its checkpoint.
 *
 * @param newestKnown the newest event that was seen for each read model; kept from call to call
 */
export async function measureLags(
  { store, pool }: { store: EventStore; pool: Pool },
  projections: readonly Pick<Projection, 'name' | 'streamPrefixes'>[],
  { maxEvents, newestKnown }: { maxEvents: number; newestKnown: Map<string, bigint> },
): Promise<{ name: string; lag: bigint }[]> {
  const { rows } = await pool.query<ReachedRow>(reachedSql);
  const reached = reachedOf(rows);
  const asked = projections.map(({ name, streamPrefixes }) => ({
    name,
    streamPrefixes,
    after: reached.get(name) ?? 0n,
  }));
  const newest = await store.newestPositionsWithin(maxEvents, asked);
  return asked.flatMap(({ name, after }, index) => {
    const position = newest[index] ?? after;
    if (position !== 'further_back') {
      newestKnown.set(name, position);
      return { name, lag: position - after };
    }
    const lag = (newestKnown.get(name) ?? after) - after;
    return lag > 0n ? { name, lag } : [];
  });
}

/**
 * Reads the positions twice, `intervalMs` apart.
 *
 * @returns the log's head, the position of each read model at the second read, and why the dispatcher does not go on, if so
 */
export async function measureProgress(
  { store, pool }: { store: EventStore; pool: Pool },
  projections: readonly Projection[],
  intervalMs: number,
) {
  const appliedBefore = await readApplied(pool);
  const startedMs = performance.now();
  await sleep(intervalMs);
  const appliedAfter = await readApplied(pool);
  const seconds = (performance.now() - startedMs) / 1000;
  const checkpoints = await readCheckpoints(pool);
  const refusalNow = async (name: string) => (await refusalOf(store, name, checkpoints.get(name)))?.message;
  const measured = projections.map(async ({ name, streamPrefixes }) => {
    const { position, lag } = await measureLag({ store, pool }, { name, streamPrefixes });
    const applied = (appliedAfter.get(name) ?? 0) - (appliedBefore.get(name) ?? 0);
    // Why it does not go on, because the log does not have what it has read: its lag says nothing then.
    const refusal = await refusalNow(name);
    return { name, position, lag, eventsPerSecond: applied / seconds, refusal };
  });
  return {
    head: await store.headPosition(),
    projections: await Promise.all(measured),
    dispatchRefusal: await refusalNow(dispatchCheckpoint),
  };
}

async function readApplied(pool: Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; applied: number }>(
    'select name, applied_events::float8 as applied from checkpoints',
  );
  return new Map(rows.map(({ name, applied }) => [name, applied]));
}
