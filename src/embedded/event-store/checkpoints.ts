/**
 * The checkpoints of filtered subscriptions to the whole log: when they are sent, and in which form. As in EventStoreDB 24.2.0,
 * history is read in pages, and the scanned events are counted (Enumerator.AllSubscriptionFiltered and AllReader in its sources).
 */

import type { EventFilter } from './read-request.ts';

/** A position in the log. With a prepare below its commit, it is before the event that has, or will have, that commit. */
export interface Place {
  commit: bigint;
  prepare: bigint;
}

/**
 * The checkpoint that ends a catch-up: the last event sent or checkpoint passed, as in 24.2.0, or the position behind the last
 * event of the log, as servers from 25.0 on may send.
 */
export const endsOfCatchUp = ['last-event', 'behind-last-event'] as const;
export type EndOfCatchUp = (typeof endsOfCatchUp)[number];

/** The most matching events in a page of history. */
const pageMatches = 32;

/** The position of a subscription from the start before its first event. */
const NOWHERE: Place = { commit: -1n, prepare: -1n };

export class Checkpoints {
  readonly #filter: EventFilter;
  readonly #endOfCatchUp: EndOfCatchUp;
  #isLive: boolean;
  /** The last event sent, or checkpoint passed. */
  #reached: Place;
  #sent: Place | undefined;
  /** Position of the page that is being read. */
  #page = { start: { commit: 0n, prepare: 0n }, lookedAt: 0, matches: 0 };
  #sinceCheckpoint = 0;

  /** @param options.from undefined for the start */
  constructor(options: { filter: EventFilter; from: Place | undefined; head: bigint; endOfCatchUp: EndOfCatchUp }) {
    const { filter, from, head, endOfCatchUp } = options;
    this.#filter = filter;
    this.#endOfCatchUp = endOfCatchUp;
    this.#reached = from ?? NOWHERE;
    // The page begins with the event at that position, which was read before.
    if (from) this.#page = { start: from, lookedAt: from.prepare < from.commit ? 0 : 1, matches: 0 };
    this.#isLive = from !== undefined && !isBefore(from, { commit: head, prepare: head });
  }

  /** @returns the checkpoint that is due after an event */
  afterEvent(position: bigint, matches: boolean): Place | undefined {
    const place = { commit: position, prepare: position };
    if (this.#isLive) {
      this.#sinceCheckpoint += 1;
      if (this.#sinceCheckpoint < this.#filter.checkpointEvents) return undefined;
      this.#sinceCheckpoint = 0;
      return this.#unlessSent(place);
    }
    if (matches) this.#reached = place;
    this.#page.lookedAt += 1;
    if (matches) this.#page.matches += 1;
    const isPageFull = this.#page.lookedAt >= this.#filter.windowEvents || this.#page.matches >= pageMatches;
    return isPageFull ? this.#endPage({ commit: position + 1n, prepare: 0n }) : undefined;
  }

  /** @returns the checkpoint with which a catch-up ends */
  beforeCaughtUp(head: bigint): Place | undefined {
    if (this.#isLive) return undefined;
    this.#isLive = true;
    this.#sinceCheckpoint = 0;
    return this.#unlessSent(this.#endOfCatchUp === 'last-event' ? this.#reached : { commit: head + 1n, prepare: 0n });
  }

  #endPage(nextStart: Place): Place | undefined {
    const { start, lookedAt } = this.#page;
    this.#page = { start: nextStart, lookedAt: 0, matches: 0 };
    this.#sinceCheckpoint += lookedAt;
    if (this.#sinceCheckpoint < this.#filter.checkpointEvents) return undefined;
    this.#sinceCheckpoint %= this.#filter.checkpointEvents;
    // The start of the page instead of its end: checkpoints trail by a page.
    if (isBefore(this.#reached, start)) this.#reached = start;
    return this.#unlessSent(this.#reached);
  }

  /** Checkpoints only rise. They are unsigned, so -1 is the largest, and no other follows it. */
  #unlessSent(place: Place): Place | undefined {
    const [next, sent] = [place, this.#sent].map(
      (each) => each && { commit: unsigned(each.commit), prepare: unsigned(each.prepare) },
    );
    if (next && sent && !isBefore(sent, next)) return undefined;
    this.#sent = place;
    return place;
  }
}

const unsigned = (position: bigint): bigint => BigInt.asUintN(64, position);

function isBefore(one: Place, other: Place): boolean {
  return one.commit < other.commit || (one.commit === other.commit && one.prepare < other.prepare);
}
