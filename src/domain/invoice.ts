import { periodOfUsageStream } from './billing-period.ts';
import type { Charge } from './change-charge.ts';
import { nextNumber } from './document-number.ts';
import type { CreditNoteIssued, InvoiceEvent, InvoiceIssued, InvoiceLine } from './invoice-events.ts';
import { isRefused, refuse, type Refused } from './refusals.ts';

/**
 * The invoices and credit notes of an account, from the stream `invoices-{accountId}`. A period is invoiced once, because the
 * state names it. An issued invoice never changes; credit notes correct it.
 */
export interface Invoices {
  invoices: readonly InvoiceIssued[];
  creditNotes: readonly CreditNoteIssued[];
}

export const initialInvoices: Invoices = { invoices: [], creditNotes: [] };

export function evolveInvoices(state: Invoices, event: InvoiceEvent): Invoices {
  switch (event.type) {
    case 'InvoiceIssued':
      return { ...state, invoices: [...state.invoices, event.data] };
    case 'CreditNoteIssued':
      return { ...state, creditNotes: [...state.creditNotes, event.data] };
    case 'DocumentMailAsked':
    case 'DocumentMailed':
      return state;
    // Stryker disable next-line ConditionalExpression: the compiler proves that no event comes here
    default:
      return event satisfies never;
  }
}

/** The content of an invoice, without its number. */
export type InvoiceDraft = Omit<InvoiceIssued, 'number' | 'currency' | 'total_cents' | 'mail_to'>;

/** With the people who get a mail about the document. */
export type InvoiceCommand = Asked & { mailTo: readonly string[] };

type Asked =
  | { kind: 'issue_invoice'; draft: InvoiceDraft }
  | { kind: 'credit_line'; note: LineNote }
  | ({ kind: 'credit_charges'; accountId: string; reference: string } & CreditedCharges);

/** A credit note about a line as a whole, without its number. */
export type LineNote = Omit<Note, 'charges'>;

type Note = Omit<CreditNoteIssued, 'number' | 'currency' | 'mail_to'>;

/** Charges of a period whose books are closed. */
interface CreditedCharges {
  /** Usage stream of the period. */
  stream: string;
  charges: readonly CreditedCharge[];
}

export interface CreditedCharge {
  token: string;
  /** The charge as it is in its period. */
  charge: Pick<Charge, 'eventId' | 'revision' | 'rate' | 'cents'>;
  /** The most that is credited of it. */
  cents: number;
}

/** @returns the events to append: none when there is nothing to pay, or the command has been carried out already */
export function decideInvoices(state: Invoices, command: InvoiceCommand): InvoiceEvent[] | Refused {
  switch (command.kind) {
    case 'issue_invoice':
      return issueInvoice(state, command);
    case 'credit_line':
      return creditLine(state, command);
    case 'credit_charges':
      return creditCharges(state, command);
  }
}

function issueInvoice(
  { invoices }: Invoices,
  { draft, mailTo }: Extract<InvoiceCommand, { kind: 'issue_invoice' }>,
): InvoiceEvent[] {
  const isIssued = invoices.some(
    ({ covers, period_start: start }) => covers === draft.covers && start === draft.period_start,
  );
  const totalCents = draft.lines.reduce((sum, { cents }) => sum + cents, 0);
  if (isIssued || totalCents === 0) return [];
  return [
    {
      type: 'InvoiceIssued',
      data: {
        number: nextNumber(invoices),
        ...draft,
        currency: 'USD',
        total_cents: totalCents,
        mail_to: [...mailTo],
      },
    },
  ];
}

function creditLine(
  state: Invoices,
  { note, mailTo }: Extract<InvoiceCommand, { kind: 'credit_line' }>,
): InvoiceEvent[] | Refused {
  const same = state.creditNotes.find(({ reference, charges }) => reference === note.reference && charges.length === 0);
  if (same) return isSameNote(same, note) ? [] : refuse('reference_reused');
  const left = lineLeft(state, note);
  if (isRefused(left)) return left;
  return note.cents > left.cents ? refuse('exceeds_charge') : [creditNote(state, { ...note, charges: [] }, mailTo)];
}

/** What of an invoice's line a credit note may still give back. */
export function lineLeft(state: Invoices, about: Pick<Note, 'invoice_number' | 'line'>): { cents: number } | Refused {
  const invoice = state.invoices.find(({ number }) => number === about.invoice_number);
  if (!invoice?.lines[about.line - 1]) return refuse('invoice_not_found');
  return { cents: leftCents(state, invoice, about.line) };
}

type CreditCharges = Extract<Asked, { kind: 'credit_charges' }>;

function creditCharges(state: Invoices, command: CreditCharges & { mailTo: readonly string[] }) {
  const tokens = new Set(command.charges.map(({ token }) => token));
  if (tokensCredited(state, command.reference).some((token) => tokens.has(token))) return [];
  const notes = creditNotesFor(state, command);
  return isRefused(notes) || notes.length > 0 ? notes : refuse('nothing_to_give_back');
}

/** The downloads whose charges were credited under a reference. */
export const tokensCredited = ({ creditNotes }: Invoices, reference: string): string[] =>
  creditNotes
    .filter((note) => note.reference === reference)
    .flatMap(({ charges }) => charges.map(({ token }) => token));

