import type { CorrectionEvent } from '../src/domain/correction-events.ts';
import type { CorrectionStatus } from '../src/domain/correction-requests.ts';
import { type Actor, parseCorrectionEvent, type ParsedEvent } from '../src/domain/parse-event.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import { bindings, equalities, type Queryable, withInstants } from './runner/rows.ts';
import { upsertRows } from './write-rows.ts';

/**
 * The read model of what staff ask to give back in the console: table `corrections`. A row is only a hint: whether a correction
 * may be approved or carried out is decided by the account's stream.
 *
 *     asked ──▶ permitted ──▶ made | failed
 *       └────▶ refused
 */
export const corrections: RebuildableProjection = {
  name: 'corrections',
  tables: ['corrections'],
  streamPrefixes: ['corrections-'],
  start: () => async (events, client) => {
    const parsed = events.map(parseCorrectionEvent);
    const ids = [...new Set(parsed.map(({ event }) => event.data.correction_id))];
    const { rows: known } = await client.query<{ row: CorrectionRow }>(
      'select to_jsonb(c) as row from corrections c where correction_id = any($1::uuid[])',
      [ids],
    );
    const rows = new Map(known.map(({ row }) => [row.correction_id, row]));
    for (const event of parsed) {
      const row = evolve(rows.get(event.event.data.correction_id), event);
      if (row) rows.set(row.correction_id, row);
    }
    await upsertRows(client, 'corrections', { key: ['correction_id'], rows: [...rows.values()] });
  },
};

type Asked = Extract<CorrectionEvent, { type: 'CorrectionAsked' }>;

export type CorrectionRow = ReturnType<typeof askedRow>;

/** A correction as it begins; instants are UTC ISO-8601. */
const askedRow = ({ event: { data }, id, position, revision, metadata }: ParsedEvent<Asked>) => ({
  correction_id: data.correction_id,
  account_id: data.account_id,
  /** Commit position of CorrectionAsked, in digits; a cursor too. */
  position: position.toString(),
  status: (data.needs_approval ? 'asked' : 'permitted') as CorrectionStatus,
  /** Of the newest event about it, in the account's stream of corrections. */
  revision,
  kind: data.correction.kind,
  correction: data.correction,
  reference: data.reference,
  /** The most that it may give back. */
  cents: data.cents,
  limit_cents: data.limit_cents,
  needs_approval: data.needs_approval,
  asked_event_id: id,
  asked_at: metadata.time,
  asked_by: metadata.actor,
  /** CorrectionApproved or CorrectionRefused. */
  decided_event_id: null as string | null,
  decided_at: null as string | null,
  decided_by: null as Actor | null,
  ended_at: null as string | null,
  made_cents: null as number | null,
  /** Why nothing was given back, in the words of a refusal. */
  why: null as string | null,
});

/** @returns undefined for an event about a correction that nobody has asked for */
function evolve(row: CorrectionRow | undefined, parsed: ParsedEvent<CorrectionEvent>): CorrectionRow | undefined {
  const { event, revision, id, metadata } = parsed;
  const { time, actor } = metadata;
  if (event.type === 'CorrectionAsked') return askedRow(parsed as ParsedEvent<Asked>);
  if (!row) return undefined;
  const decided = { decided_event_id: id, decided_at: time, decided_by: actor };
  switch (event.type) {
    case 'CorrectionApproved':
      return { ...row, revision, status: 'permitted', ...decided };
    case 'CorrectionRefused':
      return { ...row, revision, status: 'refused', ...decided, ended_at: time };
    case 'CorrectionMade':
      return { ...row, revision, status: 'made', ended_at: time, made_cents: event.data.cents };
    case 'CorrectionFailed':
      return { ...row, revision, status: 'failed', ended_at: time, why: event.data.why };
  }
}

export type CorrectionJson = CorrectionRow & { position_text: string };

/** The row as `correctionFromJson` takes it. @param alias of the table in the query */
export const correctionJsonSql = (alias: string) =>
  `to_jsonb(${alias}) || jsonb_build_object('position_text', ${alias}.position::text)`;

/** `to_jsonb` writes instants with an offset and a position as a number. */
export function correctionFromJson(json: CorrectionJson): CorrectionRow {
  const { position_text: position, ...row } = json;
  return withInstants({ ...row, position }, 'asked_at', 'decided_at', 'ended_at');
}

