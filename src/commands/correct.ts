import { periodOfUsageStream } from '../domain/billing-period.ts';
import {
  type ChargesCorrection,
  type Correction,
  type CorrectionEvent,
  correctionsStream,
  maxChargesOfCorrection,
  type WantedCorrection,
} from '../domain/correction-events.ts';
import {
  type Asker,
  type CorrectionRequest,
  type CorrectionRequestCommand,
  type CorrectionRequests,
  decideCorrectionRequest,
  evolveCorrectionRequests,
  isSameRequest,
  newCorrectionRequests,
  type Operator,
} from '../domain/correction-requests.ts';
import { type Actor, parseCorrectionEvent } from '../domain/parse-event.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import { maybeSamePerson } from '../domain/staff.ts';
import type { EventStore } from '../ports/event-store.ts';
import { ownCause } from './handler/event-metadata.ts';
import { type Aggregate, handle, load } from './handler/handle-command.ts';
import { actingStaff, readStaff, type StaffDependencies } from './staff.ts';
import { readChargesLeft, readLineLeft } from './what-is-left.ts';

export type CorrectDependencies = Pick<StaffDependencies, 'store' | 'now' | 'newUuid' | 'staffCache'>;

interface CorrectionOrder {
  accountId: string;
  /** The form that was sent draws it: the same form sent twice asks once. */
  correctionId: string;
  by: { staffId: string; reason: string };
  /** Of the request; default: the correction. */
  correlationId?: string;
  timeoutMs: number;
}

export interface AskedCorrection extends Omit<CorrectionOrder, 'by'> {
  by: CorrectionOrder['by'] | { operator: Operator };
  reference: string;
  correction: WantedCorrection;
  /** What one person may give back to one account within 24 hours without a second person. */
  limitCents: number;
}

/**
 * Asks to give something back. The amount is fixed here, by what the log says is left. A correction that needs nobody else is
 * permitted with this: `carryOutCorrection` then gives the money back.
 *
 * @returns the request; its `status` says whether somebody else has to approve it
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function askCorrection(
  dependencies: CorrectDependencies,
  { reference, correction, limitCents, ...order }: AskedCorrection,
): Promise<CorrectionRequest | Refused> {
  const { accountId, correctionId } = order;
  const by = 'operator' in order.by ? order.by.operator : await actingStaff(dependencies, order.by);
  if (isRefused(by)) return by;
  const known = (await readCorrectionRequests(dependencies.store, accountId)).get(correctionId);
  // Asked again, its money may be given back already, so that nothing is left.
  if (known) return isSameRequest(known, { by, reference, correction }) ? known : refuse('reference_reused');
  const asked = await readAsked(dependencies.store, { accountId, reference, correction });
  if (isRefused(asked)) return asked;
  const command = { kind: 'ask', correctionId, accountId, reference, ...asked, limitCents, by } as const;
  return decideAsPerson(dependencies, command, { ...order, by });
}

/** By a second person of finance. The request is then carried out by `carryOutCorrection`. */
export async function approveCorrection(
  dependencies: CorrectDependencies,
  order: CorrectionOrder,
): Promise<CorrectionRequest | Refused> {
  const by = await actingStaff(dependencies, order.by, 'finance');
  if (isRefused(by)) return by;
  return decideAsPerson(dependencies, { kind: 'approve', correctionId: order.correctionId, by }, { ...order, by });
}

/** By finance, or by the person who has asked. */
export async function refuseCorrection(
  dependencies: CorrectDependencies,
  order: CorrectionOrder,
): Promise<CorrectionRequest | Refused> {
  const by = await actingStaff(dependencies, order.by);
  if (isRefused(by)) return by;
  const command = { kind: 'refuse', correctionId: order.correctionId, by } as const;
  return decide(dependencies, { ...order, by }, (requests, time) => decideCorrectionRequest(requests, command, time));
}

/** All that staff have asked to give back to an account, by its id. @throws {EventStoreUnavailable} */
export async function readCorrectionRequests(store: EventStore, accountId: string): Promise<CorrectionRequests> {
  return (await load(store, correctionRequests(accountId))).state;
}

export const correctionRequests = (accountId: string): Aggregate<CorrectionRequests, CorrectionEvent> => ({
  stream: correctionsStream(accountId),
  initial: newCorrectionRequests,
  parse: parseCorrectionEvent,
  evolve: evolveCorrectionRequests,
});

/**
 * Decides for the person, whatever the ids are under which this person has asked. Those who have asked are known only from the
 * stream: somebody new in it is looked up, and the decision is taken again.
 */
