/** Periods of every anchor over leap years, and an invoice of each, computed in the time zone that the process is in now. */

import { hash } from 'node:crypto';
import {
  type BillingPeriod,
  billingPeriodAt,
  firstBillingPeriod,
  nextBillingPeriod,
} from '../../src/domain/billing-period.ts';
import { openingInvoice, periodInvoice } from '../../src/domain/invoice-lines.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { endPeriod, periodClosed } from '../../src/domain/usage-periods.ts';
import { charge, given, opened, parsed } from './usage-examples.ts';

const anchors = Array.from({ length: 31 }, (_, index) => index + 1);
const months = 60;
const hour = 3_600_000;

/** Every hour of the nights in which clocks change somewhere, and the first and last instants of leap days. */
const watched = [
  '2027-03-14',
  '2027-03-28',
  '2027-10-31',
  '2027-11-07',
  '2026-10-25',
  '2028-02-28',
  '2028-02-29',
  '2028-03-01',
  '2026-12-31',
  '2027-01-01',
  '2027-02-28',
  '2027-03-01',
  '2028-12-31',
].flatMap((day) => Array.from({ length: 25 }, (_, index) => Date.parse(`${day}T00:00:00.000Z`) + index * hour));

export interface Digest {
  /** Hours between this zone and UTC in January and in July of 2027: the process really is in it. */
  offsets: number[];
  periods: string;
  invoices: string;
}

/** @throws where an instant is in no period or in two */
export function digestPeriodsAndInvoices(): Digest {
  const periods: string[] = [];
  const invoices: string[] = [];
  for (const anchor of anchors) {
    // October has 31 days, so that every anchor opens in it.
    const { anchorDay, ...first } = firstBillingPeriod(`2026-10-${String(anchor).padStart(2, '0')}T13:14:15.161Z`);
    const row = [first];
    for (let period = first; row.length < months;) row.push((period = nextBillingPeriod(period, anchorDay)));
    periods.push(...row.map(({ start, end }) => `${String(anchor)} ${start} ${end}`));
    for (const at of [...watched, ...row.flatMap(({ start }) => [Date.parse(start) - 1, Date.parse(start)])]) {
      const instant = new Date(at).toISOString();
      if (instant < first.start) continue;
      const holding = row.filter(({ start, end }) => start <= instant && instant < end);
      const found = billingPeriodAt(instant, first, anchorDay);
      if (holding.length !== 1 || holding[0]?.start !== found.start)
        throw new Error(`${instant} of anchor ${String(anchor)}`);
    }
    invoices.push(...row.slice(0, 24).map((period) => JSON.stringify(invoicesOf(period, anchorDay))));
  }
  return {
    offsets: [0, 6].map((month) => -new Date(2027, month, 1).getTimezoneOffset() / 60),
    periods: hash('sha256', periods.join('\n')),
    invoices: hash('sha256', invoices.join('\n')),
  };
}

/** The invoices of a period of three downloads beyond the allowance. */
function invoicesOf(period: BillingPeriod, anchorDay: number) {
  const first = opened({ downloads_limit: 0 }, period, anchorDay);
  const charged: UsageEvent[] = [first, charge(1), charge(2), charge(3)];
  const ended = [...charged, endPeriod(given(...charged))];
  const events = [...ended, periodClosed(given(...ended))];
  return [openingInvoice(parsed(first, 0)), periodInvoice(events.map((event, revision) => parsed(event, revision)))];
}

// Run as a program, in a process of a zone.
if (import.meta.main) process.stdout.write(JSON.stringify(digestPeriodsAndInvoices()));
