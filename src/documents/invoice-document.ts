import type { BillingDetails, IssuerDetails } from '../domain/billing-details.ts';
import { documentNumber } from '../domain/document-number.ts';
import type { CreditNoteIssued, InvoiceIssued, InvoiceLine } from '../domain/invoice-events.ts';
import type { LineItem } from '../domain/line-items.ts';
import { formatDays } from './days.ts';

/**
 * An invoice or a credit note as it is shown: every form (JSON, CSV, text, page) is made from this alone, and this from stored
 * events alone, so that the same log gives the same bytes wherever and whenever it is asked. What was credited since, and an
 * issuer's name that comes from the settings, are all that may differ later. It shows tax IDs, and no VAT: amounts are without tax,
 * and it says so, and what the issuer has to state before it is a tax document.
 */
export type InvoiceDocument = ReturnType<typeof invoiceDocument>;
export type CreditNoteDocument = ReturnType<typeof creditNoteDocument>;

export interface BilledTo extends BillingDetails {
  /** Null if it was erased. */
  email: string | null;
}

export type DocumentLine = ReturnType<typeof documentLine>;

/** First, last, and the step between. */
type Revisions = [first: number, last: number, step: number];

/** A stored event with its place in the log. */
interface Issued<Data> {
  data: Data;
  eventId: string;
  revision: number;
  issuedAt: string;
  actor: { type: string; id: string; reason?: string };
}

interface Parties {
  issuer: IssuerDetails;
  billedTo: BilledTo;
  /** Name of the account's stream of invoices. */
  stream: string;
}

/** What is given back without a reason is the service's own, for a failure of its own. */
const reasonOf = ({ reason }: Issued<unknown>['actor']): string => reason ?? 'failure of the service';

const headOf = <Type extends 'invoice' | 'credit_note'>(
  type: Type,
  { data, issuedAt }: Issued<{ account_id: string; number: number }>,
  { issuer, billedTo }: Parties,
) => ({
  type,
  /** Unique among all documents of the issuer. */
  document_number: documentNumber(type, data),
  issuer,
  billed_to: billedTo,
  account_id: data.account_id,
  number: data.number,
  issued_at: issuedAt,
  amounts: 'without tax' as const,
  /** What the issuer had not stated yet, without which it is no tax document. */
  issuer_lacks: lacksOf(issuer),
});

function lacksOf({
  address_lines: lines,
  country,
  tax_id: taxId,
}: IssuerDetails): ('address' | 'country' | 'tax_id')[] {
  const lacks = { address: lines.length === 0, country: country === null, tax_id: taxId === null };
  return (Object.keys(lacks) as (keyof typeof lacks)[]).filter((name) => lacks[name]);
}

const namesOfDetails = { address: 'address', country: 'country', tax_id: 'tax ID' } as const;

/** The sentences about tax that every document has. */
export function taxSentences({ issuer_lacks: lacks }: Pick<InvoiceDocument, 'issuer_lacks'>): string {
  const without = 'Amounts are without tax.';
  if (lacks.length === 0) return without;
  const names = lacks.map((name) => namesOfDetails[name]);
  const listed = names.length === 1 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
  return `${without} This is no tax document: it lacks the issuer's ${listed}.`;
}

/** @param items those to show, by the number of their line */
export function invoiceDocument(
  issued: Issued<InvoiceIssued>,
  creditNotes: readonly Issued<CreditNoteIssued>[],
  { items, ...parties }: Parties & { items: ReadonlyMap<number, LineItem[]> },
) {
  const { number, covers, period_start, period_end, currency, total_cents, lines } = issued.data;
  const notes = creditNotes.filter(({ data: note }) => note.invoice_number === number);
  return {
    ...headOf('invoice', issued, parties),
    covers,
    period_start,
    period_end,
    currency,
    lines: lines.map((line, index) => documentLine(line, index + 1, items.get(index + 1))),
    total_cents,
    /** Cents given back since. */
    credit_notes: notes.map(({ data: note, issuedAt, actor }) => ({
      number: note.number,
      document_number: documentNumber('credit_note', note),
      issued_at: issuedAt,
      line: note.line,
      reference: note.reference,
      reason: reasonOf(actor),
      cents: note.cents,
    })),
    credited_cents: notes.reduce((sum, { data: { cents } }) => sum + cents, 0),
    event: { stream: parties.stream, revision: issued.revision, id: issued.eventId },
  };
}

/** @param invoice the one that the note gives back a part of */
export function creditNoteDocument(issued: Issued<CreditNoteIssued>, invoice: InvoiceIssued, parties: Parties) {
  const { reference, invoice_number, line, charges, currency, cents } = issued.data;
  const credited = invoice.lines[line - 1];
  if (!credited) throw new Error(`invoice ${String(invoice_number)} has no line ${String(line)}`);
  return {
    ...headOf('credit_note', issued, parties),
    reference,
    reason: reasonOf(issued.actor),
    issued_by: issued.actor.id,
    invoice_number,
    invoice_document_number: documentNumber('invoice', invoice),
    line,
    line_description: describeLine(credited),
    /** Those that it gives back; none: the line as a whole. */
    charges,
    currency,
    cents,
    event: { stream: parties.stream, revision: issued.revision, id: issued.eventId },
  };
}

/** @param number of the line, from 1; items: the waivers of such a line, or the charges of an overage line, where they are shown */
export function documentLine(line: InvoiceLine, number: number, items: LineItem[] | undefined) {
  const isQuantity = line.kind === 'overage' || line.kind === 'waivers';
  const revisions = isQuantity ? line.revisions : [[line.event.revision, line.event.revision, 1] as Revisions];
  return {
    line: number,
    kind: line.kind,
    description: describeLine(line),
    quantity: isQuantity ? line.quantity : 1,
    /** Unit price; null if the line is not a quantity of equal items. */
    rate_cents: isQuantity ? line.rate_cents : null,
    rate_version: isQuantity ? line.rate_version : null,
    cents: line.cents,
    /** Where in the log the line comes from. */
    stream: isQuantity ? line.stream : line.event.stream,
    revisions,
    /** Event of a line that comes from a single one. */
    event_id: isQuantity ? null : line.event.id,
    ...(items && { items }),
  };
}

export function describeLine(line: InvoiceLine): string {
  switch (line.kind) {
    case 'overage':
      return 'Downloads beyond the allowance';
    case 'waivers':
      return 'Charges waived';
    case 'fee':
      return `Monthly fee, plan ${line.plan}, ${formatDays(line.period_start, line.period_end)}`;
    case 'fee_difference':
      return `Upgrade to plan ${line.plan}: the rise of the monthly fee`;
    case 'waiver':
      return `Charge waived, reference ${line.reference}`;
  }
}