async function decideAsPerson(
  dependencies: CorrectDependencies,
  command: Extract<CorrectionRequestCommand, { kind: 'ask' | 'approve' }>,
  request: Request,
): Promise<CorrectionRequest | Refused> {
  const { by } = command;
  if (by.role === 'operator')
    return decide(dependencies, request, (requests, time) => decideCorrectionRequest(requests, command, time));
  const own = await readStaff(dependencies, by.id);
  const isOwn = new Map([[by.id, true]]);
  for (;;) {
    let unknown: readonly string[] = [];
    const decided = await decide(dependencies, request, (requests, time) => {
      const askers = idsOfAskers(requests);
      unknown = askers.filter((id) => !isOwn.has(id));
      // Not the decision yet.
      if (unknown.length > 0) return refuse('own_request');
      return decideCorrectionRequest(requests, { ...command, alsoKnownAs: askers.filter((id) => isOwn.get(id)) }, time);
    });
    if (unknown.length === 0) return decided;
    for (const id of unknown) isOwn.set(id, maybeSamePerson(own, await readStaff(dependencies, id)));
  }
}

const idsOfAskers = (requests: CorrectionRequests): string[] => [
  ...new Set([...requests.values()].flatMap(({ askedBy }) => (askedBy.role === 'operator' ? [] : [askedBy.id]))),
];

interface Request {
  accountId: string;
  correctionId: string;
  by: Asker;
  correlationId?: string;
  timeoutMs: number;
}

async function decide(
  { store, now, newUuid }: CorrectDependencies,
  { accountId, correctionId, by, correlationId = correctionId, timeoutMs }: Request,
  decideOn: (requests: CorrectionRequests, time: string) => CorrectionEvent[] | Refused,
): Promise<CorrectionRequest | Refused> {
  const handled = await handle(store, correctionRequests(accountId), {
    decide: decideOn,
    cause: ownCause(newUuid(), by satisfies Actor, correlationId),
    now,
    timeoutMs,
  });
  if (isRefused(handled)) return handled;
  const decided = handled.state.get(correctionId);
  if (!decided) throw new Error(`the correction ${correctionId} was decided and is not there`);
  return decided;
}

interface Wanted {
  accountId: string;
  reference: string;
  correction: WantedCorrection;
}

interface Asked {
  cents: number;
  /** With the amounts that are asked, and without charges of which nothing is left. */
  correction: Correction;
}

/** What is asked for, within what may be given back now, as the log says. */
async function readAsked(store: EventStore, { accountId, reference, correction }: Wanted): Promise<Asked | Refused> {
  if (correction.kind === 'credit_line') {
    const { invoice_number, line } = correction;
    const left = await readLineLeft(store, { accountId, reference, invoice_number, line });
    if (isRefused(left)) return left;
    const cents = within(correction.cents, left.cents);
    return isRefused(cents) ? cents : { cents: cents.cents, correction: { kind: 'credit_line', invoice_number, line } };
  }
  const { stream } = correction;
  if (periodOfUsageStream(stream).accountId !== accountId) return refuse('charge_not_found');
  const wanted = [...new Map(correction.charges.map((each) => [each.token, each])).values()];
  if (wanted.length > maxChargesOfCorrection)
    throw new Error(`a correction has at most ${String(maxChargesOfCorrection)} charges`);
  const left = await readChargesLeft(store, { accountId, reference, stream, charges: wanted });
  if (isRefused(left)) return left;
  const charges: ChargesCorrection['charges'] = [];
  for (const { token, revision, cents } of wanted) {
    const leftCents = left.get(token) ?? 0;
    // Of several, those of which nothing is left are passed over.
    if (leftCents === 0 && wanted.length > 1) continue;
    const asked = within(cents, leftCents);
    if (isRefused(asked)) return asked;
    charges.push({ token, revision, ...asked });
  }
  if (charges.length === 0) return refuse('nothing_to_give_back');
  return { cents: sumOf(charges), correction: { kind: 'charges', stream, charges } };
}

/** @param wanted default: all that is left */
function within(wanted: number | undefined, leftCents: number): { cents: number } | Refused {
  if (leftCents <= 0) return refuse('nothing_to_give_back');
  return (wanted ?? 0) > leftCents ? refuse('exceeds_charge') : { cents: wanted ?? leftCents };
}

const sumOf = (parts: readonly { cents: number }[]): number => parts.reduce((sum, { cents }) => sum + cents, 0);
