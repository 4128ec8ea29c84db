import type { InvoiceEvent } from './invoice-events.ts';
import { refuse, type Refused } from './refusals.ts';

/**
 * The mails about an account's invoices and credit notes, each to one person:
 *
 *     named by the document (mail_to of InvoiceIssued, CreditNoteIssued) ──DocumentMailed──▶ mailed, or not needed any more
 *
 * By the id of the document's event: the people whose mail is not recorded yet. The fold may begin at the document.
 */
export type DocumentMails = ReadonlyMap<string, readonly string[]>;

export const initialDocumentMails: DocumentMails = new Map();

export function evolveDocumentMails(
  state: DocumentMails,
  event: InvoiceEvent,
  { id: eventId }: { id: string },
): DocumentMails {
  switch (event.type) {
    case 'InvoiceIssued':
    case 'CreditNoteIssued':
      return new Map(state).set(eventId, event.data.mail_to ?? []);
    case 'DocumentMailed': {
      const { document_event_id: documentId, person_id: personId } = event.data;
      const left = state.get(documentId)?.filter((other) => other !== personId);
      return left ? new Map(state).set(documentId, left) : state;
    }
    default:
      return event satisfies never;
  }
}

interface DocumentMail {
  accountId: string;
  /** Id of the document's event. */
  documentId: string;
  personId: string;
  /** Null: the person was removed before the mail was sent. */
  messageId: string | null;
}

/** @returns the event to append: none for a mail that is recorded already, or that the document does not ask for */
export function decideDocumentMail(
  state: DocumentMails,
  { accountId, documentId, personId, messageId }: DocumentMail,
): InvoiceEvent[] | Refused {
  const waiting = state.get(documentId);
  if (!waiting) return refuse('invoice_not_found');
  if (!waiting.includes(personId)) return [];
  const about = { account_id: accountId, document_event_id: documentId, person_id: personId };
  return [{ type: 'DocumentMailed', data: { ...about, message_id: messageId } }];
}
