import type { InvoiceEvent } from './invoice-events.ts';
import { listPeople, type People } from './people.ts';
import { refuse, type Refused } from './refusals.ts';

/**
 * The mails about an account's invoices and credit notes, each to one person:
 *
 *     named by an event (mail_to of InvoiceIssued, CreditNoteIssued, DocumentMailAsked) ──DocumentMailed──▶ mailed, or not needed any more
 *
 * By the id of the event that names people. The fold may begin at such an event.
 */
export type DocumentMails = ReadonlyMap<string, NamedPeople>;

interface NamedPeople {
  /** The document that their mails are about. */
  document: { eventId: string; revision: number };
  /** The people whose mail is not recorded yet. */
  waiting: readonly string[];
}

export const initialDocumentMails: DocumentMails = new Map();

export function evolveDocumentMails(
  state: DocumentMails,
  event: InvoiceEvent,
  { id: eventId, revision }: { id: string; revision: number },
): DocumentMails {
  switch (event.type) {
    case 'InvoiceIssued':
    case 'CreditNoteIssued':
      return new Map(state).set(eventId, { document: { eventId, revision }, waiting: event.data.mail_to ?? [] });
    case 'DocumentMailAsked': {
      const { document_event_id, document_revision, mail_to: waiting } = event.data;
      return new Map(state).set(eventId, {
        document: { eventId: document_event_id, revision: document_revision },
        waiting,
      });
    }
    case 'DocumentMailed': {
      const { document_event_id: namingId, person_id: personId } = event.data;
      const named = state.get(namingId);
      if (!named) return state;
      const waiting = named.waiting.filter((other) => other !== personId);
      return new Map(state).set(namingId, { ...named, waiting });
    }
    default:
      return event satisfies never;
  }
}

/** The people who wait for a mail about a document, whichever event names them. */
const waitingFor = (state: DocumentMails, documentId: string): string[] =>
  [...state.values()].flatMap(({ document, waiting }) => (document.eventId === documentId ? waiting : []));

interface DocumentMail {
  accountId: string;
  /** Id of the event that names the person. */
  namingId: string;
  personId: string;
  /** Null: the person was removed before the mail was sent. */
  messageId: string | null;
}

/** @returns the event to append: none for a mail that is recorded already, or that nothing asks for */
export function decideDocumentMail(
  state: DocumentMails,
  { accountId, namingId, personId, messageId }: DocumentMail,
): InvoiceEvent[] | Refused {
  const named = state.get(namingId);
  if (!named) return refuse('invoice_not_found');
  if (!named.waiting.includes(personId)) return [];
  const about = { account_id: accountId, document_event_id: namingId, person_id: personId };
  return [{ type: 'DocumentMailed', data: { ...about, message_id: messageId } }];
}

export interface MailsAgain {
  accountId: string;
  /** Id of the document's event. */
  documentId: string;
  /** Ids of people, each once. */
  mailTo: readonly string[];
}

/**
 * @param asked eventId: that of the event that this command appends; people: of the account, as they are now
 * @returns the event to append: none if this command has appended it before
 */
export function decideMailsAgain(
  state: DocumentMails,
  { accountId, documentId, mailTo, eventId, people }: MailsAgain & { eventId: string; people: People },
): InvoiceEvent[] | Refused<'invoice_not_found' | 'person_not_found' | 'mail_waits'> {
  if (state.has(eventId)) return [];
  const { document } = state.get(documentId) ?? {};
  if (document?.eventId !== documentId) return refuse('invoice_not_found');
  const present = new Set(listPeople(people).map(({ personId }) => personId));
  if (mailTo.length === 0 || !mailTo.every((personId) => present.has(personId))) return refuse('person_not_found');
  const waiting = waitingFor(state, documentId);
  if (mailTo.some((personId) => waiting.includes(personId))) return refuse('mail_waits');
  const about = { account_id: accountId, document_event_id: documentId, document_revision: document.revision };
  return [{ type: 'DocumentMailAsked', data: { ...about, mail_to: [...mailTo] } }];
}
