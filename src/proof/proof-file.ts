import canonicalize from 'canonicalize';
import { firstPreviousHash } from '../commands/handler/hash-chain.ts';
import { usageStream } from '../domain/billing-period.ts';
import { documentNumber } from '../domain/document-number.ts';
import { type CreditNoteIssued, type InvoiceIssued, invoicesStream } from '../domain/invoice-events.ts';
import { type EventStore, type RecordedEvent, storedData } from '../ports/event-store.ts';
import { proofText } from './checkpoint.ts';
import { inclusionProof, type ReadNodes } from './merkle-tree.ts';

/**
 * The file that proves an invoice or a credit note (docs/proofs.md): the events as they are stored, and where their hashes stand in
 * the signed log. `verifier.mjs` reads it. It is written as RFC 8785 says, so that not a byte of it can be changed unnoticed.
 */
const proofFormat = 'reeltally-invoice-proof/1';

/** The newest signed head of the log of closings and documents, and the tree below it. */
export interface SignedLog {
  /** Signed note. */
  checkpoint: string;
  /** Number of the entries below the head. */
  size: number;
  /** @returns the index of an event's entry; undefined if it is not below the head */
  indexOf: (eventId: string) => Promise<number | undefined>;
  readNodes: ReadNodes;
}

export interface WantedDocument {
  type: 'invoice' | 'credit_note';
  accountId: string;
  number: number;
}

/** A document that cannot be proved, or not yet; the message is for people. */
export class NotProvable extends Error {
  override readonly name = 'NotProvable';
  /** `too_early`: it will be possible later, without anybody's doing. */
  readonly reason: 'missing' | 'too_early' | 'too_large';

  constructor(message: string, reason: NotProvable['reason']) {
    super(message);
    this.reason = reason;
  }
}

/** What a proof holds of an event. */
type StoredEvent = Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>;

export interface Proof {
  /** From the invoice on, up to the document. */
  documents: readonly StoredEvent[];
  /** The usage stream up to its closing; of an opening invoice, its first event. */
  period: readonly StoredEvent[];
  /** As a file has it: JSON, with a line feed. */
  text: string;
}

/**
 * @param log undefined before its first signed head
 * @param mostEvents of the period, all of which are in memory at once; default: any number
 * @throws {NotProvable} for a document that there is not, that no signed head of the log has yet, or whose period is too large
 * @throws {EventStoreUnavailable}
 */
export async function proveDocument(
  store: Pick<EventStore, 'read'>,
  log: SignedLog | undefined,
  wanted: WantedDocument,
  mostEvents = Infinity,
): Promise<Proof> {
  if (!log) throw new NotProvable('no head of the log is signed yet', 'too_early');
  const stream = invoicesStream(wanted.accountId);
  const events = await store.read(stream, 0);
  const document = events.find(
    isNumbered(wanted.type === 'invoice' ? 'InvoiceIssued' : 'CreditNoteIssued', wanted.number),
  );
  const name = documentNumber(wanted.type, { account_id: wanted.accountId, number: wanted.number });
  if (!document) throw new NotProvable(`there is no ${name}`, 'missing');
  const invoiceNumber = (document.data as CreditNoteIssued).invoice_number;
  const invoice = wanted.type === 'invoice' ? document : events.find(isNumbered('InvoiceIssued', invoiceNumber));
  if (!invoice) throw new NotProvable(`the invoice of ${name} is missing`, 'missing');
  const { covers, period_start: start } = invoice.data as InvoiceIssued;
  const period = await readPeriod(store, usageStream(wanted.accountId, { start }), { covers, mostEvents });
  const before = events[invoice.revision - 1];
  const documents = events.slice(invoice.revision, document.revision + 1).map(stored);
  const closing = covers === 'period' ? period.at(-1) : undefined;
  const file = {
    format: proofFormat,
    documents,
    previous_hash: Buffer.from(before ? hashOf(before) : firstPreviousHash(stream), 'hex').toString('base64'),
    period,
    document_proof: await proofOf(log, document, name),
    closing_proof: closing ? await proofOf(log, closing, name) : null,
  };
  return { documents, period, text: `${canonicalize(file) ?? ''}\n` };
}

const isNumbered =
  (type: string, number: number) =>
  (event: RecordedEvent): boolean =>
    event.type === type && (event.data as { number?: number }).number === number;

const stored = (event: RecordedEvent): StoredEvent => {
  const { stream, revision, id, type, metadata } = event;
  return { stream, revision, id, type, data: storedData(event), metadata };
};

const hashOf = ({ metadata }: StoredEvent): string => (metadata as { hash: string }).hash;

const pageEvents = 5_000;

/** The events that an invoice follows from: those after the closing are about mails. */
async function readPeriod(
  store: Pick<EventStore, 'read'>,
  stream: string,
  { covers, mostEvents }: { covers: InvoiceIssued['covers']; mostEvents: number },
): Promise<StoredEvent[]> {
  if (covers === 'opening') return (await store.read(stream, 0, 1)).map(stored);
  const events: StoredEvent[] = [];
  for (;;) {
    const page = await store.read(stream, events.length, pageEvents);
    const end = page.findIndex(({ type }) => type === 'UsagePeriodClosed');
    for (const event of page.slice(0, end < 0 ? page.length : end + 1)) events.push(stored(event));
    if (events.length > mostEvents)
      throw new NotProvable(`${stream} has more than ${String(mostEvents)} events`, 'too_large');
    if (end >= 0) return events;
    if (page.length < pageEvents) throw new NotProvable(`the books of ${stream} are not closed`, 'too_early');
  }
}

async function proofOf(log: SignedLog, event: StoredEvent, name: string): Promise<string> {
  const index = await log.indexOf(event.id);
  if (index === undefined) throw new NotProvable(`${name} is not in the signed log yet`, 'too_early');
  return proofText(index, await inclusionProof(index, log.size, log.readNodes), log.checkpoint);
}
