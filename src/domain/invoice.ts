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
  | {
      kind: 'issue_credit_note';
      note: Note;
      charge?: CreditedCharge | undefined;
    }
  /** Credits all that is left of the charge of a download that the service has failed. */
  | {
      kind: 'return_service_failure';
      accountId: string;
      reference: string;
      periodStart: string;
      charge: CreditedCharge;
    };

export type Note = Omit<CreditNoteIssued, 'number' | 'currency' | 'mail_to'>;

/** The one charge of an overage line that a credit note names, as it is in its period. */
export interface CreditedCharge {
  eventId: string;
  stream: string;
  revision: number;
  rate_cents: number;
  rate_version: string;
  /** The rest of it after waivers. */
  cents: number;
}

/** @returns the events to append: none when there is nothing to pay, or the command has been carried out already */
export function decideInvoices(state: Invoices, command: InvoiceCommand): InvoiceEvent[] | Refused {
  switch (command.kind) {
    case 'issue_invoice':
      return issueInvoice(state, command);
    case 'issue_credit_note':
      return issueCreditNote(state, command);
    case 'return_service_failure':
      return returnServiceFailure(state, command);
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

function issueCreditNote(
  state: Invoices,
  { note, charge, mailTo }: Extract<InvoiceCommand, { kind: 'issue_credit_note' }>,
): InvoiceEvent[] | Refused {
  const same = noteWith(state, note.reference);
  if (same) return isSameNote(same, note) ? [] : refuse('reference_reused');
  const left = creditLeft(state, note, charge);
  if (isRefused(left)) return left;
  return note.cents > left.cents ? refuse('exceeds_charge') : [creditNote(state, note, mailTo)];
}

/** What of an invoice's line, or of one of its charges, a credit note may still give back. */
export function creditLeft(
  state: Invoices,
  about: Pick<Note, 'invoice_number' | 'line' | 'charge_event_id'>,
  charge: CreditedCharge | undefined,
): { cents: number } | Refused {
  const invoice = state.invoices.find(({ number }) => number === about.invoice_number);
  const line = invoice?.lines[about.line - 1];
  if (!invoice || !line) return refuse('invoice_not_found');
  const isOfLine = charge?.eventId === about.charge_event_id && line.kind === 'overage' && names(line, charge);
  if (about.charge_event_id !== null && !isOfLine) return refuse('charge_not_found');
  return { cents: leftCents(state, { invoice, line: about.line, charge }) };
}

/** The line of an invoice that charges a download; undefined while no invoice has one. */
export function lineOfCharge(
  { invoices }: Invoices,
  charge: CreditedCharge,
): { invoice_number: number; line: number } | undefined {
  for (const { number, lines } of invoices) {
    const line = 1 + lines.findIndex((each) => each.kind === 'overage' && names(each, charge));
    if (line > 0) return { invoice_number: number, line };
  }
  return undefined;
}

function returnServiceFailure(
  state: Invoices,
  command: Extract<InvoiceCommand, { kind: 'return_service_failure' }>,
): InvoiceEvent[] | Refused {
  const { accountId, reference, periodStart, charge, mailTo } = command;
  if (noteWith(state, reference)) return [];
  const invoice = state.invoices.find(
    ({ covers, period_start: start }) => covers === 'period' && start === periodStart,
  );
  if (!invoice) return refuse('invoice_not_found');
  const line = 1 + invoice.lines.findIndex((each) => each.kind === 'overage' && names(each, charge));
  if (line === 0) return refuse('charge_not_found');
  // An earlier credit note may have credited the line.
  const cents = leftCents(state, { invoice, line, charge });
  if (cents <= 0) return [];
  const about = { invoice_number: invoice.number, line, charge_event_id: charge.eventId };
  return [creditNote(state, { account_id: accountId, reference, ...about, cents }, mailTo)];
}

const noteWith = ({ creditNotes }: Invoices, wanted: string) =>
  creditNotes.find(({ reference }) => reference === wanted);

const creditNote = ({ creditNotes }: Invoices, note: Note, mailTo: readonly string[]): InvoiceEvent => ({
  type: 'CreditNoteIssued',
  data: { number: nextNumber(creditNotes), ...note, currency: 'USD', mail_to: [...mailTo] },
});

const overageKinds = new Set<InvoiceLine['kind'] | undefined>(['overage', 'waivers', 'waiver']);

/** The cents that may still be credited: of the invoice, of the line less its waivers, and of the one charge. */
function leftCents(
  { creditNotes }: Invoices,
  { invoice, line: number, charge }: { invoice: InvoiceIssued; line: number; charge?: CreditedCharge | undefined },
): number {
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
  if (charge) bounds.push(charge.cents - credited((note) => note.charge_event_id === charge.eventId));
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

function isSameNote(same: CreditNoteIssued, note: Note): boolean {
  return (
    same.invoice_number === note.invoice_number &&
    same.line === note.line &&
    same.cents === note.cents &&
    same.charge_event_id === note.charge_event_id
  );
}

/** Compares the rate too: one range for all charges of a line may include charges of other lines. */
function names(line: Extract<InvoiceLine, { kind: 'overage' }>, charge: CreditedCharge): boolean {
  const isOfRate = line.rate_cents === charge.rate_cents && line.rate_version === charge.rate_version;
  return (
    isOfRate &&
    charge.stream === line.stream &&
    line.revisions.some(
      ([first, last, step]) =>
        charge.revision >= first && charge.revision <= last && (charge.revision - first) % step === 0,
    )
  );
}
