import { decideMailsAgain, type DocumentMails, type MailsAgain } from '../domain/document-mails.ts';
import type { InvoiceEvent } from '../domain/invoice-events.ts';
import { isRefused, type Refused } from '../domain/refusals.ts';
import { readAccount } from './accounts.ts';
import { documentMailsAggregate } from './document-mails.ts';
import { eventIdOf, ownCause } from './handler/event-metadata.ts';
import { handle, type Handled } from './handler/handle-command.ts';
import { actingStaff, type StaffDependencies, type StaffOrder } from './staff.ts';

interface MailsOrder extends MailsAgain, StaffOrder {
  /** From what it follows where the order may come twice (`reference-ids.ts`). */
  commandId: string;
}

/**
 * Staff ask that a document is mailed again, to people whom the account has now. The dispatcher sends the mails. The same command
 * asks once.
 *
 * @param order mailTo: ids of people, each once
 * @returns the events of this command: none if it was carried out before; `invoice_not_found`; `person_not_found` for somebody who
 *   is not one of the account's people, or no more; `mail_waits` while a mail about the document to one of them is not sent yet
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function askDocumentMails(
  dependencies: Pick<StaffDependencies, 'store' | 'now' | 'staffCache'>,
  { commandId, by, correlationId, timeoutMs, ...asked }: MailsOrder,
): Promise<Handled<DocumentMails, InvoiceEvent> | Refused> {
  const { store, now } = dependencies;
  const actor = 'operator' in by ? by.operator : await actingStaff(dependencies, by);
  if (isRefused(actor)) return actor;
  const { people } = await readAccount(store, asked.accountId);
  return handle(store, documentMailsAggregate(asked.accountId), {
    decide: (state) => decideMailsAgain(state, { ...asked, eventId: eventIdOf(commandId), people }),
    cause: ownCause(commandId, actor, correlationId),
    now,
    timeoutMs,
  });
}
