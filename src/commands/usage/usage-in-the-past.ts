import { type BillingPeriod, nextBillingPeriod, usageStream } from '../../domain/billing-period.ts';
import { evolveUsage } from '../../domain/evolve-usage.ts';
import { later } from '../../domain/instant.ts';
import { type ParsedEvent, parseUsageEvent } from '../../domain/parse-event.ts';
import type { UsageEvent } from '../../domain/usage-events.ts';
import { initialUsage, type UsagePeriod } from '../../domain/usage-state.ts';
import type { EventStore } from '../../ports/event-store.ts';

/** An account's usage as it stood at moments of the past, by the service's own fold of the log. It decides nothing. */

/** Both are inclusive. */
export interface Moment {
  /** What the clock showed, UTC ISO-8601. */
  time: string;
  /** Position in the log of the newest event; undefined: the newest one whose own time is not after `time`. */
  position?: bigint | undefined;
}

/** The newest billing period, as `summariseUsage` and `termsAt` take it. */
export interface PastUsage {
  usage: UsagePeriod;
  /** UTC ISO-8601. */
  now: string;
}

/** The account's AccountOpened. */
export interface OpenedAccount {
  account_id: string;
  anchor_day: number;
  /** Of the first billing period, UTC ISO-8601. */
  period_start: string;
  period_end: string;
}

const readAtOnce = 1_000;

/**
 * Reads only the billing periods that the moments fall into, the newest first, and of each no more than up to the newest moment.
 *
 * @param moments the newest first
 * @param options.mostEvents to read in all; default: as many as it takes
 * @returns one for each moment: `before_opening` where no period of the account was open yet, and `not_read` where it would take
 *   more than `mostEvents`
 * @throws {EventStoreUnavailable}
 */
export async function readPastUsage(
  store: Pick<EventStore, 'read'>,
  account: OpenedAccount,
  moments: readonly Moment[],
  { mostEvents = Infinity }: { mostEvents?: number } = {},
): Promise<(PastUsage | 'before_opening' | 'not_read')[]> {
  const found: (PastUsage | 'before_opening' | 'not_read')[] = [];
  let left = mostEvents;
  for (let moment = moments[0]; moment && left > 0; moment = moments[found.length]) {
    const stream = await newestStreamAt(store, account, moment);
    if (stream === undefined) return [...found, ...moments.slice(found.length).map(() => 'before_opening' as const)];
    const { states, read } = await foldStream(store, stream, moments.slice(found.length), left);
    found.push(...states);
    left -= read;
  }
  return [...found, ...moments.slice(found.length).map(() => 'not_read' as const)];
}

/** The stream of the newest period that was open by then: the clock may have been in a later period, which nothing had opened yet. */
async function newestStreamAt(
  store: Pick<EventStore, 'read'>,
  account: OpenedAccount,
  moment: Moment,
): Promise<string | undefined> {
  for (const period of periodsUpTo(account, moment.time).reverse()) {
    const stream = usageStream(account.account_id, period);
    const [opening] = await store.read(stream, 0, 1);
    if (opening && isIn(moment, parseUsageEvent(opening))) return stream;
  }
  return undefined;
}

/** The last one begins after `time`: a process whose clock was ahead may have opened it. */
function periodsUpTo(
  { anchor_day: anchorDay, period_start: start, period_end: end }: OpenedAccount,
  time: string,
): BillingPeriod[] {
  const periods = [];
  for (let period: BillingPeriod = { start, end }; ; period = nextBillingPeriod(period, anchorDay)) {
    periods.push(period);
    if (period.start > time) return periods;
  }
}

const isIn = ({ time, position }: Moment, event: ParsedEvent<UsageEvent>): boolean =>
  position === undefined ? event.metadata.time <= time : event.position <= position;

/** @returns states: the newest first, for those of the moments by which the stream's period was open */
async function foldStream(
  store: Pick<EventStore, 'read'>,
  stream: string,
  moments: readonly Moment[],
  mostEvents: number,
): Promise<{ states: (PastUsage | 'not_read')[]; read: number }> {
  const waiting = [...moments];
  const states: PastUsage[] = [];
  let usage = initialUsage;
  let lastTime = '';
  let read = 0;
  const reachNext = () => {
    const moment = waiting.pop();
    if (moment && usage.phase !== 'absent') states.unshift({ usage, now: later(moment.time, lastTime) });
  };
  for (let isWhole = false; !isWhole && waiting.length > 0 && read < mostEvents;) {
    const count = Math.min(readAtOnce, mostEvents - read);
    const recorded = await store.read(stream, read, count);
    for (const event of recorded.map(parseUsageEvent)) {
      for (let next = waiting.at(-1); next && !isIn(next, event); next = waiting.at(-1)) reachNext();
      usage = evolveUsage(usage, event.event);
      lastTime = event.metadata.time;
    }
    read += recorded.length;
    isWhole = recorded.length < count;
    if (isWhole) while (waiting.length > 0) reachNext();
  }
  return { states: [...waiting.map(() => 'not_read' as const), ...states], read };
}
