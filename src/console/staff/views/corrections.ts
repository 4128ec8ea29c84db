import type { PoolClient } from 'pg';
import { z } from 'zod';
import { listCorrections, listWaitingCorrections } from '../../../../projections/corrections.ts';
import { listGivenBack } from '../../../../projections/queries/given-back.ts';
import { inSnapshot } from '../../../../projections/runner/transaction.ts';
import { actorFacts, correctionFacts } from '../../../documents/correction-facts.ts';
import { correctionStatuses } from '../../../domain/correction-requests.ts';
import { firstRows, type JsonView } from '../view.ts';
import { shownCorrection } from './correction.ts';

const position = z.string().regex(/^\d{1,20}$/, 'is no position in the log');
/** An empty field of a form means anything. */
const maybe = <Of extends z.ZodType<unknown, string>>(of: Of) =>
  z.preprocess((text) => (typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined), of.optional());

const input = z.object({
  list: maybe(z.enum(['given_back', 'asked'])).describe(
    'What was given back, by whomever (default), or what was asked for in the console.',
  ),
  account: maybe(z.string().max(60)).describe('Only those of this account.'),
  status: maybe(z.enum(correctionStatuses)).describe('Only asked ones in this state.'),
  by: maybe(z.string().max(60)).describe('Only those that this person has asked for.'),
  reference: maybe(z.string().max(100)).describe('Only those under this reference.'),
  before: maybe(position).describe('A position in the log: only older ones.'),
});
export type CorrectionsInput = z.infer<typeof input>;

const actor = shownCorrection.shape.asked_by;
const givenBack = z.strictObject({
  type: z.enum(['ChargeWaived', 'DownloadCreditReturned', 'CreditNoteIssued']),
  event_id: z.string(),
  account_id: z.string(),
  token: z.string().nullable(),
  number: z.int().nullable().describe('The credit note.'),
  time: z.iso.datetime(),
  cents: z.int().describe('0 for a credit of the plan.'),
  reference: z.string().nullable(),
  by: actor,
  correction_id: z.string().nullable().describe('The correction of the console that it follows from.'),
  approved_by: actor.nullable(),
});

const shown = z.strictObject({
  waiting: z.array(shownCorrection).describe('Those that wait for a second person, the oldest first.'),
  unfinished: z.array(shownCorrection).describe('Permitted ones that are not given back yet, the oldest first.'),
  given_back: z.array(givenBack).describe('The newest first; empty with `list=asked`.'),
  asked: z.array(shownCorrection).describe('The newest first; empty without `list=asked`.'),
  next: z.string().nullable().describe('`before` of the next page; null on the last one.'),
});
export type Corrections = z.infer<typeof shown>;

const perPage = 50;
const maxWaiting = 100;

/** What waits for somebody, and what was given back: three statements. */
export const corrections: JsonView<CorrectionsInput, Corrections> = {
  operationId: 'listCorrections',
  summary: 'What waits for a second person, and who gave what back, why and with whose approval',
  input,
  shown,
  read: ({ pool }, given) => inSnapshot(pool, (client) => readCorrections(client, given)),
};

async function readCorrections(
  client: Pick<PoolClient, 'query'>,
  { list, account: accountId, status, by, reference, before }: CorrectionsInput,
): Promise<Corrections> {
  const waiting = await listWaitingCorrections(client, { status: 'asked', limit: maxWaiting });
  const unfinished = await listWaitingCorrections(client, { status: 'permitted', limit: maxWaiting });
  const wait = {
    waiting: waiting.map((row) => correctionFacts(row)),
    unfinished: unfinished.map((row) => correctionFacts(row)),
  };
  const limit = perPage + 1;
  if (list === 'asked' || status !== undefined || by !== undefined || reference !== undefined) {
    const found = await listCorrections(client, {
      filter: { accountId, status, askedBy: by, reference },
      before,
      limit,
    });
    const { rows, next } = firstRows(found, perPage, ({ position: place }) => place);
    return { ...wait, given_back: [], asked: rows.map((row) => correctionFacts(row)), next };
  }
  const found = await listGivenBack(client, { accountId, before, limit });
  const { rows, next } = firstRows(found, perPage, ({ position: place }) => place);
  const given = rows.map(({ position: _position, actor: who, correction, ...made }) => ({
    ...made,
    by: actorFacts(who),
    correction_id: correction?.correction_id ?? null,
    approved_by: correction?.decided_by ? actorFacts(correction.decided_by) : null,
  }));
  return { ...wait, given_back: given, asked: [], next };
}
