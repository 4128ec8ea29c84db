import { type BillingPeriod, firstBillingPeriod, nextBillingPeriod } from '../domain/billing-period.ts';
import type { Customer, DatedHappening, ScriptedDownload, Wish } from './story.ts';

/** What is done at one time: all requests of it make one append. */
export type Step = { atMs: number; period: BillingPeriod } & (
  | { what: 'account opened' | 'period over' }
  | { what: 'requests'; key: string; downloads: readonly ScriptedDownload[]; lookups: readonly Wish[] }
  /** The books of the period are closed, and it is invoiced. */
  | { what: 'period closed' }
  | DatedHappening
);

const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;
/** How late the clock of the books is. The books of the story are closed an hour after a period, as they are by default. */
const calendarMs = 4_000;
export const storyGraceSeconds = 3_600;

/** The two billing periods of a customer. @param lastDayMs start of the story's last day, in milliseconds */
export function periodsOf({ openedDaysAgo }: Customer, lastDayMs: number): [BillingPeriod, BillingPeriod] {
  const { start, end, anchorDay } = firstBillingPeriod(new Date(lastDayMs - openedDaysAgo * dayMs).toISOString());
  const closed = { start, end };
  return [closed, nextBillingPeriod(closed, anchorDay)];
}

/** The story's last day, as the start of an account's first period says. */
export const lastDayOf = ({ openedDaysAgo }: Customer, openedOn: string): number =>
  Date.parse(openedOn) + openedDaysAgo * dayMs;

/**
 * The steps of a customer in the order of time, each at a time of its own, which follows from the last day alone.
 *
 * @param lastDayMs start of the last day, in milliseconds
 */
export function scriptOf(customer: Customer, lastDayMs: number): Step[] {
  const [closed, running] = periodsOf(customer, lastDayMs);
  const openedMs = Date.parse(closed.start) + minutesOf('07:00') * minuteMs;
  const [first, second] = customer.months;
  const secondStartMs = lastDayMs - (7 * second.weeks - 1) * dayMs;
  return [
    { what: 'account opened' as const, period: closed, atMs: openedMs },
    ...monthOf(customer, first, { period: closed, startMs: Date.parse(closed.start) }),
    ...booksOf(closed),
    ...monthOf(customer, second, { period: running, startMs: secondStartMs }),
  ].sort((one, other) => one.atMs - other.atMs);
}

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

function monthOf(
  { wishes, openedDaysAgo }: Customer,
  { weeks, week, lookups, key, happenings }: Customer['months'][number],
  { period, startMs }: { period: BillingPeriod; startMs: number },
): Step[] {
  let turn = 0;
  const next = (): ScriptedDownload[] => {
    const wish = wishes[turn++ % wishes.length];
    return wish ? [{ wish, key, attempts: ['done'] }] : [];
  };
  const ordinary = Array.from({ length: 7 * weeks }, (_, day): Step => {
    const dateMs = startMs + day * dayMs;
    const dayNumber = dateMs / dayMs;
    // Each day at another time, from half past eight to a quarter to five.
    const minutes = minutesOf('08:30') + (((dayNumber + openedDaysAgo) * 47) % 495);
    // Day 0, the first of January 1970, was a Thursday.
    const downloads = Array.from({ length: week[(dayNumber + 3) % 7] ?? 0 }, next).flat();
    return {
      what: 'requests',
      period,
      atMs: dateMs + minutes * minuteMs,
      key,
      downloads,
      lookups: wishes.slice(0, lookups),
    };
  });
  const others = happenings.map((happening): Step => {
    const atMs = startMs + happening.day * dayMs + minutesOf(happening.time) * minuteMs;
    return { ...happening, period, atMs };
  });
  return [...ordinary, ...others];
}

function booksOf(period: BillingPeriod): Step[] {
  const overMs = Date.parse(period.end) + calendarMs;
  return [
    { what: 'period over', period, atMs: overMs },
    { what: 'period closed', period, atMs: overMs + storyGraceSeconds * 1_000 + calendarMs },
  ];
}
