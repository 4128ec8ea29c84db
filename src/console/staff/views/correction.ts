import { z } from 'zod';
import { listMadeEvents, type MadeEvent, readCorrection } from '../../../../projections/corrections.ts';
import { inSnapshot } from '../../../../projections/runner/transaction.ts';
import { correctionFacts } from '../../../documents/correction-facts.ts';
import { correctionStatuses } from '../../../domain/correction-requests.ts';
import { missing } from '../../visit.ts';
import type { JsonView } from '../view.ts';

const actor = z.strictObject({ type: z.string(), id: z.string(), role: z.string(), reason: z.string() });
export type ShownActor = z.infer<typeof actor>;

/** A correction that somebody has asked for. */
export const shownCorrection = z.strictObject({
  correction_id: z.string(),
  account_id: z.string(),
  status: z
    .enum(correctionStatuses)
    .describe('Asked: it waits for a second person. Permitted: it is about to be given back.'),
  kind: z.enum(['waive_charge', 'waive_charges', 'credit_line']),
  charges: z.int().describe('Charges that it waives; 0 for a credit note.'),
  token: z.string().nullable().describe('The download of a single charge.'),
  stream: z.string().nullable().describe('Usage stream of the charges.'),
  invoice_number: z.int().nullable(),
  line: z.int().nullable(),
  charge_event_id: z.string().nullable(),
  reference: z.string(),
  cents: z.int().describe('The most that it gives back.'),
  limit_cents: z.int(),
  needs_approval: z.boolean(),
  asked_event_id: z.string(),
  asked_at: z.iso.datetime(),
  asked_by: actor,
  decided_event_id: z.string().nullable(),
  decided_at: z.iso.datetime().nullable(),
  decided_by: actor.nullable().describe('Who approved or refused it.'),
  ended_at: z.iso.datetime().nullable(),
  made_cents: z.int().nullable().describe('What it has given back.'),
  why: z.string().nullable().describe('Why nothing was given back.'),
});
export type ShownCorrection = z.infer<typeof shownCorrection>;

const made = z.strictObject({
  type: z.enum(['ChargeWaived', 'CreditNoteIssued']),
  event_id: z.string(),
  time: z.iso.datetime(),
  cents: z.int(),
  token: z.string().nullable(),
  number: z.int().nullable().describe('The credit note.'),
});

const shown = shownCorrection.extend({ made: z.array(made).describe('The events that have given money back.') });
export type CorrectionStory = z.infer<typeof shown>;

export const correction: JsonView<{ id: string }, CorrectionStory> = {
  operationId: 'getCorrection',
  summary: 'One correction: who asked, who approved, and the events that give the money back',
  input: z.object({ id: z.string().max(100).describe('Id of the correction.') }),
  shown,
  read: ({ pool }, { id }) =>
    inSnapshot(pool, async (client) => {
      const row = z.uuid().safeParse(id).success ? await readCorrection(client, id) : undefined;
      if (!row) throw missing();
      const events: MadeEvent[] = row.status === 'made' ? await listMadeEvents(client, row) : [];
      return { ...correctionFacts(row), made: events };
    }),
};
