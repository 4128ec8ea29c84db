import { stringify } from 'csv-stringify/sync';
import { formatCents } from '../domain/cents.ts';
import type { LineItem } from '../domain/line-items.ts';
import type { CreditNoteDocument, DocumentLine, InvoiceDocument } from './invoice-document.ts';
import { formatRevisions } from './revisions.ts';
import { spreadsheetCsv } from './spreadsheet-csv.ts';

/**
 * A line of the invoice is a row; a line whose charges or waivers are shown is a row for each of them instead, so that the cents
 * of the rows always add up to the total.
 */
export function invoiceCsv(document: InvoiceDocument): string {
  const { document_number, account_id, number, issued_at, period_start, period_end, currency, lines } = document;
  const head = { invoice_number: number, document_number, account_id, issued_at, ...partiesOf(document) };
  const rows = lines.flatMap(rowsOf).map((row) => ({ ...head, period_start, period_end, ...row, currency }));
  return csv(rows);
}

/** A row for each charge that the note gives back, or one for the line as a whole: the cents of the rows add up to the note's. */
export function creditNoteCsv({ number, event, cents, ...note }: CreditNoteDocument): string {
  const { document_number, account_id, issued_at, reference, reason, issued_by, line, line_description } = note;
  const { invoice_number, invoice_document_number, charges, currency } = note;
  const about = { credit_note_number: number, document_number, account_id, issued_at, ...partiesOf(note) };
  const given = { invoice_number, invoice_document_number, line, line_description };
  const parts = charges.length > 0 ? charges : [{ token: null, charge_event_id: null, cents }];
  return csv(
    parts.map((part) => ({
      ...about,
      ...given,
      token: part.token,
      charge_event_id: part.charge_event_id,
      reference,
      reason,
      issued_by,
      cents: part.cents,
      dollars: dollars(part.cents),
      currency,
      stream: event.stream,
      revision: event.revision,
      event_id: event.id,
    })),
  );
}

const partiesOf = ({ issuer, billed_to: billedTo }: Pick<InvoiceDocument, 'issuer' | 'billed_to'>) => ({
  issuer: issuer.name,
  issuer_tax_id: issuer.tax_id,
  billed_to: billedTo.name ?? billedTo.email,
  billed_to_tax_id: billedTo.tax_id,
});

const noItem = { time: null, token: null, platform: null, video_id: null, reference: null, reason: null };

function rowsOf({ items, revisions, cents, stream, event_id, ...line }: DocumentLine): object[] {
  const whole = {
    ...line,
    cents,
    dollars: dollars(cents),
    stream,
    revisions: formatRevisions(revisions),
    event_id,
    ...noItem,
  };
  const itemRow = ({ revision, ...item }: LineItem) => ({
    ...whole,
    quantity: 1,
    dollars: dollars(item.cents),
    revisions: String(revision),
    ...item,
  });
  return items?.map(itemRow) ?? [whole];
}

/** Such as `-0.25`: the amount alone, for a column. */
const dollars = (cents: number): string => formatCents(cents).replace('$', '');

const csv = (rows: readonly object[]): string => stringify([...rows], { header: true, bom: true, ...spreadsheetCsv });
