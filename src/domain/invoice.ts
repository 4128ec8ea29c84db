import type { CreditNoteIssued, InvoiceEvent, InvoiceIssued, InvoiceLine } from './invoice-events.ts';
import { refuse } from './refusals.ts';
import type { Refused } from './refusals.ts';

/**
 * What an account was asked to pay: its invoices and credit notes, from the stream `invoices-{accountId}`. A period is
 * invoiced once because the state names it; what was issued never changes, and is corrected by credit notes.
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
    default:
      return event satisfies never;
  }
}

/** What an invoice says besides its number. */
export type InvoiceDraft = Omit<InvoiceIssued, 'number' | 'currency' | 'total_cents'>;

export type InvoiceCommand =
  | { kind: 'issue_invoice'; draft: InvoiceDraft }
  | {
      kind: 'issue_credit_note';
      note: Omit<CreditNoteIssued, 'number' | 'currency'>;
      charge?: CreditedCharge | undefined;
    };

/** The one charge of an overage line that a credit note is about, as its period has it. */
export interface CreditedCharge {
  stream: string;
  revision: number;
  /** What is left of it after waivers, in cents. */
  cents: number;
}

/** @returns the events to append: none when there is nothing to pay, or the command has been carried out already */
export function decideInvoices(state: Invoices, command: InvoiceCommand): InvoiceEvent[] | Refused {
  return command.kind === 'issue_invoice' ? issueInvoice(state, command.draft) : issueCreditNote(state, command);
}

function issueInvoice({ invoices }: Invoices, draft: InvoiceDraft): InvoiceEvent[] {
  const isIssued = invoices.some(
    ({ covers, period_start: start }) => covers === draft.covers && start === draft.period_start,
  );
  const totalCents = draft.lines.reduce((sum, { cents }) => sum + cents, 0);
  if (isIssued || totalCents === 0) return [];
  return [
    {
      type: 'InvoiceIssued',
      data: { number: invoices.length + 1, ...draft, currency: 'USD', total_cents: totalCents },
    },
  ];
}

function issueCreditNote(
  { invoices, creditNotes }: Invoices,
  { note, charge }: Extract<InvoiceCommand, { kind: 'issue_credit_note' }>,
): InvoiceEvent[] | Refused {
  const same = creditNotes.find(({ reference }) => reference === note.reference);
  if (same) return isSameNote(same, note) ? [] : refuse('reference_reused');
  const invoice = invoices.find(({ number }) => number === note.invoice_number);
  const line = invoice?.lines[note.line - 1];
  if (!invoice || !line) return refuse('invoice_not_found');
  const credited = (isAbout: (other: CreditNoteIssued) => boolean) =>
    creditNotes
      .filter((other) => other.invoice_number === note.invoice_number && isAbout(other))
      .reduce((sum, { cents }) => sum + cents, note.cents);
  if (credited(() => true) > invoice.total_cents) return refuse('exceeds_charge');
  if (credited((other) => other.line === note.line) > line.cents) return refuse('exceeds_charge');
  // What was waived before the close is given back already.
  const overageCents = invoice.lines.reduce((sum, { kind, cents }) => sum + (isOverage(kind) ? cents : 0), 0);
  if (line.kind === 'overage' && credited((other) => invoice.lines[other.line - 1]?.kind === 'overage') > overageCents)
    return refuse('exceeds_charge');
  if (note.charge_event_id !== null) {
    if (!charge || line.kind !== 'overage' || !names(line, charge)) return refuse('charge_not_found');
    if (credited((other) => other.charge_event_id === note.charge_event_id) > charge.cents)
      return refuse('exceeds_charge');
  }
  return [{ type: 'CreditNoteIssued', data: { number: creditNotes.length + 1, ...note, currency: 'USD' } }];
}

const isOverage = (kind: InvoiceLine['kind']): boolean => ['overage', 'waivers', 'waiver'].includes(kind);

function isSameNote(same: CreditNoteIssued, note: Omit<CreditNoteIssued, 'number' | 'currency'>): boolean {
  return (
    same.invoice_number === note.invoice_number &&
    same.line === note.line &&
    same.cents === note.cents &&
    same.charge_event_id === note.charge_event_id
  );
}

function names(
  { stream, revisions }: Extract<InvoiceIssued['lines'][number], { kind: 'overage' }>,
  charge: CreditedCharge,
): boolean {
  return (
    charge.stream === stream &&
    revisions.some(
      ([first, last, step]) =>
        charge.revision >= first && charge.revision <= last && (charge.revision - first) % step === 0,
    )
  );
}
