import { type BillingPeriod, firstBillingPeriod, nextBillingPeriod } from '../../domain/billing-period.ts';
import type { Customer, Happening, Wish } from './story.ts';

/** A download of the story. */
export interface ScriptedDownload {
  wish: Wish;
  /** Label of its key. */
  key: string;
  attempts: Extract<Happening, { what: 'download' }>['attempts'];
  fault: Extract<Happening, { what: 'download' }>['fault'];
}

/** What is done at one time: all requests of it make one append. */
export type Step = { atMs: number } & (
  | { what: 'account opened' }
  | { what: 'ordinary requests'; key: string; downloads: readonly ScriptedDownload[]; lookups: readonly Wish[] }
  | { what: 'extra download'; name: string | undefined; download: ScriptedDownload }
  /** The period of a month is over, or its books are closed and it is invoiced. */
  | { what: 'period over' | 'period closed'; period: BillingPeriod }
  | { what: 'charge waived'; download: string; reference: string; reason: string; period: BillingPeriod }
  | { what: 'credit note issued'; of: BillingPeriod; cents: number; reference: string; reason: string }
  | Exclude<Happening, { what: 'download' | 'charge waived' | 'credit note issued' }>
);

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** How late the clock of the books is. The books of the story are closed an hour after a period, as they are by default. */
const calendarMs = 4_000;
export const storyGraceSeconds = 3_600;

export const startOfDay = (ms: number): number => ms - (ms % dayMs);
const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** The three billing periods of a customer. @param today start of the story's last day, in milliseconds */
export function periodsOf({ openedDaysAgo }: Customer, todayMs: number): [BillingPeriod, BillingPeriod, BillingPeriod] {
  const opened = firstBillingPeriod(new Date(todayMs - openedDaysAgo * dayMs).toISOString());
  const second = nextBillingPeriod(opened, opened.anchorDay);
  const { start, end } = opened;
  return [{ start, end }, second, nextBillingPeriod(second, opened.anchorDay)];
}

/** The story's last day, as the start of an account's first period says. */
export const todayOf = ({ openedDaysAgo }: Customer, openedOn: string): number =>
  Date.parse(openedOn) + openedDaysAgo * dayMs;

/**
 * The steps of a customer in the order of time. Those of the last day lie in the part of it that is over.
 *
 * @param day start of the last day and the present, in milliseconds
 */
export function scriptOf(customer: Customer, day: { todayMs: number; presentMs: number }): Step[] {
  const periods = periodsOf(customer, day.todayMs);
  const at = (dateMs: number, minutes: number) =>
    dateMs + Math.floor(minutes * (dateMs === day.todayMs ? (day.presentMs - dateMs) / (24 * 60) : minuteMs));
  const asked = { count: 0 };
  const opened: Step = { what: 'account opened', atMs: at(Date.parse(periods[0].start), minutesOf('07:00')) };
  const told = customer.months.flatMap((month, index) => {
    const period = periods[index] ?? periods[2];
    const isRunning = index === periods.length - 1;
    const firstDayMs = isRunning ? day.todayMs - (7 * month.weeks - 1) * dayMs : Date.parse(period.start);
    const days = Array.from({ length: 7 * month.weeks }, (_, number) => firstDayMs + number * dayMs);
    return [
      ...days.flatMap((dateMs) => ordinaryDay(customer, month, { dateMs, at, asked })),
      ...month.happenings.map((happening): Step => {
        const atMs = at(firstDayMs + happening.day * dayMs, minutesOf(happening.at));
        return { ...stepOf(happening, period, periods), atMs };
      }),
      ...(isRunning ? [] : booksOf(period)),
    ];
  });
  return [opened, ...told].sort((one, other) => one.atMs - other.atMs);
}

function stepOf(happening: Happening, period: BillingPeriod, periods: readonly BillingPeriod[]) {
  if (happening.what === 'download') {
    const { name, wish, key, attempts, fault } = happening;
    return { what: 'extra download', name, download: { wish, key, attempts, fault } } as const;
  }
  if (happening.what === 'charge waived') return { ...happening, period };
  if (happening.what === 'credit note issued') return { ...happening, of: periods[happening.month] ?? period };
  return happening;
}

const booksOf = (period: BillingPeriod): Step[] => {
  const overMs = Date.parse(period.end) + calendarMs;
  return [
    { what: 'period over', period, atMs: overMs },
    { what: 'period closed', period, atMs: overMs + storyGraceSeconds * 1_000 + calendarMs },
  ];
};

/** A morning and an afternoon of ordinary downloads, each day at other times. */
function ordinaryDay(
  { wishes, openedDaysAgo }: Customer,
  { week, lookups, key }: Customer['months'][number],
  { dateMs, at, asked }: { dateMs: number; at: (dateMs: number, minutes: number) => number; asked: { count: number } },
): Step[] {
  const dayNumber = dateMs / dayMs;
  // Day 0, the first of January 1970, was a Thursday.
  const downloads = week[(dayNumber + 3) % 7] ?? 0;
  const next = (count: number) =>
    Array.from({ length: count }, () => wishes[asked.count++ % wishes.length]).filter((wish) => wish !== undefined);
  const succeeding = (wish: Wish): ScriptedDownload => ({ wish, key, attempts: ['done'], fault: 'video' });
  const morning = Math.ceil(downloads / 2);
  const parts = [
    {
      minutes: minutesOf('08:30') + (((dayNumber + openedDaysAgo) * 47) % 170),
      count: morning,
      lookedUp: wishes.slice(0, lookups),
    },
    {
      minutes: minutesOf('13:20') + (((dayNumber + openedDaysAgo) * 61) % 250),
      count: downloads - morning,
      lookedUp: [],
    },
  ];
  return parts
    .filter(({ count, lookedUp }) => count + lookedUp.length > 0)
    .map(({ minutes, count, lookedUp }) => ({
      what: 'ordinary requests',
      atMs: at(dateMs, minutes),
      key,
      downloads: next(count).map(succeeding),
      lookups: lookedUp,
    }));
}
