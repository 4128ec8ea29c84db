import { isDeepStrictEqual } from 'node:util';
import { Chain } from './chain.ts';
import type { Link } from './event-schemas.ts';
import { isBySignedIn, roleOf } from './staff.ts';

/** What a correction names, in the fields of its kind. */
interface Named {
  kind?: unknown;
  stream?: unknown;
  charges?: readonly { token: string; cents: number }[];
  invoice_number?: unknown;
  line?: unknown;
}

export interface CorrectionFacts {
  asked: Link;
  chain: Corrections;
  /** The request itself where nobody needs to approve it, else the approval. */
  permission: Link | undefined;
  /** CorrectionRefused, CorrectionMade or CorrectionFailed. */
  ended: Link | undefined;
}

const approvers = ['finance', 'admin'];
const dayMs = 86_400_000;
/** The service carries out what is permitted. */
const service = { type: 'system', id: 'corrections' };

/** What staff have asked to give back to one account. */
export class Corrections extends Chain<string> {
  readonly #requests = new Map<string, CorrectionFacts>();

  /** @returns the request that the event is about; undefined if there is none */
  check(event: Link): CorrectionFacts | undefined {
    const { type, data } = event;
    if (type === 'CorrectionAsked') return this.#ask(event);
    const request = this.#requests.get(data.correction_id);
    if (request) this.#decide(event, request);
    else this.wrong('correction_order', event, 'data.correction_id', 'one that was asked for');
    return request;
  }

  #ask(event: Link): CorrectionFacts {
    const { data } = event;
    const isNew = !this.#requests.has(data.correction_id);
    this.must('correction_order', isNew, event, 'data.correction_id', 'a new one');
    this.mustEqual('correction_order', event, { account_id: this.accountId });
    const isByOperator = !isBySignedIn(event);
    const mayAsk = !isByOperator || roleOf(event) === 'operator';
    this.must('correction_actor', mayAsk, event, 'metadata.actor', 'a member of staff, or an operator');
    if (isByOperator) this.mustEqual('correction_approval', event, { needs_approval: false });
    const isUsed = this.#standing().some(
      ({ asked }) => asked.data.reference === data.reference && overlaps(asked, event),
    );
    this.must('correction_reference', !isUsed, event, 'data.reference', 'a new one for these charges');
    const { kind, charges = [] } = namedBy(event);
    const isSum = kind === 'credit_line' || isSumOf(data.cents, charges);
    this.must('correction_sum', isSum, event, 'data.cents', 'the sum of its charges, each named once');
    const permission = data.needs_approval ? undefined : event;
    const request: CorrectionFacts = { asked: event, chain: this, permission, ended: undefined };
    this.#requests.set(data.correction_id, request);
    return request;
  }

  /** Everybody who has signed in and asked for something. */
  get askers(): ReadonlySet<string> {
    const asked = [...this.#requests.values()].map((request) => request.asked).filter(isBySignedIn);
    return new Set(asked.map(({ metadata }) => metadata.actor.id));
  }

  askedFor(correctionId: string): Link | undefined {
    return this.#requests.get(correctionId)?.asked;
  }

  /**
   * Checks that a request of somebody who has signed in says rightly whether it needs a second person. The event was checked before.
   *
   * @param ids those of the person who asks: the ones that were known for sure, and others that may have been known
   */
  checkApproval(event: Link, ids: { sure: ReadonlySet<string>; possible: ReadonlySet<string> }): void {
    const { data } = event;
    const standing = this.#standing().filter(({ asked }) => asked !== event);
    const [needs_approval, orElse] = [ids.sure, ids.possible].map(
      (each) =>
        !approvers.includes(roleOf(event)) || data.cents + centsOfADay(standing, event, each) > data.limit_cents,
    );
    if (data.needs_approval !== orElse) this.mustEqual('correction_approval', event, { needs_approval });
  }

  #standing(): CorrectionFacts[] {
    return [...this.#requests.values()].filter(({ ended }) => !ended || ended.type === 'CorrectionMade');
  }

  #decide(event: Link, request: CorrectionFacts): void {
    const { type, data, metadata } = event;
    const { asked, permission, ended } = request;
    const isEnd = type === 'CorrectionMade' || type === 'CorrectionFailed';
    const mayCome = !ended && (permission === undefined) === !isEnd;
    this.must('correction_order', mayCome, event, 'type', 'what the request allows');
    const isOwn = metadata.actor.id === asked.metadata.actor.id;
    const isApprover = isBySignedIn(event) && approvers.includes(roleOf(event));
    if (type === 'CorrectionApproved') {
      this.must('correction_approval', isApprover && !isOwn, event, 'metadata.actor', 'another person of finance');
      request.permission ??= event;
      return;
    }
    if (type === 'CorrectionRefused') {
      const mayRefuse = isApprover || (isBySignedIn(event) && isOwn);
      this.must('correction_approval', mayRefuse, event, 'metadata.actor', 'finance, or the person who asked');
    }
    if (isEnd) {
      this.mustEqual('correction_order', event, service, 'metadata.actor.');
      this.mustEqual('correction_order', event, { $causationId: permission?.id }, 'metadata.');
    }
    if (type === 'CorrectionMade') {
      const isWithin = data.cents > 0 && data.cents <= asked.data.cents;
      this.must('correction_ended', isWithin, event, 'data.cents', `at least 1 and at most ${asked.data.cents}`);
    }
    request.ended ??= event;
  }
}

