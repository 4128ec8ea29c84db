import { maxChargesOfCorrection, type WantedCorrection } from '../domain/correction-events.ts';
import type { CorrectionRequest, Operator } from '../domain/correction-requests.ts';
import { isRefused, type Refusal, refuse, type Refused } from '../domain/refusals.ts';
import { carryOutCorrection } from './carry-out-correction.ts';
import { askCorrection, type CorrectDependencies, readCorrectionRequests } from './correct.ts';
import { correctionIdOf } from './ids/reference-ids.ts';

interface OperatorOrder {
  accountId: string;
  reference: string;
  operator: Operator;
  /** As `AskedCorrection` has it, for the record: nobody approves what an operator orders. */
  limitCents: number;
  /** For each append. */
  timeoutMs: number;
}

export interface GivenBack extends OperatorOrder {
  correction: WantedCorrection;
  /** As in `CreditNoteRequest`. */
  mails?: boolean;
}

/**
 * Gives something back by order of the operator: it is asked like every correction, and carried out at once. The same order gives
 * back once, however often it is repeated; after a crash the dispatcher carries out what is asked.
 *
 * @returns the correction, which is made; or `invoice_not_found` while the books of the charges are closed and not invoiced yet: what
 *   is permitted already then follows the invoice
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function giveBack(
  dependencies: CorrectDependencies,
  { operator, mails, ...order }: GivenBack,
): Promise<CorrectionRequest | Refused> {
  const { accountId, timeoutMs } = order;
  const correctionId = correctionIdOf(order);
  const asked = await askCorrection(dependencies, { ...order, correctionId, by: { operator } });
  if (isRefused(asked)) return asked;
  const ended = await carryOutCorrection(dependencies, { accountId, correctionId, mails, timeoutMs });
  if (isRefused(ended) || ended.status === 'made') return ended;
  return refuse(ended.status === 'failed' ? (ended.why as Refusal) : 'invoice_not_found');
}

const chargesAtOnce = maxChargesOfCorrection;

/** The charges of a period, in parts of which each fits into one correction. */
export const chargesByCorrection = <Charge>(charges: readonly Charge[]): Charge[][] =>
  Array.from({ length: Math.ceil(charges.length / chargesAtOnce) }, (_, part) =>
    charges.slice(part * chargesAtOnce, (part + 1) * chargesAtOnce),
  );

export interface ChargesToGiveBack extends OperatorOrder {
  /** The usage stream of a period. */
  stream: string;
  /** Downloads with the revisions of their charges, in the order of these. */
  charges: readonly { token: string; revision: number }[];
}

/**
 * Gives back all that is left of each charge, in as many corrections as necessary. An interrupted order can be repeated: it goes on
 * with what was asked before, and passes over charges of which nothing is left.
 *
 * @param progress called after each correction with the number of charges processed so far
 * @returns undefined when all is given back; `invoice_not_found` as `giveBack` does
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function giveBackCharges(
  dependencies: CorrectDependencies,
  { stream, charges, ...order }: ChargesToGiveBack,
  progress: (done: number) => void = () => undefined,
): Promise<Refused | undefined> {
  const earlier = await carryOutEarlier(dependencies, { stream, ...order });
  const left = charges.filter(({ token }) => !earlier.has(token));
  let done = charges.length - left.length;
  for (const part of chargesByCorrection(left)) {
    const correction = { kind: 'charges', stream, charges: part } as const;
    const given = await giveBack(dependencies, { ...order, correction });
    if (isRefused(given) && given.refusal !== 'nothing_to_give_back') return given;
    done += part.length;
    progress(done);
  }
  return undefined;
}

/** @returns the tokens of an interrupted order's charges, which are given back now */
async function carryOutEarlier(
  dependencies: CorrectDependencies,
  { accountId, reference, stream, timeoutMs }: OperatorOrder & { stream: string },
): Promise<ReadonlySet<string>> {
  const tokens = new Set<string>();
  for (const request of (await readCorrectionRequests(dependencies.store, accountId)).values()) {
    const { correctionId, correction, status } = request;
    const isEarlier = request.reference === reference && request.askedBy.role === 'operator' && status !== 'failed';
    if (!isEarlier || correction.kind === 'credit_line' || correction.stream !== stream) continue;
    if (status === 'permitted') await carryOutCorrection(dependencies, { accountId, correctionId, timeoutMs });
    for (const { token } of correction.charges) tokens.add(token);
  }
  return tokens;
}
