import type { Randomness } from './random.ts';

/** Everything that may go wrong, and how often at most: the probability at each occasion. */
const mostOften = {
  /** The request of an append never arrives. */
  append_lost: 0.3,
  /** An append is stored, and its reply never arrives. */
  reply_lost: 0.4,
  /** An append arrives seconds later, maybe after its sender has ended, or has sent it again. */
  append_late: 0.3,
  /** The reply of an append comes seconds later. */
  reply_late: 0.3,
  /** The connection breaks: nobody knows whether the append was stored. */
  append_broken: 0.3,
  /** A cluster conflicts with what it has taken, and shows it later. */
  shown_late: 0.3,
  /** A read fails, at once or after a while. */
  read_fails: 0.3,
  read_late: 0.8,
  /** A subscription ends without a word and begins again later. */
  subscription_ends: 0.2,
  /** A statement of Postgres fails; or is committed, and fails all the same. */
  statement_fails: 0.3,
  outcome_unknown: 0.3,
  statement_late: 0.2,
  answer_late: 0.2,
  /** The row of an account has no valid MAC. */
  row_not_believed: 0.15,
  /** The platform gives no metadata, or takes its time. */
  probe_fails: 0.3,
  probe_late: 0.3,
  /** The queue is away for a call; it loses, doubles or delays a message, or forgets that one was acknowledged. */
  queue_fails: 0.2,
  message_lost: 0.4,
  message_doubled: 0.4,
  message_late: 0.4,
  /** A message names another event. */
  message_forged: 0.4,
  /** A download takes longer than its attempt may, or the downloader crashes. */
  download_late: 0.2,
  download_throws: 0.2,
  file_store_late: 0.2,
  file_store_fails: 0.2,
  /** The mail server is away, slow, refuses a mail, or takes it and breaks off. */
  mail_server_away: 0.3,
  mail_late: 0.3,
  mail_refused: 0.3,
  mail_answer_lost: 0.3,
  /** A process ends as it calls a port, or as the reply comes. */
  killed_at_call: 0.01,
  killed_at_reply: 0.01,
  /** A process stands still for seconds as a reply comes. */
  paused_at_reply: 0.02,
} as const;

export type FaultKind = keyof typeof mostOften;

/**
 * Draws which faults happen. Which kinds are on, and how often each happens, is drawn too: a history with one kind of fault
 * meets other bugs than one with all of them (swarm testing). Each occurrence has a name, such as `reply_lost.3`, by which it
 * can be chosen again.
 */
export class Faults {
  readonly #randomness: Randomness;
  readonly #only: ReadonlySet<string> | undefined;
  readonly #counts = new Map<FaultKind, number>();
  readonly #rates = new Map<FaultKind, number>();
  readonly #onFault: (name: string) => void;
  isOver = true;

  /** @param only the names of those that happen; undefined: all that are drawn */
  constructor(randomness: Randomness, only: ReadonlySet<string> | undefined, onFault: (name: string) => void) {
    this.#randomness = randomness;
    this.#only = only;
    this.#onFault = onFault;
    const swarm = randomness.of('swarm');
    const share = swarm.next();
    for (const [kind, most] of Object.entries(mostOften) as [FaultKind, number][])
      this.#rates.set(kind, swarm.chance(share) ? most * swarm.next() : 0);
  }

  /** Whether a fault happens now. It is drawn in any case, so that leaving one out changes no other draw of its kind. */
  happens(kind: FaultKind): boolean {
    const rate = this.#rates.get(kind) ?? 0;
    if (this.isOver || rate === 0) return false;
    if (!this.#randomness.of(kind).chance(rate)) return false;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    return this.takesPlace(`${kind}.${String(count)}`);
  }

  /** Whether something that was drawn beforehand takes place, such as an outage. */
  takesPlace(name: string): boolean {
    if (this.isOver || this.#only?.has(name) === false) return false;
    this.#onFault(name);
    return true;
  }

  begin(): void {
    this.isOver = false;
  }

  /** From now on everything works. */
  end(): void {
    this.isOver = true;
  }
}
