import { formatDays } from '../documents/days.ts';
import { type Columns, type Html, html, numberCell } from '../documents/html.ts';
import {
  type CreditNoteDocument,
  type DocumentLine,
  type InvoiceDocument,
  taxSentences,
} from '../documents/invoice-document.ts';
import { renderDocument } from '../documents/render-document.ts';
import { proofAnswer, type ProofDependencies } from './document-proof.ts';
import { amountCell, count, type Fact, money, rowName, time } from './parts.ts';
import { summedTable } from './summed-table.ts';
import type { Answer } from './visit.ts';

/** Parts of the pages of invoices and credit notes that owners and staff see alike. */

const mediaTypes = { csv: 'text/csv; charset=utf-8', json: 'application/json' } as const;

/**
 * A document as the address asks for it: as a page to print, as CSV, as JSON, or as what proves it; undefined: as one of the
 * console's pages.
 *
 * @throws as `proofAnswer` does
 */
export async function documentAs(
  document: InvoiceDocument | CreditNoteDocument,
  as: string | null,
  dependencies: ProofDependencies,
): Promise<Answer | undefined> {
  if (as === 'print') return { kind: 'document', html: renderDocument(document, 'html') };
  if (as === 'proof' || as === 'case_file') return await proofAnswer(document, as, dependencies);
  if (as !== 'csv' && as !== 'json') return undefined;
  const fileName = `${document.type}-${document.document_number}.${as}`;
  return { kind: 'file', body: renderDocument(document, as), mediaType: mediaTypes[as], fileName };
}

/** Whether a form of an invoice lists the charges of its overage lines. */
export const hasCharges = (as: string | null): boolean => as === 'csv' || as === 'json';

export const documentForms = (): Html =>
  html`<p class="pages">
    <a class="button" href="?as=print">Print or save</a> <a href="?as=csv" download>CSV</a>
    <a href="?as=json" download>JSON</a>
  </p>`;

export const coversText = ({
  covers,
  period_start: start,
  period_end: end,
}: Pick<InvoiceDocument, 'covers' | 'period_start' | 'period_end'>): string =>
  covers === 'opening' ? 'the first fee' : formatDays(start, end);

export const documentFact = (document: InvoiceDocument | CreditNoteDocument): Fact => [
  'Document',
  html`<code>${document.document_number}</code>, issued ${time(document.issued_at)}
    <div class="soft">${taxSentences(document)}</div>`,
];

export const billedToFact = ({ billed_to: { name, email } }: InvoiceDocument | CreditNoteDocument): Fact => [
  'Billed to',
  name ?? email ?? '',
];

/** The purpose and the total of an invoice. */
export const invoiceFacts = (invoice: InvoiceDocument): readonly Fact[] => [
  ['Covers', coversText(invoice)],
  [
    'Total',
    html`<strong>${money(invoice.total_cents)}</strong>${
        invoice.credited_cents > 0 && `, of which ${money(invoice.credited_cents)} is credited`
      }`,
  ],
];

/** @param invoicePath address of its invoice */
export const givesBackFact = (
  { cents, invoice_number: invoice, line, line_description: description }: CreditNoteDocument,
  { invoicePath }: { invoicePath: string },
): Fact => [
  'Gives back',
  html`<strong>${money(cents)}</strong> of <a href="${invoicePath}">invoice ${invoice}</a>, line ${line}: ${description}`,
];

/** The charges that a credit note gives back. @param pathOf address of a download, by its token */
export const creditedTable = ({ charges }: CreditNoteDocument, pathOf: (token: string) => string): Html | false =>
  charges.length > 0 &&
  html`<h2>Charges given back</h2>
    ${summedTable({ name: 'Charges given back' }, charges, {
      Download: ({ token }) => html`<a data-row href="${pathOf(token)}"><code>${token}</code></a>`,
      'Event of the charge': ({ charge_event_id: id }) => html`<code>${id}</code>`,
      Amount: amountCell(({ cents }) => cents),
    })}`;

/** @param more columns behind those that every table of lines has */
export const lineTable = <Line extends DocumentLine>(lines: readonly Line[], more: Columns<Line>): Html =>
  summedTable({ name: 'Lines' }, lines, {
    Line: ({ line }) => line,
    Description: ({ description }) => description,
    Quantity: numberCell(({ rate_cents: rate, quantity }) => (rate === null ? '' : count(quantity))),
    'Unit price': numberCell(({ rate_cents: rate }) => (rate === null ? '' : money(rate))),
    Amount: amountCell(({ cents }) => cents),
    ...more,
  });

type Note = InvoiceDocument['credit_notes'][number];

/** The credit notes of an invoice. @param more columns between the number of each and its amount */
export const noteTable = (notes: readonly Note[], pathOf: (note: Note) => string, more: Columns<Note>): Html | false =>
  notes.length > 0 &&
  html`<h2>Credit notes</h2>
    ${summedTable({ name: 'Credit notes' }, notes, {
      'Credit note': rowName((note) => html`<a data-row href="${pathOf(note)}">Credit note ${note.number}</a>`),
      ...more,
      Amount: amountCell(({ cents }) => -cents),
    })}`;
