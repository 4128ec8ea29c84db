import { type CorrectionRequest, decideCorrectionRequest } from '../domain/correction-requests.ts';
import { parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused, type Refusal, refuse, type Refused } from '../domain/refusals.ts';
import { changeCharge } from './change-charge.ts';
import { correctionRequests, readCorrectionRequests } from './correct.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import type { Cause } from './handler/event-metadata.ts';
import { handle } from './handler/handle-command.ts';
import { issueCreditNote } from './issue-credit-note.ts';

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
 * @returns the request as it ended: `made`, or `failed` because the charge or the period has changed since
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
  const given = await waiveOrCredit(dependencies, request, { permission, mails, timeoutMs });
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

async function waiveOrCredit(
  dependencies: CommandDependencies,
  request: CorrectionRequest,
  { permission, mails, timeoutMs }: Permitted,
): Promise<{ cents: number } | Refused> {
  const { store, newUuid } = dependencies;
  const { correctionId, correction, reference, cents, askedBy: actor } = request;
  const cause = { commandId: newUuid(), correlationId: correctionId, causationId: permission, actor };
  if (correction.kind === 'credit_line') return credit(dependencies, request, { cause, mails, timeoutMs });
  const { stream } = correction;
  const fromRevision =
    correction.kind === 'waive_charge'
      ? correction.revision
      : Math.min(...correction.charges.map(({ revision }) => revision));
  const command =
    correction.kind === 'waive_charge'
      ? ({ kind: 'waive_charge', token: correction.token, cents, reference } as const)
      : ({ kind: 'waive_charges', tokens: correction.charges.map(({ token }) => token), reference } as const);
  const handled = await changeCharge(dependencies, { stream, command, cause, fromRevision, timeoutMs });
  if (isRefused(handled)) return handled;
  const none: Refusal = correction.kind === 'waive_charge' ? 'reference_reused' : 'nothing_to_give_back';
  const waived = (await store.read(stream, fromRevision))
    .map(parseUsageEvent)
    .filter(({ metadata }) => metadata.$causationId === permission)
    .reduce((sum, { event }) => sum + (event.type === 'ChargeWaived' ? event.data.cents : 0), 0);
  return waived > 0 ? { cents: waived } : refuse(none);
}

async function credit(
  dependencies: CommandDependencies,
  { accountId, reference, correction, cents }: CorrectionRequest,
  { cause, mails, timeoutMs }: Pick<CarryOutOrder, 'mails' | 'timeoutMs'> & { cause: Cause },
): Promise<{ cents: number } | Refused> {
  if (correction.kind !== 'credit_line') throw new Error('only a line is credited');
  const { invoice_number, line, charge_event_id } = correction;
  const note = { account_id: accountId, reference, invoice_number, line, charge_event_id, cents };
  const answer = await issueCreditNote(dependencies, { note, cause, mails, timeoutMs });
  return isRefused(answer) ? answer : { cents };
}
