import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { EventStore } from '../../src/ports/event-store.ts';
import { coveredUpTo } from '../../src/ports/log-position.ts';
import { readCheckpoint, readReached } from './checkpoints.ts';
import type { Projection } from './projection.ts';

/** How far the read models are, seen from outside their runners. */

const lookAgainMs = 20;

/**
 * Waits until a read model stands for a commit position of the log.
 *
 * @returns what it stands for in the end, which is less if that takes longer than `timeoutMs`; 0 before its first event
 */
export async function waitForCheckpoint(
  pool: Pool,
  name: string,
  { position, timeoutMs }: { position: bigint; timeoutMs: number },
): Promise<bigint> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const reached = await readReached(pool, name);
    if (reached >= position || performance.now() >= deadlineMs) return reached;
    await sleep(lookAgainMs);
  }
}

/** Waits until a read model holds everything that concerns it and is in the log now. @returns whether it does */
export async function catchUp(
  { store, pool }: { store: EventStore; pool: Pool },
  { name, streamPrefixes }: Projection,
  timeoutMs: number,
): Promise<boolean> {
  const reached = await readReached(pool, name);
  // Not the head itself: a checkpoint follows events of other streams late, or not at all.
  const newest = await store.newestPosition(streamPrefixes, reached);
  if (newest === undefined) return true;
  return (await waitForCheckpoint(pool, name, { position: newest, timeoutMs })) >= newest;
}

export interface ProjectionProgress {
  name: string;
  /** Commit position that the read model stands for; undefined before its first event. */
  position: bigint | undefined;
  /** Positions of the log between the read model and the newest event that concerns it; 0 for one that has caught up. */
  lag: bigint;
  eventsPerSecond: number;
}

/** Where a read model stands, and how far the newest event that concerns it is ahead of that. */
export async function measureLag(
  { store, pool }: { store: EventStore; pool: Pool },
  { name, streamPrefixes }: Pick<Projection, 'name' | 'streamPrefixes'>,
): Promise<Pick<ProjectionProgress, 'position' | 'lag'>> {
  const position = (await readCheckpoint(pool, name))?.position;
  const reached = coveredUpTo(position);
  const newest = await store.newestPosition(streamPrefixes, reached);
  return { position: position?.commit, lag: newest === undefined ? 0n : newest - reached };
}

/**
 * Looks twice, `intervalMs` apart.
 *
 * @returns the log's head, and where each read model stood at the second look
 */
export async function measureProgress(
  { store, pool }: { store: EventStore; pool: Pool },
  projections: readonly Projection[],
  intervalMs: number,
): Promise<{ head: bigint | undefined; projections: ProjectionProgress[] }> {
  const appliedBefore = await readApplied(pool);
  const startedMs = performance.now();
  await sleep(intervalMs);
  const appliedAfter = await readApplied(pool);
  const seconds = (performance.now() - startedMs) / 1000;
  const measured = projections.map(async ({ name, streamPrefixes }): Promise<ProjectionProgress> => {
    const { position, lag } = await measureLag({ store, pool }, { name, streamPrefixes });
    const applied = (appliedAfter.get(name) ?? 0) - (appliedBefore.get(name) ?? 0);
    return { name, position, lag, eventsPerSecond: applied / seconds };
  });
  return { head: await store.headPosition(), projections: await Promise.all(measured) };
}

async function readApplied(pool: Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; applied: number }>(
    'select name, applied_events::float8 as applied from checkpoints',
  );
  return new Map(rows.map(({ name, applied }) => [name, applied]));
}
