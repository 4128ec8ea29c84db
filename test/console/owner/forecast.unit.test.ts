import { describe, expect, it } from 'vitest';
import { periodForecast } from '../../../src/console/owner/forecast.ts';

const period = { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' };
const pool = (used: number, limit: number) => ({ used, limit, remaining: limit - used });
const priced = { overage_cents: 25, overage_cap_cents: null };
const tenDaysIn = '2026-11-11T00:00:00.000Z';

describe('what a period ends with if it goes on as it has', () => {
  it('says nothing in the first day', () => {
    const usage = { period, terms: priced, downloads: pool(5, 100), overage: { downloads: 0, cents: 0 } };
    expect(periodForecast(usage, '2026-11-01T23:59:59.999Z')).toBeUndefined();
  });

  it('says nothing of a suspended account, which uses nothing', () => {
    const terms = { ...priced, suspended: true as const };
    const usage = { period, terms, downloads: pool(30, 100), overage: { downloads: 0, cents: 0 } };
    expect(periodForecast(usage, tenDaysIn)).toBeUndefined();
  });

  it('goes on at the same pace', () => {
    const usage = { period, terms: priced, downloads: pool(30, 100), overage: { downloads: 0, cents: 0 } };
    expect(periodForecast(usage, tenDaysIn)).toEqual({ downloads: 90, overageCents: 0 });
  });

  it('charges what the pace takes beyond the allowance', () => {
    const usage = { period, terms: priced, downloads: pool(50, 100), overage: { downloads: 0, cents: 0 } };
    expect(periodForecast(usage, tenDaysIn)).toEqual({ downloads: 150, overageCents: 50 * 25 });
  });

  it('adds to what is charged already', () => {
    const usage = { period, terms: priced, downloads: pool(100, 100), overage: { downloads: 20, cents: 500 } };
    expect(periodForecast(usage, tenDaysIn)).toEqual({ downloads: 360, overageCents: 500 + 240 * 25 });
  });

  it('stops at the cap', () => {
    const capped = { overage_cents: 25, overage_cap_cents: 1_010 };
    const usage = { period, terms: capped, downloads: pool(100, 100), overage: { downloads: 20, cents: 500 } };
    expect(periodForecast(usage, tenDaysIn)).toEqual({ downloads: 140, overageCents: 1_000 });
  });

  it('stops at the allowance of a plan without overage', () => {
    const free = { overage_cents: null, overage_cap_cents: null };
    const usage = { period, terms: free, downloads: pool(90, 100), overage: { downloads: 0, cents: 0 } };
    expect(periodForecast(usage, tenDaysIn)).toEqual({ downloads: 100, overageCents: 0 });
  });
});
