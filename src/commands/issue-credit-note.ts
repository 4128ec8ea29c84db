import { evolveCharges, newCharges } from '../domain/change-charge.ts';
import { type CreditedCharge, creditLeft, decideInvoices, lineOfCharge, type Note } from '../domain/invoice.ts';
import type { CreditNoteIssued, InvoiceIssued } from '../domain/invoice-events.ts';
import { parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import type { UsageEventOf } from '../domain/usage-events.ts';
import type { EventStore } from '../ports/event-store.ts';
import { mailRecipients } from './handler/account-aggregate.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import type { Cause } from './handler/event-metadata.ts';
import { handle, load } from './handler/handle-command.ts';
import { accountInvoices } from './issue-invoice.ts';

export interface CreditNoteRequest {
  note: Note;
  /** The permission, with the actor who asked. */
  cause: Cause;
  /** As in `InvoiceRequest`. */
  mails?: boolean | undefined;
  timeoutMs: number;
}

/**
 * Gives back a part of an invoice, bounded by its line, its total and, if the note names one, the one charge. The same note with
 * the same reference is issued once, however often the command is repeated.
 *
 * @returns the note that has this reference, and whether this command has issued it
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function issueCreditNote(
  { store, now }: Pick<CommandDependencies, 'store' | 'now'>,
  { note, cause, mails = true, timeoutMs }: CreditNoteRequest,
): Promise<{ note: CreditNoteIssued; issued: boolean } | Refused> {
  const invoices = accountInvoices(note.account_id);
  const charge = await creditedCharge(store, (await load(store, invoices)).state.invoices, note);
  const mailTo = mails ? await mailRecipients(store, note.account_id) : [];
  const handled = await handle(store, invoices, {
    decide: (state) => decideInvoices(state, { kind: 'issue_credit_note', note, charge, mailTo }),
    cause,
    now,
    timeoutMs,
  });
  if (isRefused(handled)) return handled;
  const known = handled.state.creditNotes.find(({ reference }) => reference === note.reference);
  if (!known) throw new Error(`the credit note ${note.reference} was issued and is not there`);
  return { note: known, issued: handled.events.length > 0 };
}

/** What may still be credited of an invoice's line or of one of its charges, as the log says. @throws {EventStoreUnavailable} */
export async function readCreditLeft(
  store: EventStore,
  about: CreditedPart,
): Promise<{ cents: number; references: ReadonlySet<string> } | Refused> {
  const { state } = await load(store, accountInvoices(about.account_id));
  const left = creditLeft(state, about, await creditedCharge(store, state.invoices, about));
  const references = new Set(state.creditNotes.map(({ reference }) => reference));
  return isRefused(left) ? left : { ...left, references };
}

/** What may still be credited of each line of an invoice, in their order, as the log says. @throws {EventStoreUnavailable} */
export async function readLinesLeft(
  store: EventStore,
  { accountId, number }: { accountId: string; number: number },
): Promise<number[] | Refused> {
  const { state } = await load(store, accountInvoices(accountId));
  const invoice = state.invoices.find((each) => each.number === number);
  if (!invoice) return refuse('invoice_not_found');
  return invoice.lines.map((_line, index) => {
    const left = creditLeft(state, { invoice_number: number, line: index + 1, charge_event_id: null }, undefined);
    return isRefused(left) ? 0 : Math.max(0, left.cents);
  });
}

/** The invoice's line that holds a charge of a closed period, and what may still be credited of it. @throws {EventStoreUnavailable} */
export async function readChargeCredit(
  store: EventStore,
  { accountId, stream, chargeEventId }: { accountId: string; stream: string; chargeEventId: string },
): Promise<{ invoiceNumber: number; line: number; cents: number } | Refused> {
  const { state } = await load(store, accountInvoices(accountId));
  const charge = await readClosedCharge(store, stream, chargeEventId);
  const at = charge && lineOfCharge(state, charge);
  if (!at) return refuse('invoice_not_found');
  const left = creditLeft(state, { ...at, charge_event_id: chargeEventId }, charge);
  return isRefused(left) ? left : { invoiceNumber: at.invoice_number, line: at.line, cents: left.cents };
}

type CreditedPart = Pick<Note, 'account_id' | 'invoice_number' | 'line' | 'charge_event_id'>;

/** The charge that a note names. */
async function creditedCharge(
  store: EventStore,
  invoices: readonly InvoiceIssued[],
  { invoice_number, line: lineNumber, charge_event_id: chargeEventId }: CreditedPart,
): Promise<CreditedCharge | undefined> {
  const line = invoices.find(({ number }) => number === invoice_number)?.lines[lineNumber - 1];
  if (chargeEventId === null || line?.kind !== 'overage') return undefined;
  return readClosedCharge(store, line.stream, chargeEventId);
}

/** A charge as it is in its closed period, where it does not change any more. */
async function readClosedCharge(
  store: EventStore,
  stream: string,
  chargeEventId: string,
): Promise<CreditedCharge | undefined> {
  let state = newCharges();
  let found: { data: UsageEventOf<'OverageCharged'>['data']; revision: number } | undefined;
  for (const { event, id, revision } of (await store.read(stream, 0)).map(parseUsageEvent)) {
    state = evolveCharges(state, event, { id });
    if (id === chargeEventId && event.type === 'OverageCharged') found = { data: event.data, revision };
  }
  const charge = found && state.charges.get(found.data.token);
  if (!found || !charge) return undefined;
  const { rate_cents, rate_version } = found.data;
  return { eventId: chargeEventId, stream, revision: found.revision, rate_cents, rate_version, cents: charge.cents };
}
