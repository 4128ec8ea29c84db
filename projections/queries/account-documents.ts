import type { Pool } from 'pg';
import {
  type CreditNoteDocument,
  creditNoteDocument,
  documentLine,
  type InvoiceDocument,
  invoiceDocument,
} from '../../src/documents/invoice-document.ts';
import { documentNumber } from '../../src/domain/document-number.ts';
import { type CreditNoteIssued, type InvoiceIssued, invoicesStream } from '../../src/domain/invoice-events.ts';
import type { LineItem } from '../../src/domain/line-items.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { type IssuedDocument, readInvoices } from '../invoices.ts';
import { readLineItems } from './line-items.ts';
import { readParties } from './parties.ts';

/** An account's invoices and credit notes as documents, for everybody who shows them. */

export interface DocumentDependencies {
  store: Pick<EventStore, 'read'>;
  pool: Pool;
  /** Name of the issuer by the settings, for documents from before the issuer's first details. */
  issuer: string;
}

export type ListedInvoice = Awaited<ReturnType<typeof listDocuments>>['invoices'][number];

/** As far as the read model has them, in the order of their numbers. */
export async function listDocuments({ pool }: Pick<DocumentDependencies, 'pool'>, accountId: string) {
  const { invoices, creditNotes } = await readInvoices(pool, accountId);
  return {
    invoices: invoices.map(({ data, issuedAt }) => {
      const { number, covers, period_start, period_end, total_cents } = data;
      const named = { number, document_number: documentNumber('invoice', data), issued_at: issuedAt };
      return {
        ...named,
        covers,
        period_start,
        period_end,
        total_cents,
        credited_cents: creditedOf(number, creditNotes),
      };
    }),
    credit_notes: creditNotes.map(({ data, issuedAt }) => {
      const { number, invoice_number, line, charges, reference, cents } = data;
      const named = { number, document_number: documentNumber('credit_note', data), issued_at: issuedAt };
      return { ...named, invoice_number, line, charges: charges.length, reference, cents };
    }),
  };
}

/**
 * A page of an account's documents, the newest first, each with its lines.
 *
 * @param before commit position: only documents that were issued before
 * @returns next: the `before` of the next page; undefined on the last one
 */
export async function pageDocuments(
  { pool }: Pick<DocumentDependencies, 'pool'>,
  { accountId, before, limit }: { accountId: string; before?: bigint | undefined; limit: number },
) {
  const { invoices, creditNotes } = await readInvoices(pool, accountId);
  const all = [
    ...invoices.map((issued) => ({ position: issued.position, document: pagedInvoice(issued, creditNotes) })),
    ...creditNotes.map((issued) => ({ position: issued.position, document: pagedCreditNote(issued) })),
  ]
    .filter(({ position }) => before === undefined || position < before)
    .sort((one, other) => (one.position > other.position ? -1 : 1));
  const page = all.slice(0, limit);
  return {
    documents: page.map(({ document }) => document),
    next: all.length > limit ? page.at(-1)?.position : undefined,
  };
}

function pagedInvoice(
  { data, issuedAt }: IssuedDocument<InvoiceIssued>,
  creditNotes: readonly IssuedDocument<CreditNoteIssued>[],
) {
  const { number, covers, period_start, period_end, currency, lines, total_cents: net } = data;
  const credited = creditedOf(number, creditNotes);
  return {
    type: 'invoice' as const,
    document_number: documentNumber('invoice', data),
    number,
    issued_at: issuedAt,
    currency,
    covers,
    period_start,
    period_end,
    lines: lines.map((each, index) => {
      const { line, kind, description, quantity, rate_cents, cents } = documentLine(each, index + 1, undefined);
      return { line, kind, description, quantity, rate_cents, cents };
    }),
    net_cents: net,
    credited_cents: credited,
    left_cents: net - credited,
  };
}

function pagedCreditNote({ data, issuedAt }: IssuedDocument<CreditNoteIssued>) {
  const { number, invoice_number, reference, currency, cents } = data;
  return {
    type: 'credit_note' as const,
    document_number: documentNumber('credit_note', data),
    number,
    issued_at: issuedAt,
    currency,
    invoice_number,
    reference,
    net_cents: cents,
  };
}

const creditedOf = (invoiceNumber: number, creditNotes: readonly IssuedDocument<CreditNoteIssued>[]): number =>
  creditNotes.reduce((sum, { data }) => sum + (data.invoice_number === invoiceNumber ? data.cents : 0), 0);

/**
 * @param wanted number: in the account; charges: those of overage lines are listed too, as the waivers always are
 * @returns undefined if the read model has no such invoice, or none yet
 * @throws {ItemsMissing} {EventStoreUnavailable}
 */
export async function findInvoice(
  dependencies: DocumentDependencies,
  { accountId, number, charges }: { accountId: string; number: number; charges: boolean },
): Promise<InvoiceDocument | undefined> {
  const { invoices, creditNotes } = await readInvoices(dependencies.pool, accountId);
  const invoice = invoices.find(({ data }) => data.number === number);
  if (!invoice) return undefined;
  const items = await itemsOf(dependencies, invoice.data, charges);
  return invoiceDocument(invoice, creditNotes, { ...(await partiesOf(dependencies, invoice)), items });
}

/** @returns undefined if the read model has no such credit note, or none yet @throws {EventStoreUnavailable} */
export async function findCreditNote(
  dependencies: DocumentDependencies,
  { accountId, number }: { accountId: string; number: number },
): Promise<CreditNoteDocument | undefined> {
  const { invoices, creditNotes } = await readInvoices(dependencies.pool, accountId);
  const note = creditNotes.find(({ data }) => data.number === number);
  const invoice = invoices.find(({ data }) => data.number === note?.data.invoice_number);
  if (!note || !invoice) return undefined;
  return creditNoteDocument(note, invoice.data, await partiesOf(dependencies, note));
}

async function partiesOf(
  { store, issuer: issuerName }: DocumentDependencies,
  { data, position }: Pick<IssuedDocument<{ account_id: string }>, 'data' | 'position'>,
) {
  const accountId = data.account_id;
  const partiesAt = await readParties(store, { accountId, issuerName });
  return { ...partiesAt(position), stream: invoicesStream(accountId) };
}

/** By the number of their line. */
async function itemsOf(
  { pool }: DocumentDependencies,
  { lines }: InvoiceIssued,
  charges: boolean,
): Promise<Map<number, LineItem[]>> {
  const items = new Map<number, LineItem[]>();
  for (const [index, line] of lines.entries()) {
    const isWaived = line.kind === 'waivers' || line.kind === 'waiver';
    if (isWaived || (charges && line.kind === 'overage')) items.set(index + 1, await readLineItems(pool, line));
  }
  return items;
}
