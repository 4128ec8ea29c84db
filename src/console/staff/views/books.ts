import { z } from 'zod';
import { projections } from '../../../../projections/all.ts';
import { readBooks } from '../../../../projections/books.ts';
import { listAcknowledgements } from '../../../commands/acknowledge-divergence.ts';
import { nameOf } from '../../../domain/acknowledgements.ts';
import { auditEventSchemas } from '../../../domain/audit-events.ts';
import type { EventStore } from '../../../ports/event-store.ts';
import type { View } from '../view.ts';

/** All but who examined it. */
// What Postgres keeps as JSON is JSON: said so, not looked at, for JSON Schema has no short word for any JSON.
const anyJson = z.custom<z.core.util.JSONType>();
const divergenceFacts = auditEventSchemas.DivergenceAcknowledged.omit({ reference: true }).extend({
  expected: anyJson,
  found: anyJson,
});

const acknowledgement = z.strictObject({
  ...{ event_id: z.string(), time: z.iso.datetime(), by: z.string(), reason: z.string(), reference: z.string() },
});

const audit = z.strictObject({
  events: z.int().describe('Events that were verified since the verification began.'),
  position: z.string().nullable().describe('Position in the log up to which everything is verified.'),
  head: z.string().nullable().describe('Position of the newest event in the log.'),
  unknown: z.int().describe('Divergences that nobody had acknowledged when this was written.'),
  known: z.int().describe('Divergences that somebody had acknowledged.'),
  caught_up_at: z.iso.datetime().nullable().describe('The newest time at which all of the log was verified, in UTC.'),
  written_at: z.iso.datetime().describe('When the verification last said something.'),
  divergences: z
    .array(z.strictObject({ id: z.string(), facts: divergenceFacts, acknowledgement: acknowledgement.nullable() }))
    .describe('The first 200.'),
});

const shown = z.strictObject({
  audit: audit.nullable().describe('What the continuous verification says; null before it has said anything.'),
  read_models: z.array(
    z.strictObject({
      name: z.string(),
      position: z.string().describe('Position in the log up to which it has taken all of its events.'),
      lag: z.string().describe('Positions from there to its newest event; 0 if it has caught up.'),
    }),
  ),
  periods_not_closed: z
    .array(
      z.strictObject({
        ...{ account_id: z.string(), stream: z.string() },
        phase: z.enum(['open', 'ended']),
        period_end: z.iso.datetime(),
      }),
    )
    .describe('The first 100 periods that are over, past the grace, and whose books are not closed.'),
});

export type Books = z.infer<typeof shown>;

const maxPeriods = 100;

/** The state of the books: one statement, and the positions of the log. */
export const books: View<object, Books> = {
  input: z.object({}),
  shown,
  read: async ({ pool, staff: { store }, now, closingGraceSeconds }) => {
    const endedBefore = new Date(Date.parse(now()) - closingGraceSeconds * 1_000).toISOString();
    const [{ audit: state, reached, unclosed: periods }, head] = await Promise.all([
      readBooks(pool, { endedBefore, limit: maxPeriods }),
      store.headPosition(),
    ]);
    const readers = projections.map(({ name, streamPrefixes }) => ({
      ...{ name, streamPrefixes, after: reached.get(name) ?? 0n },
    }));
    const newest = await store.newestPositions(readers);
    const models = readers.map(({ name, after }, index) => ({
      ...{ name, position: String(after), lag: String((newest[index] ?? after) - after) },
    }));
    if (!state) return { audit: null, read_models: models, periods_not_closed: periods };
    const { events, position, unknown, known, caughtUpAt, writtenAt } = state;
    const acknowledged = state.divergences.length === 0 ? new Map<string, never>() : await acknowledgements(store);
    const divergences = state.divergences.map(({ name: id, facts: given }) => {
      const facts = divergenceFacts.parse(given);
      return { id, facts, acknowledgement: acknowledged.get(nameOf(facts)) ?? null };
    });
    return {
      audit: {
        ...{ events, position, unknown, known, divergences, head: head === undefined ? null : String(head) },
        ...{ caught_up_at: caughtUpAt, written_at: writtenAt },
      },
      read_models: models,
      periods_not_closed: periods,
    };
  },
};

/** By the facts: from the log, because one that was recorded a moment ago counts. */
async function acknowledgements(store: EventStore): Promise<ReadonlyMap<string, z.infer<typeof acknowledgement>>> {
  const events = await listAcknowledgements(store);
  return new Map(
    events.map(({ event: { data }, id, metadata: { time, actor } }) => [
      nameOf(data),
      {
        ...{ event_id: id, time, by: actor.id, reference: data.reference },
        reason: 'reason' in actor ? actor.reason : '',
      },
    ]),
  );
}
