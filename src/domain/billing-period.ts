/**
 * Billing periods: half-open intervals [start, end) of instants in UTC. They are computed once, stored in the event that
 * opens them, and never recomputed. A period starts at 00:00 UTC on the account's anchor day (the day of opening); a month
 * that lacks that day uses its last one, and the anchor returns the month after.
 */
export interface BillingPeriod {
  /** UTC ISO-8601 with milliseconds; inclusive. */
  start: string;
  /** The same form; exclusive, and the start of the next period. */
  end: string;
}

/** @param openedAt instant of opening, UTC ISO-8601 */
export function firstBillingPeriod(openedAt: string): BillingPeriod & { anchorDay: number } {
  const start = `${openedAt.slice(0, 10)}T00:00:00.000Z`;
  const anchorDay = dayOf(start);
  return { start, end: nextAnchor(start, anchorDay), anchorDay };
}

export function nextBillingPeriod(period: BillingPeriod, anchorDay: number): BillingPeriod {
  return { start: period.end, end: nextAnchor(period.end, anchorDay) };
}

/** The period of `now` after `period`, skipping idle ones. Used by reads only: commands roll one period at a time. */
export function billingPeriodAt(now: string, period: BillingPeriod, anchorDay: number): BillingPeriod {
  let current = period;
  while (now >= current.end) current = nextBillingPeriod(current, anchorDay);
  return current;
}

/** One usage stream per account and period. */
export function usageStream(accountId: string, period: Pick<BillingPeriod, 'start'>): string {
  return `usage-${accountId}-${period.start.slice(0, 10).replaceAll('-', '')}`;
}

/** The account and the start of the period in the name of a usage stream; undefined for any other name. */
export function readUsageStreamName(name: string): { accountId: string; start: string } | undefined {
  // Stryker disable next-line ArrayDeclaration: the first part of a match is not read
  const [, accountId, year, month, day] = /^usage-(acc_[a-z0-9]+)-(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [];
  if (accountId === undefined) return undefined;
  // Stryker disable next-line StringLiteral: a match has all parts
  return { accountId, start: `${year ?? ''}-${month ?? ''}-${day ?? ''}T00:00:00.000Z` };
}

/** @see readUsageStreamName @throws for any other name, which the service's own log and tables cannot hold */
export function periodOfUsageStream(name: string): { accountId: string; start: string } {
  const period = readUsageStreamName(name);
  if (!period) throw new Error(`${name} is not the name of a usage stream`);
  return period;
}

function nextAnchor(start: string, anchorDay: number): string {
  const year = Number(start.slice(0, 4));
  const month = Number(start.slice(5, 7));
  const nextYear = month === 12 ? year + 1 : year;
  const nextMonth = month === 12 ? 1 : month + 1;
  const day = Math.min(anchorDay, daysInMonth(nextYear, nextMonth));
  return `${String(nextYear).padStart(4, '0')}-${twoDigits(nextMonth)}-${twoDigits(day)}T00:00:00.000Z`;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

const dayOf = (instant: string) => Number(instant.slice(8, 10));
const twoDigits = (value: number) => String(value).padStart(2, '0');
