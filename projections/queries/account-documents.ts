import type { Pool } from 'pg';
import {
  type CreditNoteDocument,
  creditNoteDocument,
  type InvoiceDocument,
  invoiceDocument,
} from '../../src/documents/invoice-document.ts';
import { documentNumber } from '../../src/domain/document-number.ts';
import { type InvoiceIssued, invoicesStream } from '../../src/domain/invoice-events.ts';
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
  const creditedOf = (wanted: number) =>
    creditNotes.reduce((sum, { data }) => sum + (data.invoice_number === wanted ? data.cents : 0), 0);
  return {
    invoices: invoices.map(({ data, issuedAt }) => {
      const { number, covers, period_start, period_end, total_cents } = data;
      const named = { number, document_number: documentNumber('invoice', data), issued_at: issuedAt };
      return { ...named, covers, period_start, period_end, total_cents, credited_cents: creditedOf(number) };
    }),
    credit_notes: creditNotes.map(({ data, issuedAt }) => {
      const { number, invoice_number, line, charges, reference, cents } = data;
      const named = { number, document_number: documentNumber('credit_note', data), issued_at: issuedAt };
      return { ...named, invoice_number, line, charges: charges.length, reference, cents };
    }),
  };
}

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
