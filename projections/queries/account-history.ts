import pMap from 'p-map';
import type { Pool } from 'pg';
import type { MailsAskedEvent } from '../../src/documents/account-history.ts';
import { type AccountEvent, accountStream } from '../../src/domain/account-events.ts';
import { type BillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import { type CorrectionEvent, correctionsStream } from '../../src/domain/correction-events.ts';
import { documentNumber } from '../../src/domain/document-number.ts';
import { type InvoiceEvent, invoicesStream, isDocument } from '../../src/domain/invoice-events.ts';
import {
  parseAccountEvent,
  parseCorrectionEvent,
  type ParsedEvent,
  parseInvoiceEvent,
  parseUsageEvent,
} from '../../src/domain/parse-event.ts';
import { isTermsEvent, type TermsEvent } from '../../src/domain/usage-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';

/** What has changed in an account, from the log: the read model only says where changes of the terms stand among the charges. */

export type AccountChange = ParsedEvent<AccountEvent | TermsEvent | CorrectionEvent | MailsAskedEvent>;

export const changeKinds = [
  'account',
  'terms',
  'keys',
  'people',
  'sign_ins',
  'billing',
  'corrections',
  'mails',
] as const;
export type ChangeKind = (typeof changeKinds)[number];

const kinds: Readonly<Record<string, ChangeKind>> = {
  AccountOpened: 'account',
  ClosingRequested: 'account',
  AccountClosed: 'account',
  AccountSuspended: 'account',
  SuspensionLifted: 'account',
  UsagePeriodEnded: 'account',
  ApiKeyIssued: 'keys',
  ApiKeyRevoked: 'keys',
  KeyLimitSet: 'keys',
  KeyLimitRemoved: 'keys',
  PersonInvited: 'people',
  PersonRemoved: 'people',
  PersonSignedIn: 'sign_ins',
  BillingDetailsChanged: 'billing',
  DocumentMailAsked: 'mails',
};

const kindOf = ({ event: { type } }: AccountChange): ChangeKind =>
  type.startsWith('Correction') ? 'corrections' : (kinds[type] ?? 'terms');

const readsAtOnce = 10;

/**
 * @param asked before: a position of the log in digits; kind: default all
 * @returns the newest changes before it, newest first; and all documents by the ids of their events, as people name them
 * @throws {EventStoreUnavailable}
 */
export async function readAccountHistory(
  { pool, store }: { pool: Pool; store: Pick<EventStore, 'read'> },
  accountId: string,
  { before, kind, limit }: { before?: bigint | undefined; kind?: ChangeKind | undefined; limit: number },
): Promise<{ changes: AccountChange[]; documents: ReadonlyMap<string, string> }> {
  const [own, corrections, invoices, terms] = await Promise.all([
    store.read(accountStream(accountId), 0),
    store.read(correctionsStream(accountId), 0),
    store.read(invoicesStream(accountId), 0),
    readTermsChanges({ pool, store }, accountId, { before, limit, kind }),
  ]);
  const ofInvoices = invoices.map(parseInvoiceEvent);
  const all: AccountChange[] = [
    ...own.map(parseAccountEvent),
    ...corrections.map(parseCorrectionEvent),
    ...ofInvoices.filter(isMailsAsked),
    ...terms,
  ];
  const changes = all
    .filter(
      (change) => (before === undefined || change.position < before) && (kind === undefined || kindOf(change) === kind),
    )
    .sort((one, other) => (one.position < other.position ? 1 : -1))
    .slice(0, limit);
  return { changes, documents: namesOf(ofInvoices) };
}

const isMailsAsked = (parsed: ParsedEvent<InvoiceEvent>): parsed is ParsedEvent<MailsAskedEvent> =>
  parsed.event.type === 'DocumentMailAsked';

const namesOf = (events: readonly ParsedEvent<InvoiceEvent>[]): Map<string, string> =>
  new Map(
    events.flatMap(({ event, id }) => {
      if (!isDocument(event)) return [];
      const [type, name] =
        event.type === 'InvoiceIssued' ? (['invoice', 'invoice'] as const) : (['credit_note', 'credit note'] as const);
      return [[id, `${name} ${documentNumber(type, event.data)}`]];
    }),
  );

interface Place {
  stream: string;
  revision: number;
}

async function readTermsChanges(
  { pool, store }: { pool: Pool; store: Pick<EventStore, 'read'> },
  accountId: string,
  { before, limit, kind }: { before: bigint | undefined; limit: number; kind: ChangeKind | undefined },
): Promise<ParsedEvent<TermsEvent>[]> {
  const types = Object.keys(kinds).filter((type) => kinds[type] === kind);
  const { rows } = await pool.query<Place>(
    `select stream, revision::float8 from usage_changes
     where account_id = $1 and ($2::numeric is null or position < $2)
       and ($3::text is null or case when $3 = 'terms' then type <> all($4) else type = any($4) end)
     order by position desc limit $5`,
    [accountId, before?.toString() ?? null, kind ?? null, kind === 'terms' ? Object.keys(kinds) : types, limit],
  );
  return await readTermsEvents(store, rows);
}

async function readTermsEvents(
  store: Pick<EventStore, 'read'>,
  places: readonly Place[],
): Promise<ParsedEvent<TermsEvent>[]> {
  const read = async ({ stream, revision }: Place) =>
    (await store.read(stream, revision, 1)).flatMap((recorded) => {
      const { event, ...parsed } = parseUsageEvent(recorded);
      return isTermsEvent(event) ? [{ ...parsed, event }] : [];
    });
  return (await pMap(places, read, { concurrency: readsAtOnce })).flat();
}

/** What has raised the fee of a billing period. */
export interface FeeRise {
  /** UTC ISO-8601. */
  time: string;
  plan: string;
  cents: number;
}

/**
 * @returns those of a period in their order; the read model may not know the newest of them yet
 * @throws {EventStoreUnavailable}
 */
export async function readFeeRises(
  { pool, store }: { pool: Pool; store: Pick<EventStore, 'read'> },
  accountId: string,
  period: BillingPeriod,
): Promise<FeeRise[]> {
  const { rows } = await pool.query<Place>(
    `select stream, revision::float8 from usage_changes
     where account_id = $1 and stream = $2 and type = any($3) order by position`,
    [accountId, usageStream(accountId, period), ['PlanChanged', 'SuspensionLifted']],
  );
  return (await readTermsEvents(store, rows)).flatMap(({ event: { type, data }, metadata: { time } }) => {
    if (type !== 'PlanChanged' && type !== 'SuspensionLifted') return [];
    const plan = type === 'PlanChanged' ? data.terms.plan : data.plan;
    return data.fee_difference_cents > 0 ? [{ time, plan, cents: data.fee_difference_cents }] : [];
  });
}