/** What the same person has asked for within 24 hours. @param standing requests that were neither refused nor have failed */
function centsOfADay(
  standing: readonly CorrectionFacts[],
  { metadata: { time } }: Link,
  ids: ReadonlySet<string>,
): number {
  const aDayAgoMs = Date.parse(time) - dayMs;
  return standing
    .filter(({ asked: { metadata } }) => ids.has(metadata.actor.id) && Date.parse(metadata.time) > aDayAgoMs)
    .reduce((sum, { asked }) => sum + asked.data.cents, 0);
}

const namedBy = ({ data }: Link): Named => Object(data.correction) as Named;

const tokensOf = ({ charges = [] }: Named): string[] => charges.map(({ token }) => token);

/** Whether an amount is the sum of charges, each of which is named once. */
export const isSumOf = (cents: number, charges: readonly { token: string; cents: number }[]): boolean =>
  cents === charges.reduce((sum, charge) => sum + charge.cents, 0) &&
  new Set(charges.map(({ token }) => token)).size === charges.length;

/** One reference is for one credit note of a line, and gives back each charge once. */
function overlaps(one: Link, other: Link): boolean {
  const [first, second] = [namedBy(one), namedBy(other)];
  if (first.kind === 'credit_line' || second.kind === 'credit_line') return first.kind === second.kind;
  const tokens = tokensOf(first);
  return first.stream === second.stream && tokensOf(second).some((token) => tokens.includes(token));
}

/** Whether money was given back for what a correction names, under its reference, by the person who asked for it. */
export function isGivenBackFor({ asked }: CorrectionFacts, { type, stream, data, metadata }: Link): boolean {
  if (data.reference !== asked.data.reference || !isDeepStrictEqual(metadata.actor, asked.metadata.actor)) return false;
  const { kind, invoice_number, line, ...named } = namedBy(asked);
  const parts = chargesGiven({ type, data });
  if (parts.length === 0) return kind === 'credit_line' && data.invoice_number === invoice_number && data.line === line;
  const isOfStream = type === 'CreditNoteIssued' || stream === named.stream;
  return isOfStream && parts.every(({ token }) => tokensOf(named).includes(token));
}

/** What an event gives back of single charges; a credit note about a line as a whole names none. */
export const chargesGiven = ({
  type,
  data,
}: Pick<Link, 'type' | 'data'>): readonly { token: string; cents: number }[] =>
  type === 'CreditNoteIssued' ? data.charges : [data];

/** The most that a correction gives back of a charge. */
export const centsAskedOf = ({ asked }: CorrectionFacts, token: string): number | undefined =>
  namedBy(asked).charges?.find((charge) => charge.token === token)?.cents;
