import { formatDays } from '../documents/days.ts';
import { type Html, html } from '../documents/html.ts';
import type { CreditNoteDocument, DocumentLine, InvoiceDocument } from '../documents/invoice-document.ts';
import { count, type Fact, money, number, numberHead, time, wideTable } from './parts.ts';

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

/** @param invoicePath address of its invoice; more: what it gives back, said more exactly */
export const givesBackFact = (
  { cents, invoice_number: invoice, line, line_description: description }: CreditNoteDocument,
  { invoicePath, more }: { invoicePath: string; more?: Html | false },
): Fact => [
  'Gives back',
  html`<strong>${money(cents)}</strong> of <a href="${invoicePath}">invoice ${invoice}</a>, line ${line}:
    ${description}${more}`,
];

/** Further columns of a table: their heads, and their cells in each row. */
interface MoreColumns<Row> {
  heads: readonly (string | Html)[];
  cells: (row: Row) => Html;
}

export const lineTable = <Line extends DocumentLine>(lines: readonly Line[], more: MoreColumns<Line>): Html =>
  wideTable(
    'Lines',
    ['Line', 'Description', ...['Quantity', 'Unit price', 'Amount'].map(numberHead), ...more.heads],
    lines.map(
      (line) =>
        html`<tr>
          <td>${line.line}</td>
          <td>${line.description}</td>
          ${number(line.rate_cents === null ? '' : count(line.quantity))}
          ${number(line.rate_cents === null ? '' : money(line.rate_cents))} ${number(money(line.cents))}
          ${more.cells(line)}
        </tr>`,
    ),
  );

type Note = InvoiceDocument['credit_notes'][number];

/** The credit notes of an invoice. @param more columns between the number of each and its amount */
export const noteTable = (
  notes: readonly Note[],
  pathOf: (note: Note) => string,
  more: MoreColumns<Note>,
): Html | false =>
  notes.length > 0 &&
  html`<h2>Credit notes</h2>
    ${wideTable(
      'Credit notes',
      ['Credit note', ...more.heads, numberHead('Amount')],
      notes.map(
        (note) =>
          html`<tr>
            <th scope="row"><a data-row href="${pathOf(note)}">Credit note ${note.number}</a></th>
            ${more.cells(note)} ${number(money(-note.cents))}
          </tr>`,
      ),
    )}`;
