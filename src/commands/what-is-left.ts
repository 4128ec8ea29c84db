import { type Charge, waiverName } from '../domain/change-charge.ts';
import { creditNotesFor, type Invoices, lineLeft, tokensCredited } from '../domain/invoice.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import type { EventStore } from '../ports/event-store.ts';
import { readCharges } from './change-charge.ts';
import { load } from './handler/handle-command.ts';
import { accountInvoices } from './issue-invoice.ts';

/** What may still be given back of charges and of invoices, as the log says. The append that gives it back decides again. */

interface ChargesOfPeriod {
  accountId: string;
  /** Usage stream of the period. */
  stream: string;
  /** Downloads with the revisions of their charges. */
  charges: readonly { token: string; revision: number }[];
}

/**
 * @param wanted reference: the one under which it shall be given back
 * @returns cents by token: 0 for a credit and for a charge that was given back; or `charge_not_found`, `reference_reused`, and
 *   `invoice_not_found` while the books of the period are closed and not invoiced
 * @throws {EventStoreUnavailable}
 */
export async function readChargesLeft(
  store: EventStore,
  { accountId, reference, stream, charges: wanted }: ChargesOfPeriod & { reference: string },
): Promise<ReadonlyMap<string, number> | Refused> {
  const read = await readChargesOf(store, { accountId, stream, charges: wanted });
  if (isRefused(read)) return read;
  if (wanted.some(({ token }) => read.isUsed(reference, token))) return refuse('reference_reused');
  return new Map(read.charges.map(({ token, leftCents }) => [token, leftCents]));
}

export interface ChargeLeft {
  token: string;
  charge: Charge;
  leftCents: number;
}

/** As `readChargesLeft`, with the charges themselves, in the order that was asked. */
export async function readChargesOf(
  store: EventStore,
  { accountId, stream, charges: wanted }: ChargesOfPeriod,
): Promise<
  { isClosed: boolean; charges: ChargeLeft[]; isUsed: (reference: string, token: string) => boolean } | Refused
> {
  const state = await readCharges(store, stream, Math.min(...wanted.map(({ revision }) => revision)));
  const found = wanted.flatMap(({ token, revision }) => {
    const charge = state.charges.get(token);
    return charge?.revision === revision ? [{ token, charge, leftCents: charge.cents }] : [];
  });
  if (found.length < wanted.length) return refuse('charge_not_found');
  const isWaived = (reference: string, token: string) => state.waivers.has(waiverName({ reference, token }));
  if (!state.closed) return { isClosed: false, charges: found, isUsed: isWaived };
  const { state: invoices } = await load(store, accountInvoices(accountId));
  const left = creditsLeft(invoices, { accountId, stream, charges: found });
  if (isRefused(left)) return left;
  return {
    isClosed: true,
    charges: found.map((each) => ({ ...each, leftCents: left.get(each.token) ?? 0 })),
    isUsed: (reference, token) => isWaived(reference, token) || tokensCredited(invoices, reference).includes(token),
  };
}

/** What credit notes of all that is left would give back of each charge. */
function creditsLeft(
  invoices: Invoices,
  { charges, ...about }: { accountId: string; stream: string; charges: readonly ChargeLeft[] },
): Map<string, number> | Refused {
  const wanted = charges.map(({ token, charge }) => ({ token, charge, cents: charge.cents }));
  const notes = creditNotesFor(invoices, { ...about, reference: '', charges: wanted, mailTo: [] });
  if (isRefused(notes)) return notes;
  return new Map(notes.flatMap(({ data }) => data.charges.map(({ token, cents }) => [token, cents])));
}

/** @param about reference: the one under which it shall be given back @throws {EventStoreUnavailable} */
export async function readLineLeft(
  store: EventStore,
  about: { accountId: string; reference: string; invoice_number: number; line: number },
): Promise<{ cents: number } | Refused> {
  const { state } = await load(store, accountInvoices(about.accountId));
  const isUsed = state.creditNotes.some(
    ({ reference, charges }) => reference === about.reference && charges.length === 0,
  );
  return isUsed ? refuse('reference_reused') : lineLeft(state, about);
}

/** What may still be credited of each line of an invoice, in their order. @throws {EventStoreUnavailable} */
export async function readLinesLeft(
  store: EventStore,
  { accountId, number }: { accountId: string; number: number },
): Promise<number[] | Refused> {
  const { state } = await load(store, accountInvoices(accountId));
  const invoice = state.invoices.find((each) => each.number === number);
  if (!invoice) return refuse('invoice_not_found');
  return invoice.lines.map((_line, index) => {
    const left = lineLeft(state, { invoice_number: number, line: index + 1 });
    return isRefused(left) ? 0 : Math.max(0, left.cents);
  });
}
