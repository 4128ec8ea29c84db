import { describe, expect, it } from 'vitest';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { keyUseAt } from '../../src/domain/usage-periods.ts';
import { comingChange, summarisePeriod, summariseUsage } from '../../src/domain/usage-summary.ts';
import { capSet, charge, credit, ended, given, lookedUp, opened, planChanged } from './usage-examples.ts';

const inNovember = '2026-11-30T23:59:59.999Z';

describe('the summary of a period', () => {
  it('shows both pools and the overage', () => {
    const usage = given(opened(), credit(1), credit(2), charge(3), charge(4), lookedUp(1, 'a'));
    const summary = {
      plan: 'dev_100',
      downloads: { limit: 2, used: 2, remaining: 0 },
      metadata: { limit: 1, used: 1, remaining: 0 },
      overage: { downloads: 2, cents: 50 },
      period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
    };
    expect(summariseUsage(usage, inNovember)).toEqual(summary);
    expect(summarisePeriod(usage)).toEqual(summary);
  });

  it('shows at most the allowance as used when the allowance was lowered below it', () => {
    const usage = given(opened(), credit(1), credit(2), planChanged({ downloads_limit: 1 }));
    expect(summariseUsage(usage, inNovember).downloads).toEqual({ limit: 1, used: 1, remaining: 0 });
  });

  it('shows credits again when the allowance was raised', () => {
    const usage = given(opened(), credit(1), credit(2), charge(3), planChanged({ downloads_limit: 10 }));
    expect(summariseUsage(usage, inNovember)).toMatchObject({
      downloads: { limit: 10, used: 2, remaining: 8 },
      overage: { downloads: 1, cents: 25 },
    });
  });
});

describe('past the end of the newest period', () => {
  const used = [opened(), credit(1), credit(2), charge(3), lookedUp(1, 'a'), capSet(100)];
  const unused = {
    downloads: { limit: 2, used: 0, remaining: 2 },
    metadata: { limit: 1, used: 0, remaining: 1 },
    overage: { downloads: 0, cents: 0 },
  };

  it('the period of now is shown, with nothing used, although nobody has opened it', () => {
    expect(summariseUsage(given(...used), '2026-12-01T00:00:00.000Z')).toEqual({
      plan: 'dev_100',
      ...unused,
      period: { start: '2026-12-01T00:00:00.000Z', end: '2027-01-01T00:00:00.000Z' },
    });
  });

  it('idle months are passed over', () => {
    expect(summariseUsage(given(...used), '2027-03-15T12:00:00.000Z')).toMatchObject({
      ...unused,
      period: { start: '2027-03-01T00:00:00.000Z', end: '2027-04-01T00:00:00.000Z' },
    });
  });

  it('one that has ended shows the terms of the next, whatever the clock says', () => {
    const usage = given(...used, ended({ plan: 'scale_2000', downloads_limit: 7 }));
    for (const now of [inNovember, '2026-12-01T00:00:00.000Z', '2026-12-31T23:59:59.999Z']) {
      expect(summariseUsage(usage, now)).toMatchObject({
        plan: 'scale_2000',
        downloads: { limit: 7, used: 0, remaining: 7 },
        overage: { downloads: 0, cents: 0 },
        period: { start: '2026-12-01T00:00:00.000Z', end: '2027-01-01T00:00:00.000Z' },
      });
    }
  });
});

describe('a change that is due', () => {
  const later: UsageEvent = { type: 'OverageCapSet', data: { overage_cap_cents: 700, effective: 'next_period' } };

  it('is coming until the period is over', () => {
    const usage = given(opened(), later);
    expect(comingChange(usage, inNovember)).toMatchObject({
      from: '2026-12-01T00:00:00.000Z',
      terms: { overage_cap_cents: 700 },
    });
    expect(comingChange(usage, '2026-12-01T00:00:00.000Z')).toBeNull();
    expect(comingChange(given(opened()), inNovember)).toBeNull();
  });

  it('never comes to an account that is closed', () => {
    const last: UsageEvent = {
      type: 'UsagePeriodEnded',
      data: { period_start: '2026-11-01T00:00:00.000Z', period_end: '2026-12-01T00:00:00.000Z', next: null },
    };
    expect(comingChange(given(opened(), later, last), inNovember)).toBeNull();
  });
});

describe('the use of the limit of a key', () => {
  const keyId = 'key_0123456789abcdef';
  const counted = { ...credit(1), data: { ...credit(1).data, limited_key_id: keyId } } as UsageEvent;
  const usage = given(opened(), counted);

  it('is that of the period, and nothing once it is over', () => {
    expect(keyUseAt(usage, inNovember)).toEqual({ [keyId]: { downloads: 1, overage_cents: 0 } });
    expect(keyUseAt(usage, '2026-12-01T00:00:00.000Z')).toEqual({});
    expect(keyUseAt(given(opened(), counted, ended()), inNovember)).toEqual({});
  });
});
