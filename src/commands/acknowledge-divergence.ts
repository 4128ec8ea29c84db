import {
  type Acknowledgements,
  decideAcknowledgement,
  type DivergenceFacts,
  evolveAcknowledgements,
  initialAcknowledgements,
  nameOf,
} from '../domain/acknowledgements.ts';
import { acknowledgementsStream, type AuditEvent, type DivergenceAcknowledged } from '../domain/audit-events.ts';
import { parseAuditEvent, type ParsedEvent } from '../domain/parse-event.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Cause } from './handler/event-metadata.ts';
import { type Aggregate, handle } from './handler/handle-command.ts';

const acknowledgements: Aggregate<Acknowledgements, AuditEvent> = {
  stream: acknowledgementsStream,
  initial: () => initialAcknowledgements,
  parse: parseAuditEvent,
  evolve: evolveAcknowledgements,
};

/** All acknowledgements, the oldest first. @throws {EventStoreUnavailable} */
export async function listAcknowledgements(store: EventStore): Promise<ParsedEvent<AuditEvent>[]> {
  return (await store.read(acknowledgementsStream, 0)).map(parseAuditEvent);
}

interface Counted {
  /** Divergences that nobody has acknowledged, and those that somebody has. */
  unknown: number;
  known: number;
  divergences: readonly { acknowledged: boolean; facts: object }[];
}

/**
 * Acknowledgements count from the moment on in which they are recorded, and not only once the verification has looked again.
 *
 * @param counted as the verification has written it
 */
export async function countAcknowledged(
  store: EventStore,
  { unknown, known, divergences }: Counted,
): Promise<Pick<Counted, 'unknown' | 'known'>> {
  if (divergences.length === 0) return { unknown, known };
  const names = new Set((await listAcknowledgements(store)).map(({ event: { data } }) => nameOf(data)));
  const change = divergences.reduce(
    (sum, { acknowledged, facts }) => sum + Number(names.has(nameOf(facts as DivergenceFacts))) - Number(acknowledged),
    0,
  );
  return { unknown: Math.max(0, unknown - change), known: Math.max(0, known + change) };
}

/** Records once that a divergence was examined. @returns whether this command has recorded it */
export async function acknowledgeDivergence(
  { store, now }: { store: EventStore; now: () => string },
  { divergence, cause, timeoutMs }: { divergence: DivergenceAcknowledged; cause: Cause; timeoutMs: number },
): Promise<boolean> {
  const handled = await handle(store, acknowledgements, {
    decide: (state) => decideAcknowledgement(state, divergence),
    cause,
    now,
    timeoutMs,
  });
  return 'events' in handled && handled.events.length > 0;
}
