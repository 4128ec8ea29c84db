import { type DocumentIssued, type InvoiceEvent, invoicesStream, isDocument } from '../domain/invoice-events.ts';
import { type Actor, type ParsedEvent, parseInvoiceEvent } from '../domain/parse-event.ts';
import { listPeople, type People } from '../domain/people.ts';
import type { EventStore } from '../ports/event-store.ts';
import { readAccount } from './accounts.ts';

/** The mails about an invoice or a credit note: whom it was mailed to, and whom it can be mailed to again. All of it is in the log. */

export interface DocumentName {
  accountId: string;
  type: DocumentIssued['type'];
  /** In the account. */
  number: number;
}

/** A mail to one person. Instants are UTC ISO-8601. */
export interface MailOfDocument {
  person_id: string;
  /** Null if it was erased. */
  email: string | null;
  /** The person is not one of the account's people any more. */
  removed: boolean;
  /** When staff have asked for it; null: it was sent with the document. */
  asked_at: string | null;
  asked_by: Extract<Actor, { type: 'staff' }> | null;
  /** `not_needed`: the person was removed before a mail server took it. */
  state: 'waits' | 'taken' | 'not_needed';
  taken_at: string | null;
  message_id: string | null;
}

export interface MailsOfDocument {
  /** Id of the document's event. */
  document_event_id: string;
  /** The newest first. */
  mails: MailOfDocument[];
  /** The account's people now. */
  people: { person_id: string; email: string; waits: boolean }[];
}

/** @returns undefined if the account has no such document @throws {EventStoreUnavailable} */
export async function readMailsOfDocument(
  store: EventStore,
  { accountId, type, number }: DocumentName,
): Promise<MailsOfDocument | undefined> {
  const [{ people }, recorded] = await Promise.all([
    readAccount(store, accountId),
    store.read(invoicesStream(accountId), 0),
  ]);
  const events = recorded.map(parseInvoiceEvent);
  const document = events.find(({ event }) => event.type === type && event.data.number === number);
  if (!document) return undefined;
  const mails = events.flatMap((naming) => mailsNamedBy(naming, { document, events, people })).toReversed();
  const waiting = new Set(mails.flatMap(({ person_id, state }) => (state === 'waits' ? person_id : [])));
  return {
    document_event_id: document.id,
    mails,
    people: listPeople(people).map(({ personId, email }) => ({
      person_id: personId,
      email,
      waits: waiting.has(personId),
    })),
  };
}

/** The mails about a document that one event asks for, in the order in which it names the people. */
function mailsNamedBy(
  { id, event, metadata }: ParsedEvent<InvoiceEvent>,
  {
    document,
    events,
    people,
  }: { document: { id: string }; events: readonly ParsedEvent<InvoiceEvent>[]; people: People },
): MailOfDocument[] {
  const isAsked = event.type === 'DocumentMailAsked' && event.data.document_event_id === document.id;
  if (!isAsked && !(isDocument(event) && id === document.id)) return [];
  const { actor, time } = metadata;
  const asked = {
    asked_at: isAsked ? time : null,
    asked_by: isAsked && actor.type === 'staff' ? actor : null,
  };
  return (event.data.mail_to ?? []).map((personId) => {
    const { email = null, removed = true } = people.get(personId) ?? {};
    return { person_id: personId, email, removed, ...asked, ...outcomeOf(events, id, personId) };
  });
}

function outcomeOf(
  events: readonly ParsedEvent<InvoiceEvent>[],
  namingId: string,
  personId: string,
): Pick<MailOfDocument, 'state' | 'taken_at' | 'message_id'> {
  for (const { event, metadata } of events) {
    if (event.type !== 'DocumentMailed') continue;
    const { document_event_id, person_id, message_id } = event.data;
    if (document_event_id !== namingId || person_id !== personId) continue;
    const isTaken = message_id !== null;
    return { state: isTaken ? 'taken' : 'not_needed', taken_at: isTaken ? metadata.time : null, message_id };
  }
  return { state: 'waits', taken_at: null, message_id: null };
}