/** A credit note for each line that has some of the charges: of each charge so many cents, or what is left of it. */
export function creditNotesFor(
  state: Invoices,
  {
    accountId: account_id,
    reference,
    stream,
    charges: wanted,
    mailTo,
  }: Omit<CreditCharges, 'kind'> & { mailTo: readonly string[] },
): CreditNote[] | Refused {
  const { start } = periodOfUsageStream(stream);
  const invoice = state.invoices.find(({ covers, period_start }) => covers === 'period' && period_start === start);
  if (!invoice) return refuse('invoice_not_found');
  // A charge that was voided stands on no invoice.
  const left = wanted.filter(({ charge }) => charge.cents > 0);
  const byLine = Map.groupBy(left, ({ charge }) => 1 + invoice.lines.findIndex((line) => hasCharge(line, charge)));
  if (byLine.has(0)) return refuse('charge_not_found');
  const credited = creditedByCharge(state);
  let after = state;
  const notes: CreditNote[] = [];
  for (const [line, ofLine] of byLine) {
    const parts = ofLine.map(({ token, charge: { eventId, cents: chargeCents }, cents }) => ({
      token,
      charge_event_id: eventId,
      cents: Math.min(cents, chargeCents - (credited.get(eventId) ?? 0)),
    }));
    const charges = withinCents(parts, leftCents(after, invoice, line));
    if (charges.length === 0) continue;
    const about = { account_id, reference, invoice_number: invoice.number, line };
    const note = creditNote(after, { ...about, charges, cents: sumOf(charges) }, mailTo);
    notes.push(note);
    // The lines of an invoice share what is left of it.
    after = evolveInvoices(after, note);
  }
  return notes;
}

/** Cents that credit notes have given back of each charge, by the id of its event. */
function creditedByCharge({ creditNotes }: Invoices): Map<string, number> {
  const credited = new Map<string, number>();
  for (const { charge_event_id: id, cents } of creditNotes.flatMap(({ charges }) => charges))
    credited.set(id, (credited.get(id) ?? 0) + cents);
  return credited;
}

/** The first of them that come to so many cents together. */
function withinCents<Part extends { cents: number }>(parts: readonly Part[], cents: number): Part[] {
  let left = cents;
  return parts.flatMap((part) => {
    const given = Math.min(part.cents, left);
    if (given <= 0) return [];
    left -= given;
    return [{ ...part, cents: given }];
  });
}

type CreditNote = Extract<InvoiceEvent, { type: 'CreditNoteIssued' }>;

const creditNote = ({ creditNotes }: Invoices, note: Note, mailTo: readonly string[]): CreditNote => ({
  type: 'CreditNoteIssued',
  data: { number: nextNumber(creditNotes), ...note, currency: 'USD', mail_to: [...mailTo] },
});

const overageKinds = new Set<InvoiceLine['kind'] | undefined>(['overage', 'waivers', 'waiver']);

/** The cents that may still be credited: of the invoice, and of the line less its waivers. @param number of the line, from 1 */
function leftCents({ creditNotes }: Invoices, invoice: InvoiceIssued, number: number): number {
  const notes = creditNotes.filter(({ invoice_number }) => invoice_number === invoice.number);
  const credited = (isAbout: (note: CreditNoteIssued) => boolean) => sumOf(notes.filter(isAbout));
  const line = invoice.lines[number - 1];
  const bounds = [
    invoice.total_cents - credited(() => true),
    (line ? lessWaivers(invoice, line) : 0) - credited((note) => note.line === number),
  ];
  // The `waiver` lines of older invoices do not name the line that they belong to: they bound all overage together.
  // Stryker disable next-line OptionalChaining: the caller has found the line
  if (line?.kind === 'overage') {
    const isOverage = (kind?: InvoiceLine['kind']) => overageKinds.has(kind);
    const overageCents = sumOf(invoice.lines.filter(({ kind }) => isOverage(kind)));
    // Stryker disable next-line OptionalChaining: a credit note names a line that there is
    bounds.push(overageCents - credited((note) => isOverage(invoice.lines[note.line - 1]?.kind)));
  }
  return Math.min(...bounds);
}

/** A line less the waivers of its charges before the close. */
function lessWaivers({ lines }: InvoiceIssued, line: InvoiceLine): number {
  // Stryker disable next-line ConditionalExpression: no waivers have the rate of a fee, which has none
  if (line.kind !== 'overage') return line.cents;
  const isOfLine = (other: InvoiceLine) =>
    other.kind === 'waivers' && other.rate_cents === line.rate_cents && other.rate_version === line.rate_version;
  return line.cents + sumOf(lines.filter(isOfLine));
}

const sumOf = (parts: readonly { cents: number }[]): number => parts.reduce((sum, { cents }) => sum + cents, 0);

const isSameNote = (same: CreditNoteIssued, note: LineNote): boolean =>
  same.invoice_number === note.invoice_number && same.line === note.line && same.cents === note.cents;

/** Compares the rate too: one range for all charges of a line may include charges of other lines. */
const hasCharge = (line: InvoiceLine, { revision, rate }: CreditedCharge['charge']): boolean =>
  line.kind === 'overage' &&
  line.rate_cents === rate?.rate_cents &&
  line.rate_version === rate.rate_version &&
  line.revisions.some(
    ([first, last, step]) => revision >= first && revision <= last && (revision - first) % step === 0,
  );
