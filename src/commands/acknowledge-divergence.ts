import { decideAcknowledgement, evolveAcknowledgements, initialAcknowledgements } from '../domain/acknowledgements.ts';
import type { Acknowledgements } from '../domain/acknowledgements.ts';
import { acknowledgementsStream } from '../domain/audit-events.ts';
import type { AuditEvent, DivergenceAcknowledged } from '../domain/audit-events.ts';
import { parseAuditEvent } from '../domain/parse-event.ts';
import type { ParsedEvent } from '../domain/parse-event.ts';
import { handle } from './handle-command.ts';
import type { Aggregate } from './handle-command.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Cause } from './event-metadata.ts';

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
