import type { PoolClient } from 'pg';
import { z } from 'zod';
import {
  type CorrectionRow,
  listCorrections,
  listMadeEvents,
  listWaitingCorrections,
  type MadeEvent,
  readCorrection,
} from '../../../../projections/corrections.ts';
import { type GivenBack, listGivenBack } from '../../../../projections/queries/given-back.ts';
import { readChargesAt } from '../../../../projections/queries/period-charges.ts';
import { inSnapshot, pagesInSnapshot } from '../../../../projections/runner/transaction.ts';
import { actorFacts, correctionFacts } from '../../../documents/correction-facts.ts';
import { correctionStatuses } from '../../../domain/correction-requests.ts';
import { missing } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { firstRows, type JsonView } from '../view.ts';
import { chargeRow, chargeRowOf } from './charges.ts';
import { accountFilter, customer } from './overage.ts';

const actor = z.strictObject({ type: z.string(), id: z.string(), role: z.string(), reason: z.string() });
export type ShownActor = z.infer<typeof actor>;

/** A correction that somebody has asked for. */
const shownCorrection = z.strictObject({
  correction_id: z.string(),
  account_id: z.string(),
  customer,
  status: z
    .enum(correctionStatuses)
    .describe('Asked: it waits for a second person. Permitted: it is about to be given back.'),
  kind: z.enum(['charges', 'credit_line']),
  charges: z.int().describe('How many charges it gives back; 0 for a line as a whole.'),
  token: z.string().nullable().describe('The download of a single charge.'),
  stream: z.string().nullable().describe('Usage stream of the charges.'),
  invoice_number: z.int().nullable(),
  line: z.int().nullable(),
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

const shownCharge = chargeRow.extend({ asked_cents: z.int().describe('The most that is given back of it.') });
type CorrectedCharge = z.infer<typeof shownCharge>;

const shownStory = shownCorrection.extend({
  charge_rows: z.array(shownCharge).describe('Its charges, as the read models have them, in the order of the log.'),
  made: z.array(made).describe('The events that have given money back.'),
});
export type CorrectionStory = z.infer<typeof shownStory>;

export const correction: JsonView<{ id: string }, CorrectionStory> = {
  operationId: 'getCorrection',
  summary: 'One correction: who asked, who approved, and the events that give the money back',
  input: z.object({ id: z.string().max(100).describe('Id of the correction.') }),
  shown: shownStory,
  read: ({ pool }, { id }) =>
    inSnapshot(pool, async (client) => {
      const row = z.uuid().safeParse(id).success ? await readCorrection(client, id) : undefined;
      if (!row) throw missing();
      const events: MadeEvent[] = row.status === 'made' ? await listMadeEvents(client, row) : [];
      return { ...unnamed(row), charge_rows: await readCharges(client, row), made: events };
    }),
  named: (story) => [story],
};

const unnamed = (row: CorrectionRow) => ({ ...correctionFacts(row), customer: null });

async function readCharges(
  client: Pick<PoolClient, 'query'>,
  { account_id: accountId, correction: asked }: CorrectionRow,
): Promise<CorrectedCharge[]> {
  if (asked.kind === 'credit_line') return [];
  const { stream, charges } = asked;
  const askedOf = new Map(charges.map(({ revision, cents }) => [revision, cents]));
  const rows = await readChargesAt(client, { accountId, stream, revisions: [...askedOf.keys()] });
  return rows.map((row) => ({ ...chargeRowOf(row), asked_cents: askedOf.get(row.revision) ?? 0 }));
}

const position = z.string().regex(/^\d{1,20}$/, 'is no position in the log');
/** An empty field of a form means anything. */
const maybe = <Of extends z.ZodType<unknown, string>>(of: Of) =>
  z.preprocess((text) => (typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined), of.optional());

const input = z.object({
  list: maybe(z.enum(['given_back', 'asked'])).describe(
    'What was given back, by whomever (default), or what was asked for in the console.',
  ),
  account: maybe(accountFilter).describe('Only those of this account.'),
  status: maybe(z.enum(correctionStatuses)).describe('Only asked ones in this state.'),
  by: maybe(z.string().max(60)).describe('Only those that this person has asked for.'),
  reference: maybe(z.string().max(100)).describe('Only those under this reference.'),
  before: maybe(position).describe('A position in the log: only older ones.'),
});
export type CorrectionsInput = z.infer<typeof input>;

const givenBack = z.strictObject({
  type: z.enum(['ChargeWaived', 'DownloadCreditReturned', 'CreditNoteIssued']),
  event_id: z.string(),
  account_id: z.string(),
  customer,
  token: z.string().nullable(),
  charges: z.int().describe('How many charges it names; 0 for a credit note about a whole line.'),
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

/** Asked ones, where the address wants a part of them. */
export const isOfAsked = ({ list, status, by, reference }: CorrectionsInput): boolean =>
  list === 'asked' || status !== undefined || by !== undefined || reference !== undefined;

const perPage = 50;
const maxWaiting = 100;

/** What waits for somebody, and what was given back: three statements. */
export const corrections: JsonView<CorrectionsInput, Corrections> = {
  operationId: 'listCorrections',
  summary: 'What waits for a second person, and who gave what back, why and with whose approval',
  input,
  shown,
  read: ({ pool }, given) => inSnapshot(pool, (client) => readCorrections(client, given)),
  named: ({ waiting, unfinished, given_back: given, asked }) => [...waiting, ...unfinished, ...given, ...asked],
};

async function readCorrections(
  client: Pick<PoolClient, 'query'>,
  { before, ...given }: CorrectionsInput,
): Promise<Corrections> {
  const waiting = await listWaitingCorrections(client, { status: 'asked', limit: maxWaiting });
  const unfinished = await listWaitingCorrections(client, { status: 'permitted', limit: maxWaiting });
  const wait = {
    waiting: waiting.map(unnamed),
    unfinished: unfinished.map(unnamed),
  };
  const limit = perPage + 1;
  if (isOfAsked(given)) {
    const found = await listCorrections(client, { filter: filterOf(given), before, limit });
    const { rows, next } = firstRows(found, perPage, ({ position: place }) => place);
    return { ...wait, given_back: [], asked: newestFirst(rows.map(unnamed), ({ asked_at: at }) => at), next };
  }
  const found = await listGivenBack(client, { accountId: given.account, before, limit });
  const { rows, next } = firstRows(found, perPage, ({ position: place }) => place);
  return { ...wait, given_back: newestFirst(rows.map(givenBackOf), ({ time }) => time), asked: [], next };
}

/** By the time that is shown: the log has what processes with different clocks have written, in the order of its arrival. */
const newestFirst = <Row>(rows: readonly Row[], timeOf: (row: Row) => string): Row[] =>
  rows.toSorted((one, other) => Date.parse(timeOf(other)) - Date.parse(timeOf(one)));

const filterOf = ({ account: accountId, status, by, reference }: CorrectionsInput) => ({
  accountId,
  status,
  askedBy: by,
  reference,
});

const givenBackOf = ({ position: _position, actor: who, correction: of, ...made }: GivenBack) => ({
  ...made,
  customer: null,
  by: actorFacts(who),
  correction_id: of?.correction_id ?? null,
  approved_by: of?.decided_by ? actorFacts(of.decided_by) : null,
});

const rowsAtOnce = 500;

/** All rows of the list that the view shows page by page, as of one instant: what was given back, or what was asked for. */
export const exportCorrections = {
  input,
  read: async ({ exportPool }: StaffDependencies, { before: _before, ...given }: CorrectionsInput) => {
    const ofAsked = isOfAsked(given);
    const name = ofAsked ? 'corrections' : 'given-back';
    const accountId = given.account;
    return {
      fileName: name,
      columns: ofAsked ? askedColumns : givenBackColumns,
      hasNames: true as const,
      about: { of: name, ...given },
      rows: () =>
        pagesInSnapshot<object[]>(exportPool, (client) =>
          ofAsked
            ? eachPage(
                (before) => listCorrections(client, { filter: filterOf(given), before, limit: rowsAtOnce }),
                (row) => flat(unnamed(row)),
              )
            : eachPage(
                (before) => listGivenBack(client, { accountId, before, limit: rowsAtOnce }),
                (row) => flat(givenBackOf(row)),
              ),
        ),
    };
  },
};

async function* eachPage<Row extends { position: string }>(
  read: (before: string | undefined) => Promise<Row[]>,
  shownOf: (row: Row) => object,
): AsyncGenerator<object[]> {
  for (let before: string | undefined; ;) {
    const rows = await read(before);
    yield rows.map(shownOf);
    if (rows.length < rowsAtOnce) return;
    before = rows.at(-1)?.position;
  }
}

/** People in columns of their own: `by_id`, `approved_by_role`. */
const flat = (row: object): object =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]: [string, unknown]) => {
      const person = actor.safeParse(value).data;
      return person ? Object.entries(person).map(([part, text]) => [`${name}_${part}`, text]) : [[name, value]];
    }),
  );

const columnsOf = (shape: Readonly<Record<string, unknown>>, people: readonly string[]): string[] =>
  Object.keys(shape).flatMap((name) =>
    people.includes(name) ? ['id', 'role', 'reason'].map((part) => `${name}_${part}`) : [name],
  );
const givenBackColumns = columnsOf(givenBack.shape, ['by', 'approved_by']);
const askedColumns = columnsOf(shownCorrection.shape, ['asked_by', 'decided_by']);
