import type { Pool } from 'pg';
import type { Projection } from '../../projections/runner/projection.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import type { EventStore } from '../ports/event-store.ts';
import { PageRefusal } from './visit.ts';

const inForceMs = 5_000;

/** The change is in the log, and the read models are behind. @param message what is recorded, and what to do */
export const notYetInForce = (message: string): PageRefusal =>
  new PageRefusal(503, 'Recorded, but not yet in force', message);

/** Waits until a read model has what was changed. @throws {PageRefusal} while it is behind, with this message */
export async function untilInForce(
  { store, pool }: { store: EventStore; pool: Pool },
  model: Projection,
  message: string,
): Promise<void> {
  const isInForce = await catchUp({ store, pool }, model, inForceMs).catch(() => false);
  if (!isInForce) throw notYetInForce(message);
}
