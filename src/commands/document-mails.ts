import {
  decideDocumentMail,
  type DocumentMails,
  evolveDocumentMails,
  initialDocumentMails,
} from '../domain/document-mails.ts';
import { type CreditNoteIssued, type InvoiceIssued, invoicesStream } from '../domain/invoice-events.ts';
import { parseInvoiceEvent } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { beforeRevision, handle } from './handler/handle-command.ts';

/** An invoice or a credit note that a person is mailed about, as the log has it. */
export interface LoggedDocument {
  eventId: string;
  revision: number;
  position: bigint;
  issuedAt: string;
  correlationId: string;
  document: { type: 'InvoiceIssued'; data: InvoiceIssued } | { type: 'CreditNoteIssued'; data: CreditNoteIssued };
}

/** A mail about a document to one person. */
interface MailTo {
  accountId: string;
  /** Id of the document's event. */
  eventId: string;
  /** The document's, in the account's stream of invoices. */
  revision: number;
  personId: string;
}

/**
 * @returns the document, and whether the log has its mail to the person, or needs none; undefined where there is no such document
 * @throws {EventStoreUnavailable}
 */
export async function readDocumentMail(
  store: EventStore,
  { accountId, eventId, revision, personId }: MailTo,
): Promise<(LoggedDocument & { isRecorded: boolean }) | undefined> {
  const events = (await store.read(invoicesStream(accountId), revision)).map(parseInvoiceEvent);
  const [issued] = events;
  if (issued?.id !== eventId || issued.event.type === 'DocumentMailed') return undefined;
  const waiting = events.reduce(
    (state, { event, id }) => evolveDocumentMails(state, event, { id }),
    initialDocumentMails,
  );
  const { event: document, position, metadata } = issued;
  return {
    eventId,
    revision,
    position,
    issuedAt: metadata.time,
    correlationId: metadata.$correlationId,
    document,
    isRecorded: waiting.get(eventId)?.includes(personId) !== true,
  };
}

/**
 * Records, once, that a mail server has taken the mail about a document to a person.
 *
 * @param mail messageId: null if the person was removed before
 * @throws {NotStored} {OutcomeUnknown}
 */
export async function recordDocumentMail(
  { store, now, newUuid }: CommandDependencies,
  { eventId, revision, correlationId, document }: LoggedDocument,
  { personId, messageId, timeoutMs }: { personId: string; messageId: string | null; timeoutMs: number },
): Promise<void> {
  const { account_id: accountId } = document.data;
  const recorded = await handle(
    store,
    {
      stream: invoicesStream(accountId),
      initial: () => initialDocumentMails,
      parse: parseInvoiceEvent,
      evolve: evolveDocumentMails,
      known: beforeRevision<DocumentMails>(revision, initialDocumentMails),
    },
    {
      decide: (state) => decideDocumentMail(state, { accountId, documentId: eventId, personId, messageId }),
      cause: {
        commandId: newUuid(),
        correlationId,
        causationId: eventId,
        actor: { type: 'system', id: 'document-mails' },
      },
      now,
      timeoutMs,
    },
  );
  if (isRefused(recorded)) throw new Error(`the mail about document ${eventId} was refused: ${recorded.refusal}`);
}