async function select(client: Queryable, sql: string, values: readonly unknown[]): Promise<CorrectionRow[]> {
  const { rows } = await client.query<{ row: CorrectionJson }>(
    `select ${correctionJsonSql('c')} as row from corrections c ${sql}`,
    [...values],
  );
  return rows.map(({ row }) => correctionFromJson(row));
}

export async function readCorrection(client: Queryable, correctionId: string): Promise<CorrectionRow | undefined> {
  return (await select(client, 'where correction_id = $1', [correctionId]))[0];
}

/**
 * Those that wait, the oldest first: `asked` for a second person, `permitted` for being carried out.
 *
 * @param except ids to leave out for now
 */
export const listWaitingCorrections = (
  client: Queryable,
  {
    status,
    except = [],
    limit,
  }: { status: 'asked' | 'permitted'; except?: readonly string[] | undefined; limit: number },
): Promise<CorrectionRow[]> =>
  select(
    client,
    `where status = $1 and status in ('asked', 'permitted') and correction_id <> all($2::uuid[])
     order by c.position limit $3`,
    [status, except, limit],
  );

/** Those about charges of these downloads that wait for a second person, the oldest first. */
export const listWaitingCorrectionsOf = (
  client: Queryable,
  { accountId, tokens }: { accountId: string; tokens: readonly string[] },
): Promise<CorrectionRow[]> =>
  select(
    client,
    `where account_id = $1 and status = 'asked' and exists (
       select from jsonb_array_elements(correction->'charges') charge where charge->>'token' = any($2::text[])
     ) order by c.position`,
    [accountId, tokens],
  );

export interface CorrectionFilter {
  accountId?: string | undefined;
  /** Id of the person who asked. */
  askedBy?: string | undefined;
  status?: CorrectionStatus | undefined;
  reference?: string | undefined;
}

/** The newest first. @param before a position: only older ones */
export function listCorrections(
  client: Queryable,
  { filter = {}, before, limit }: { filter?: CorrectionFilter; before?: string | undefined; limit: number },
): Promise<CorrectionRow[]> {
  const { accountId: account_id, askedBy, status, reference } = filter;
  const { values, bind } = bindings();
  const conditions = equalities({ account_id, "asked_by->>'id'": askedBy, status, reference }, bind);
  if (before !== undefined) conditions.push(`c.position < ${bind(before)}::numeric`);
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return select(client, `${where} order by c.position desc limit ${bind(limit)}`, values);
}

/** What a correction has given back, as the log says it. */
export interface MadeEvent {
  type: 'ChargeWaived' | 'CreditNoteIssued';
  event_id: string;
  /** UTC ISO-8601. */
  time: string;
  cents: number;
  /** The download of a waiver. */
  token: string | null;
  /** The credit note. */
  number: number | null;
}

/** The events by which a correction has given money back, the oldest first. */
export async function listMadeEvents(
  client: Queryable,
  { account_id: accountId, reference, asked_by: askedBy, correction }: CorrectionRow,
): Promise<MadeEvent[]> {
  const tokens = correction.kind === 'charges' ? correction.charges.map(({ token }) => token) : [];
  const { rows } = await client.query<MadeEvent>(
    `select made.* from (
       (select l.type, l.event_id, l.time, -l.cents::float8 as cents, l.token, null::int as number, l.position
        from overage_ledger l
        where l.reference = $1 and l.account_id = $2 and l.actor::jsonb = $3::jsonb and l.type = 'ChargeWaived'
          and l.token = any($4::text[]))
       union all
       (select i.type, i.event_id, i.time, i.total_cents::float8, null, i.number, i.position
        from invoices i
        where i.type = 'CreditNoteIssued' and i.data->>'reference' = $1 and i.account_id = $2 and i.actor::jsonb = $3::jsonb
          and (select case count(*) when 0 then $4::text[] = '{}' else bool_or(c->>'token' = any($4::text[])) end
               from json_array_elements(i.data->'charges') c))
     ) made order by made.position`,
    [reference, accountId, JSON.stringify(askedBy), tokens],
  );
  return rows.map(({ type, event_id, time, cents, token, number }) => ({ type, event_id, time, cents, token, number }));
}
