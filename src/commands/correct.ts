import { periodOfUsageStream } from '../domain/billing-period.ts';
import { type Charges, evolveCharges, newCharges, waiverName } from '../domain/change-charge.ts';
import {
  type Correction,
  type CorrectionEvent,
  correctionsStream,
  maxChargesOfCorrection,
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
import { type Actor, parseCorrectionEvent, parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import { maybeSamePerson } from '../domain/staff.ts';
import type { EventStore } from '../ports/event-store.ts';
import { ownCause } from './handler/event-metadata.ts';
import { type Aggregate, handle, load } from './handler/handle-command.ts';
import { readCreditLeft } from './issue-credit-note.ts';
import { actingStaff, readStaff, type StaffDependencies } from './staff.ts';

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
  correction: Correction;
  /** Not for `waive_charges`, which gives back the rest of each. Default: all that is left. */
  cents?: number | undefined;
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
  { reference, correction, cents, limitCents, ...order }: AskedCorrection,
): Promise<CorrectionRequest | Refused> {
  const { accountId, correctionId } = order;
  const by = 'operator' in order.by ? order.by.operator : await actingStaff(dependencies, order.by);
  if (isRefused(by)) return by;
  const known = (await readCorrectionRequests(dependencies.store, accountId)).get(correctionId);
  // Asked again, its money may be given back already, so that nothing is left.
  if (known) return isSameRequest(known, { by, reference, correction }) ? known : refuse('reference_reused');
  const left = await readLeft(dependencies.store, { accountId, reference, correction });
  if (isRefused(left)) return left;
  const asked = { correctionId, accountId, reference, correction: left.correction };
  const amount = { cents: cents ?? left.cents, limitCents };
  if (amount.cents > left.cents) return refuse('exceeds_charge');
  return decideAsPerson(dependencies, { kind: 'ask', ...asked, ...amount, by }, { ...order, by });
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
  correction: Correction;
}

interface Left {
  cents: number;
  /** Without the charges of which nothing is left. */
  correction: Correction;
}

/** What may be given back now, as the log says. */
async function readLeft(store: EventStore, { accountId, reference, correction }: Wanted): Promise<Left | Refused> {
  if (correction.kind === 'credit_line') {
    const left = await readCreditLeft(store, { account_id: accountId, ...correction });
    if (isRefused(left)) return left;
    if (left.references.has(reference)) return refuse('reference_reused');
    return left.cents > 0 ? { cents: left.cents, correction } : refuse('nothing_to_give_back');
  }
  const { stream } = correction;
  if (periodOfUsageStream(stream).accountId !== accountId) return refuse('charge_not_found');
  const wanted = correction.kind === 'waive_charge' ? [correction] : correction.charges;
  if (wanted.length > maxChargesOfCorrection)
    throw new Error(`a correction has at most ${String(maxChargesOfCorrection)} charges`);
  const { state, revisions } = await readFromFirst(store, stream, wanted);
  if (wanted.some(({ token, revision }) => revisions.get(token) !== revision)) return refuse('charge_not_found');
  if (state.closed) return refuse('period_closed');
  const { charges, waivers } = state;
  if (wanted.some(({ token }) => waivers.has(waiverName({ reference, token })))) return refuse('reference_reused');
  const left = wanted.filter(({ token }) => charges.get(token)?.cents);
  if (left.length === 0) return refuse('nothing_to_give_back');
  const cents = left.reduce((sum, { token }) => sum + (charges.get(token)?.cents ?? 0), 0);
  return { cents, correction: correction.kind === 'waive_charge' ? correction : { ...correction, charges: left } };
}

/** The charges of a period from the first wanted one on, and where each stands in the stream. */
async function readFromFirst(
  store: EventStore,
  stream: string,
  wanted: readonly { revision: number }[],
): Promise<{ state: Charges; revisions: ReadonlyMap<string, number> }> {
  const from = Math.min(...wanted.map(({ revision }) => revision));
  const revisions = new Map<string, number>();
  let state = newCharges();
  for (const { event, id, revision } of (await store.read(stream, from)).map(parseUsageEvent)) {
    state = evolveCharges(state, event, { id });
    const isCharge = event.type === 'OverageCharged' || event.type === 'DownloadCreditDebited';
    if (isCharge) revisions.set(event.data.token, revision);
  }
  return { state, revisions };
}
