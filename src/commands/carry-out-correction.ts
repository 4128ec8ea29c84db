import { type CorrectionRequest, decideCorrectionRequest } from '../domain/correction-requests.ts';
import type { LineNote } from '../domain/invoice.ts';
import { type InvoiceEvent, invoicesStream } from '../domain/invoice-events.ts';
import { type ParsedEvent, parseInvoiceEvent, parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import type { UsageEvent } from '../domain/usage-events.ts';
import { changeCharge } from './change-charge.ts';
import { correctionRequests, readCorrectionRequests } from './correct.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { handle } from './handler/handle-command.ts';
import { type ChargesToCredit, issueCreditNotes } from './issue-credit-note.ts';

interface CarryOutOrder {
  accountId: string;
  correctionId: string;
  /** As in `CreditNoteRequest`. */
  mails?: boolean | undefined;
  timeoutMs: number;
}

const service = { type: 'system', id: 'corrections' } as const;

/**
 * Gives back the money of a correction that is permitted, then records the end of the request. It may be interrupted anywhere and
 * repeated by any process: what an earlier attempt has given back names the permission as its cause, and counts as given.
 *
 * @returns the request as it ended: `made`, or `failed` because nothing is left of what it is about; `permitted` still, if the books
 *   of its charges are closed and not invoiced yet
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function carryOutCorrection(
  dependencies: CommandDependencies,
  { accountId, correctionId, mails, timeoutMs }: CarryOutOrder,
): Promise<CorrectionRequest | Refused> {
  const { store, now, newUuid } = dependencies;
  const request = (await readCorrectionRequests(store, accountId)).get(correctionId);
  if (!request) return refuse('correction_not_found');
  if (request.status === 'made' || request.status === 'failed') return request;
  if (request.status !== 'permitted' || request.permittedBy === null) return refuse('correction_not_permitted');
  const permission = request.permittedBy;
  const given = await giveBackMoney(dependencies, request, { permission, mails, timeoutMs });
  // The books of its charges are closed, and the invoice that a credit note is about comes next.
  if (isRefused(given) && given.refusal === 'invoice_not_found') return request;
  const ended = isRefused(given)
    ? { kind: 'failed' as const, correctionId, why: given.refusal }
    : { kind: 'made' as const, correctionId, cents: given.cents };
  const handled = await handle(store, correctionRequests(accountId), {
    decide: (requests, time) => decideCorrectionRequest(requests, ended, time),
    cause: { commandId: newUuid(), correlationId: correctionId, causationId: permission, actor: service },
    now,
    timeoutMs,
  });
  if (isRefused(handled)) return handled;
  return handled.state.get(correctionId) ?? refuse('correction_not_found');
}

interface Permitted extends Pick<CarryOutOrder, 'mails' | 'timeoutMs'> {
  /** Id of the event that permits it. */
  permission: string;
}

/** Waives charges while the books of their period are open, else credits them. @returns the cents given back, by any attempt */
async function giveBackMoney(
  dependencies: CommandDependencies,
  { correctionId, accountId, correction, reference, cents, askedBy: actor }: CorrectionRequest,
  { permission, mails, timeoutMs }: Permitted,
): Promise<{ cents: number } | Refused> {
  const { store, newUuid } = dependencies;
  const cause = { commandId: newUuid(), correlationId: correctionId, causationId: permission, actor };
  const credit = async (given: LineNote | ChargesToCredit) => {
    const handled = await issueCreditNotes(dependencies, { credit: given, cause, mails, timeoutMs });
    if (isRefused(handled)) return handled;
    return givenBy(permission, (await store.read(invoicesStream(accountId), 0)).map(parseInvoiceEvent));
  };
  if (correction.kind === 'credit_line') {
    const { invoice_number, line } = correction;
    return credit({ account_id: accountId, reference, invoice_number, line, cents });
  }
  const { stream, charges } = correction;
  const fromRevision = Math.min(...charges.map(({ revision }) => revision));
  const command = { kind: 'waive_charges', charges, reference } as const;
  const waived = await changeCharge(dependencies, { stream, command, cause, fromRevision, timeoutMs });
  if (!isRefused(waived)) return givenBy(permission, (await store.read(stream, fromRevision)).map(parseUsageEvent));
  return waived.refusal === 'period_closed' ? credit({ accountId, reference, stream, charges }) : waived;
}

/** What these events have given back because of a permission. */
function givenBy(
  permission: string,
  events: readonly ParsedEvent<UsageEvent | InvoiceEvent>[],
): { cents: number } | Refused {
  const cents = events
    .filter(({ metadata }) => metadata.$causationId === permission)
    .reduce((sum, { event }) => sum + (gives(event) ? event.data.cents : 0), 0);
  return cents > 0 ? { cents } : refuse('nothing_to_give_back');
}

const gives = (event: UsageEvent | InvoiceEvent) => event.type === 'ChargeWaived' || event.type === 'CreditNoteIssued';
