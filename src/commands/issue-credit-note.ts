import { decideInvoices, type Invoices, type LineNote } from '../domain/invoice.ts';
import type { InvoiceEvent } from '../domain/invoice-events.ts';
import type { Refused } from '../domain/refusals.ts';
import type { EventStore } from '../ports/event-store.ts';
import { readCharges } from './change-charge.ts';
import { mailRecipients } from './handler/account-aggregate.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import type { Cause } from './handler/event-metadata.ts';
import { handle, type Handled } from './handler/handle-command.ts';
import { accountInvoices } from './issue-invoice.ts';

/** Charges of a period whose books are closed, each with the most that is credited of it. */
export interface ChargesToCredit {
  accountId: string;
  reference: string;
  /** Usage stream of the period. */
  stream: string;
  charges: readonly { token: string; revision: number; cents: number }[];
}

interface CreditNoteRequest {
  /** A part of a line as a whole, or of charges. */
  credit: LineNote | ChargesToCredit;
  /** The permission, with the actor who asked. */
  cause: Cause;
  /** As in `InvoiceRequest`. */
  mails?: boolean | undefined;
  timeoutMs: number;
}

/**
 * Gives back a part of an invoice: of a line, bounded by line and invoice; or of charges, each bounded by what is left of it too,
 * with a credit note for each line that has some of them. The same with the same reference is issued once, however often the
 * command is repeated.
 *
 * @returns the events of this command: none if an earlier one has issued the notes; `invoice_not_found` before the period of the
 *   charges is invoiced
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function issueCreditNotes(
  { store, now }: Pick<CommandDependencies, 'store' | 'now'>,
  { credit, cause, mails = true, timeoutMs }: CreditNoteRequest,
): Promise<Handled<Invoices, InvoiceEvent> | Refused> {
  const accountId = 'stream' in credit ? credit.accountId : credit.account_id;
  const mailTo = mails ? await mailRecipients(store, accountId) : [];
  const command =
    'stream' in credit
      ? ({ kind: 'credit_charges', ...(await asCharged(store, credit)), mailTo } as const)
      : ({ kind: 'credit_line', note: credit, mailTo } as const);
  return handle(store, accountInvoices(accountId), {
    decide: (state) => decideInvoices(state, command),
    cause,
    now,
    timeoutMs,
  });
}

/** With the charges as they are in their closed period, where they do not change any more. */
async function asCharged(store: EventStore, { charges: wanted, ...about }: ChargesToCredit) {
  const first = Math.min(...wanted.map(({ revision }) => revision));
  const { charges } = await readCharges(store, about.stream, first);
  return {
    ...about,
    charges: wanted.flatMap(({ token, cents }) => {
      const charge = charges.get(token);
      return charge ? [{ token, charge, cents }] : [];
    }),
  };
}
