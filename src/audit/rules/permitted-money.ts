import type { Chain } from './chain.ts';
import { centsAskedOf, chargesGiven, type CorrectionFacts, isGivenBackFor } from './correction-requests.ts';
import type { Link } from './event-schemas.ts';

interface Permitted {
  request: CorrectionFacts;
  permission: Link;
  givenCents: number;
  /** Cents of each charge, by token. */
  givenOf: Map<string, number>;
  /** Its end was compared with what it has given back. */
  isJudged: boolean;
}

const hourMs = 3_600_000;

/** Matches the money that staff gave back with the corrections that permit it, whichever of the two is read first. */
export class PermittedMoney {
  /** By the id of the event that permits it. */
  readonly #permitted = new Map<string, Permitted>();
  #given: { event: Link; chain: Chain }[] = [];

  follow(request: CorrectionFacts): void {
    const { permission } = request;
    if (!permission || this.#permitted.has(permission.id)) return;
    this.#permitted.set(permission.id, { request, permission, givenCents: 0, givenOf: new Map(), isJudged: false });
  }

  /** A waiver or a credit note by staff. */
  given(event: Link, chain: Chain): void {
    this.#given.push({ event, chain });
  }

  /** @param isOver tells whether something should have happened by now */
  check(isOver: (since: string, ms: number, what: string) => boolean): void {
    const given = this.#given;
    this.#given = [];
    for (const { event, chain } of given) this.#match(event, chain);
    for (const permitted of this.#permitted.values()) if (!permitted.isJudged) judge(permitted, isOver);
  }

  #match(event: Link, chain: Chain): void {
    const permitted = this.#permittedFor(event, chain);
    if (!permitted) {
      chain.wrong('correction_permitted', event, 'metadata.$causationId', 'what permits it');
      return;
    }
    permitted.givenCents += event.data.cents;
    const { cents } = permitted.request.asked.data;
    const isWithin = permitted.givenCents <= cents;
    chain.must('correction_permitted', isWithin, event, 'data.cents', `at most ${cents} in all`);
    for (const { token, cents: givenCents } of chargesGiven(event)) {
      const allCents = (permitted.givenOf.get(token) ?? 0) + givenCents;
      permitted.givenOf.set(token, allCents);
      const asked = centsAskedOf(permitted.request, token) ?? 0;
      chain.must('correction_permitted', allCents <= asked, event, 'data', `at most ${asked} of ${token}`);
    }
  }

  #permittedFor(event: Link, { accountId }: Chain): Permitted | undefined {
    const permitted = this.#permitted.get(event.metadata.$causationId);
    if (!permitted || permitted.isJudged || permitted.request.chain.accountId !== accountId) return undefined;
    const isBehind = permitted.permission.position < event.position;
    return isBehind && isGivenBackFor(permitted.request, event) ? permitted : undefined;
  }
}

function judge(permitted: Permitted, isOver: (since: string, ms: number, what: string) => boolean): void {
  const { request, permission, givenCents } = permitted;
  const { chain, ended } = request;
  if (ended) {
    permitted.isJudged = true;
    const endedWith = ended.type === 'CorrectionMade' ? ended.data.cents : 0;
    chain.must('correction_ended', givenCents === endedWith, ended, 'data', `the end of what gave ${givenCents} back`);
  } else if (isOver(permission.metadata.time, hourMs, `correction ${permission.id}`)) {
    permitted.isJudged = true;
    chain.missing('correction_ended', permission, 'data.correction_id', 'an end within an hour');
  }
}
