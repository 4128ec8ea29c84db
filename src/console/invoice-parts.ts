import { formatDays } from '../documents/days.ts';
import { type Columns, type Html, html, numberCell } from '../documents/html.ts';
import type { CreditNoteDocument, DocumentLine, InvoiceDocument } from '../documents/invoice-document.ts';
import { amountCell, count, type Fact, listTable, money, rowName, time } from './parts.ts';

/** Parts of the pages of invoices and credit notes that owners and staff see alike. */

export const coversText = ({
  covers,
  period_start: start,
  period_end: end,
}: Pick<InvoiceDocument, 'covers' | 'period_start' | 'period_end'>): string =>
  covers === 'opening' ? 'the first fee' : formatDays(start, end);

export const documentFact = ({ document_number: name, issued_at: at }: InvoiceDocument | CreditNoteDocument): Fact => [
  'Document',
  html`<code>${name}</code>, issued ${time(at)}`,
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
    ${listTable('Charges given back', charges, {
      Download: ({ token }) => html`<a data-row href="${pathOf(token)}"><code>${token}</code></a>`,
      'Event of the charge': ({ charge_event_id: id }) => html`<code>${id}</code>`,
      Amount: amountCell(({ cents }) => cents),
    })}`;

/** @param more columns behind those that every table of lines has */
export const lineTable = <Line extends DocumentLine>(lines: readonly Line[], more: Columns<Line>): Html =>
  listTable('Lines', lines, {
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
    ${listTable('Credit notes', notes, {
      'Credit note': rowName((note) => html`<a data-row href="${pathOf(note)}">Credit note ${note.number}</a>`),
      ...more,
      Amount: amountCell(({ cents }) => -cents),
    })}`;
