import type { IssuerDetails } from '../domain/billing-details.ts';
import { formatCents } from '../domain/cents.ts';
import { formatDays } from './days.ts';
import { type BilledTo, type CreditNoteDocument, type InvoiceDocument, taxSentences } from './invoice-document.ts';
import { formatRevisions } from './revisions.ts';
import { facts, table, type Width } from './text.ts';

/** An invoice or a credit note as plain text. */

const inOneLine = ({ name, address_lines: lines, country, tax_id: taxId, email }: BilledTo | IssuerDetails): string =>
  [name, ...lines, country, taxId, email].filter((part) => part !== null).join(', ');

export function invoiceText(invoice: InvoiceDocument, width: Width): string {
  const { document_number, number, issuer, billed_to, account_id, issued_at, covers } = invoice;
  const { period_start, period_end, event, lines, total_cents: totalCents } = invoice;
  const { credit_notes: notes, credited_cents: creditedCents } = invoice;
  const rows = lines.map((line) => [
    ...[String(line.line), line.description, String(line.quantity)],
    line.rate_cents === null ? '-' : `${formatCents(line.rate_cents)} (${line.rate_version ?? ''})`,
    ...[formatCents(line.cents), line.stream, formatRevisions(line.revisions, 4)],
  ]);
  const items = lines.flatMap(({ line, items: ofLine = [] }) =>
    ofLine.map((item) => [
      ...[String(line), item.time, item.token, `${item.platform} ${item.video_id}`, formatCents(item.cents)],
      ...[item.reference ?? '', item.reason ?? '', item.event_id, String(item.revision)],
    ]),
  );
  const noteRows = notes.map((note) => [
    ...[String(note.number), note.document_number, note.issued_at, String(note.line), note.reference],
    ...[formatCents(-note.cents), note.reason],
  ]);
  const itemHeads = ['line', 'time', 'token', 'item', 'amount', 'reference', 'reason', 'event', 'revision'];
  const parts = [
    facts({
      invoice: number,
      document_number,
      issuer: inOneLine(issuer),
      billed_to: inOneLine(billed_to),
      account: account_id,
      issued: issued_at,
      covers,
      period: formatDays(period_start, period_end),
      event: `${String(event.revision)} of ${event.stream}`,
    }),
    table(width, ['line', 'description', 'quantity', 'rate', 'amount', 'stream', 'revisions'], rows),
    ...(items.length > 0 ? [table(width, itemHeads, items)] : []),
    ...(notes.length > 0
      ? [table(width, ['credit_note', 'document_number', 'issued', 'line', 'reference', 'amount', 'reason'], noteRows)]
      : []),
    facts({
      total: formatCents(totalCents),
      ...(notes.length > 0 && {
        credited: formatCents(creditedCents),
        remains: formatCents(totalCents - creditedCents),
      }),
    }),
    taxSentences(invoice),
  ];
  return `${parts.join('\n\n')}\n`;
}

export function creditNoteText(
  { type: _type, amounts: _amounts, issuer_lacks: lacks, event, cents, number, charges, ...note }: CreditNoteDocument,
  width: Width,
): string {
  const parties = { issuer: inOneLine(note.issuer), billed_to: inOneLine(note.billed_to) };
  const where = `${String(event.revision)} of ${event.stream}`;
  const rows = charges.map((each) => [each.token, each.charge_event_id, formatCents(each.cents)]);
  const parts = [
    facts({ credit_note: number, ...note, ...parties, amount: formatCents(cents), event: where }),
    ...(rows.length > 0 ? [table(width, ['token', 'charge', 'amount'], rows)] : []),
    taxSentences({ issuer_lacks: lacks }),
  ];
  return `${parts.join('\n\n')}\n`;
}
