import { z } from 'zod';
import { projections } from '../../../../projections/all.ts';
import type { AuditState } from '../../../../projections/queries/audit-state.ts';
import { readBooks } from '../../../../projections/queries/books.ts';
import { listAcknowledgements } from '../../../commands/acknowledge-divergence.ts';
import { nameOf } from '../../../domain/acknowledgements.ts';
import { auditEventSchemas } from '../../../domain/audit-events.ts';
import type { EventStore } from '../../../ports/event-store.ts';
import { unlessAway, verification, verificationOf } from '../verification.ts';
import { listOf, type View } from '../view.ts';

/** All but who examined it. */
// What Postgres keeps as JSON is JSON: said so, not looked at, for JSON Schema has no short word for any JSON.
const anyJson = z.custom<z.core.util.JSONType>();
const divergenceFacts = auditEventSchemas.DivergenceAcknowledged.omit({ reference: true }).extend({
  expected: anyJson,
  found: anyJson,
});

const acknowledgement = z.strictObject({
  event_id: z.string(),
  time: z.iso.datetime(),
  by: z.string(),
  reason: z.string(),
  reference: z.string(),
});

const audit = verification.extend({
  head: z.string().nullable().describe('Position of the newest event in the log; null while the log is away.'),
  divergences: listOf('The first 200.', {
    id: z.string(),
    facts: divergenceFacts,
    acknowledgement: acknowledgement.nullable(),
  }),
  notices: listOf(
    'The newest 200 approvals that finance should look at. Invited: one of the two had invited the other within seven days. Not told apart: one of the two had no e-mail address, which an earlier version allowed.',
    {
      notice: z.enum(['invited', 'not_told_apart']),
      account_id: z.string(),
      stream: z.string(),
      revision: z.int(),
      correction_id: z.string(),
      asked_by: z.string(),
      approved_by: z.string(),
      approved_at: z.iso.datetime(),
    },
  ),
});

export const shownBooks = z.strictObject({
  audit: audit.describe('What the continuous verification says now.'),
  read_models: z.array(
    z.strictObject({
      name: z.string(),
      position: z.string().describe('Position in the log up to which it has taken all of its events.'),
      lag: z
        .string()
        .nullable()
        .describe('Positions from there to its newest event; 0 if it has caught up, null while the log is away.'),
    }),
  ),
  periods_not_closed: listOf('The first 100 periods that are over, past the grace, and whose books are not closed.', {
    account_id: z.string(),
    stream: z.string(),
    phase: z.enum(['open', 'ended']),
    ended_at: z.iso.datetime().describe('For the last period of a closed account, when it was closed.'),
  }),
  are_more_not_closed: z.boolean().describe('True if there are more than these.'),
});

export type Books = z.infer<typeof shownBooks>;

const maxPeriods = 100;

/** The state of the books: one statement, and the positions of the log. */
export const books: View<object, Books> = {
  input: z.object({}),
  read: async (dependencies) => {
    const { pool, store, now, closingGraceSeconds } = dependencies;
    const endedBefore = new Date(Date.parse(now()) - closingGraceSeconds * 1_000).toISOString();
    const { audit: state, reached, unclosed: periods } = await readBooks(pool, { endedBefore, limit: maxPeriods + 1 });
    const [said, head, divergences, models] = await Promise.all([
      verificationOf(dependencies, state),
      unlessAway(store.headPosition()),
      divergencesOf(store, state),
      lagsOf(store, reached),
    ]);
    return {
      audit: {
        ...said,
        head: head?.toString() ?? null,
        divergences,
        notices: audit.shape.notices.parse(state?.notices ?? []),
      },
      read_models: models,
      periods_not_closed: periods.slice(0, maxPeriods),
      are_more_not_closed: periods.length > maxPeriods,
    };
  },
};

async function lagsOf(store: EventStore, reached: ReadonlyMap<string, bigint>): Promise<Books['read_models']> {
  const readers = projections.map(({ name, streamPrefixes }) => ({
    name,
    streamPrefixes,
    after: reached.get(name) ?? 0n,
  }));
  const newest = await unlessAway(store.newestPositions(readers));
  return readers.map(({ name, after }, index) => ({
    name,
    position: String(after),
    lag: newest && String((newest[index] ?? after) - after),
  }));
}

async function divergencesOf(store: EventStore, state: AuditState | undefined): Promise<Books['audit']['divergences']> {
  if (!state || state.divergences.length === 0) return [];
  const acknowledged = await unlessAway(acknowledgements(store));
  return state.divergences.map(({ name: id, facts: given }) => {
    const facts = divergenceFacts.parse(given);
    return { id, facts, acknowledgement: acknowledged?.get(nameOf(facts)) ?? null };
  });
}

/** By the facts: from the log, because one that was recorded a moment ago counts. */
async function acknowledgements(store: EventStore): Promise<ReadonlyMap<string, z.infer<typeof acknowledgement>>> {
  const events = await listAcknowledgements(store);
  return new Map(
    events.map(({ event: { data }, id, metadata: { time, actor } }) => [
      nameOf(data),
      {
        event_id: id,
        time,
        by: actor.id,
        reference: data.reference,
        reason: 'reason' in actor ? actor.reason : '',
      },
    ]),
  );
}
