import {
  decideDocumentMail,
  type DocumentMails,
  evolveDocumentMails,
  initialDocumentMails,
} from '../domain/document-mails.ts';
import { type DocumentIssued, type InvoiceEvent, invoicesStream, isDocument } from '../domain/invoice-events.ts';
import { type ParsedEvent, parseInvoiceEvent } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { type Aggregate, beforeRevision, handle } from './handler/handle-command.ts';

/** An invoice or a credit note that a person is mailed about, as the log has it. */
export interface LoggedDocument {
  /** Of the event that names the person: the document's own, or the one by which staff ask for the mail again. */
  naming: { eventId: string; revision: number; correlationId: string };
  /** Of the document's own event. */
  documentEventId: string;
  /** Of the document. */
  position: bigint;
  issuedAt: string;
  /** When staff have asked for the mail; null for the first one. */
  askedAt: string | null;
  document: DocumentIssued;
}

export const documentMailsAggregate = (accountId: string): Aggregate<DocumentMails, InvoiceEvent> => ({
  stream: invoicesStream(accountId),
  initial: () => initialDocumentMails,
  parse: parseInvoiceEvent,
  evolve: evolveDocumentMails,
});

/** A mail about a document to one person. */
interface MailTo {
  accountId: string;
  /** Id of the event that names the person. */
  eventId: string;
  /** The same event's, in the account's stream of invoices. */
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
  const [naming] = events;
  const issued = naming?.id === eventId ? await documentOf(store, naming) : undefined;
  if (!naming || !issued || !isDocument(issued.event)) return undefined;
  const mails = events.reduce((state, { event, ...at }) => evolveDocumentMails(state, event, at), initialDocumentMails);
  const { event: document, id: documentEventId, position, metadata } = issued;
  return {
    naming: { eventId, revision, correlationId: naming.metadata.$correlationId },
    documentEventId,
    position,
    issuedAt: metadata.time,
    askedAt: naming === issued ? null : naming.metadata.time,
    document,
    isRecorded: mails.get(eventId)?.waiting.includes(personId) !== true,
  };
}

/** The document that the people named by an event are mailed about. */
async function documentOf(
  store: EventStore,
  naming: ParsedEvent<InvoiceEvent>,
): Promise<ParsedEvent<InvoiceEvent> | undefined> {
  if (naming.event.type !== 'DocumentMailAsked') return naming;
  const { document_event_id: id, document_revision: revision } = naming.event.data;
  const [issued] = (await store.read(naming.stream, revision, 1)).map(parseInvoiceEvent);
  return issued?.id === id ? issued : undefined;
}

/**
 * Records, once, that a mail server has taken the mail about a document to a person.
 *
 * @param mail messageId: null if the person was removed before
 * @throws {NotStored} {OutcomeUnknown}
 */
export async function recordDocumentMail(
  { store, now, newUuid }: CommandDependencies,
  { naming: { eventId, revision, correlationId }, document }: LoggedDocument,
  { personId, messageId, timeoutMs }: { personId: string; messageId: string | null; timeoutMs: number },
): Promise<void> {
  const { account_id: accountId } = document.data;
  const recorded = await handle(
    store,
    { ...documentMailsAggregate(accountId), known: beforeRevision<DocumentMails>(revision, initialDocumentMails) },
    {
      decide: (state) => decideDocumentMail(state, { accountId, namingId: eventId, personId, messageId }),
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
  if (isRefused(recorded)) throw new Error(`the mail that ${eventId} asks for was refused: ${recorded.refusal}`);
}
