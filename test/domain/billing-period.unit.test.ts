import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  billingPeriodAt,
  firstBillingPeriod,
  nextBillingPeriod,
  periodOfUsageStream,
  usageStream,
} from '../../src/domain/billing-period.ts';
import { inEachZone } from '../support/time-zones.ts';

const midnight = (day: string) => `${day}T00:00:00.000Z`;

/** First days of the first period and of the `months` after it. */
function startsFrom(openedAt: string, months: number): string[] {
  const { anchorDay, ...first } = firstBillingPeriod(openedAt);
  const starts = [first.start];
  for (let period = first; starts.length <= months; period = nextBillingPeriod(period, anchorDay)) {
    starts.push(period.end);
  }
  return starts.map((start) => start.slice(0, 10));
}

describe('the first period', () => {
  it('starts at 00:00 UTC of the day of opening', () => {
    expect(firstBillingPeriod('2026-11-14T17:45:12.345Z')).toEqual({
      start: midnight('2026-11-14'),
      end: midnight('2026-12-14'),
      anchorDay: 14,
    });
  });

  it.each([
    ['2026-11-14T00:00:00.000Z', '2026-11-14'],
    ['2026-11-14T23:59:59.999Z', '2026-11-14'],
    ['2026-12-31T23:59:59.999Z', '2026-12-31'],
  ])('of an account opened at %s starts on %s', (openedAt, day) => {
    expect(firstBillingPeriod(openedAt).start).toBe(midnight(day));
  });
});

describe('a month without the anchor day', () => {
  it.each([
    ['2026-10-31', ['2026-10-31', '2026-11-30', '2026-12-31', '2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30']],
    ['2026-12-30', ['2026-12-30', '2027-01-30', '2027-02-28', '2027-03-30']],
    ['2027-12-29', ['2027-12-29', '2028-01-29', '2028-02-29', '2028-03-29']],
    ['2027-01-29', ['2027-01-29', '2027-02-28', '2027-03-29']],
    ['2028-01-31', ['2028-01-31', '2028-02-29', '2028-03-31']],
    ['2028-02-29', ['2028-02-29', '2028-03-29', '2028-04-29']],
    ['2100-01-31', ['2100-01-31', '2100-02-28', '2100-03-31']],
    ['2400-01-31', ['2400-01-31', '2400-02-29', '2400-03-31']],
  ])('uses its last one, and the anchor returns: %s', (openedOn, starts) => {
    expect(startsFrom(midnight(openedOn), starts.length - 1)).toEqual(starts);
  });
});

it('a year ends in the middle of a row of periods', () => {
  expect(startsFrom('2026-11-15T10:00:00.000Z', 3)).toEqual(['2026-11-15', '2026-12-15', '2027-01-15', '2027-02-15']);
});

describe('the period of an instant', () => {
  const first = { start: midnight('2026-10-31'), end: midnight('2026-11-30') };

  it.each([
    ['2026-11-29T23:59:59.999Z', '2026-10-31', '2026-11-30'],
    ['2026-11-30T00:00:00.000Z', '2026-11-30', '2026-12-31'],
    ['2027-02-28T00:00:00.000Z', '2027-02-28', '2027-03-31'],
    ['2028-02-29T12:00:00.000Z', '2028-02-29', '2028-03-31'],
  ])('%s is the one from %s to %s, however many idle ones lie between', (now, start, end) => {
    expect(billingPeriodAt(now, first, 31)).toEqual({ start: midnight(start), end: midnight(end) });
  });

  it('is the given one for an instant before it: a clock that is behind opens nothing', () => {
    expect(billingPeriodAt('2026-01-01T00:00:00.000Z', first, 31)).toEqual(first);
  });
});

it('a usage stream is named by the account and the first day', () => {
  expect(usageStream('acc_aaaaaaaaaaaaaaaa', { start: midnight('2026-10-31') })).toBe(
    'usage-acc_aaaaaaaaaaaaaaaa-20261031',
  );
});

it('every period is what counting in UTC gives, in whatever zone the machine is', () => {
  const range = { min: new Date(midnight('2020-01-01')), max: new Date(midnight('2110-01-01')), noInvalidDate: true };
  const month = fc.integer({ min: 0, max: 40 });
  const property = fc.property(fc.date(range), month, (openedAt, months) => {
    const starts = startsFrom(openedAt.toISOString(), months);
    const [year, firstMonth] = [openedAt.getUTCFullYear(), openedAt.getUTCMonth() + months];
    const lastDay = new Date(Date.UTC(year, firstMonth + 1, 0)).getUTCDate();
    const day = Math.min(openedAt.getUTCDate(), lastDay);
    expect(starts.at(-1)).toBe(new Date(Date.UTC(year, firstMonth, day)).toISOString().slice(0, 10));
  });
  const zones = ['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Pacific/Pago_Pago'];
  inEachZone(zones, () => fc.assert(property));
});

describe('the name of a usage stream', () => {
  it('says whose it is and when its period starts', () => {
    const accountId = 'acc_aaaaaaaaaaaaaaaa';
    const start = midnight('2028-02-29');
    expect(periodOfUsageStream(usageStream(accountId, { start }))).toEqual({ accountId, start });
  });

  it.each([
    '',
    'usage-',
    'usage-acc_a-2028022',
    'job-acc_a-20280229',
    'my-usage-acc_a-20280229',
    'usage-acc_a-20280229-1',
  ])('is not just anything: %j', (name) => {
    expect(() => periodOfUsageStream(name)).toThrow('is not the name of a usage stream');
  });
});

it('a year before 1000 keeps its four digits', () => {
  expect(firstBillingPeriod(midnight('0998-11-14')).end).toBe(midnight('0998-12-14'));
});
