import { describe, expect, it } from 'vitest';

import { decideUsage } from '../../src/domain/decide-usage.ts';
import { endPeriod, openNextPeriod } from '../../src/domain/usage-periods.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import {
  accountId,
  capRemoved,
  capSet,
  charge,
  credit,
  ended,
  given,
  lookUp,
  lookedUp,
  opened,
  plan,
  planChanged,
  queueDownload,
  queued,
  sandbox,
} from './usage-examples.ts';

/** A credit or a charge, and the download that it pays for. */
const credited = (...ordinals: number[]): UsageEvent[] =>
  ordinals.flatMap((ordinal) => [credit(ordinal), queued(ordinal, false)]);
const charged = (...ordinals: number[]): UsageEvent[] =>
  ordinals.flatMap((ordinal) => [charge(ordinal), queued(ordinal, true)]);

describe('queueing a download', () => {
  it('takes a credit while the allowance has one', () => {
    expect(decideUsage(given(opened()), queueDownload(1))).toEqual([credit(1), queued(1, false)]);
    expect(decideUsage(given(opened(), ...credited(1)), queueDownload(2))).toEqual([credit(2), queued(2, false)]);
  });

  it('is charged beyond the allowance, at the rate and rate version in force, and says so', () => {
    const usage = given(opened(), ...credited(1, 2));
    expect(decideUsage(usage, queueDownload(3))).toEqual([charge(3), queued(3, true)]);
  });

  it('is refused beyond the allowance of a plan without overage', () => {
    expect(decideUsage(given(opened(sandbox)), queueDownload(1))).toEqual({ refusal: 'download_quota_exceeded' });
    const usage = given(opened({ overage_cents: null }), ...credited(1, 2));
    expect(decideUsage(usage, queueDownload(3))).toEqual({ refusal: 'download_quota_exceeded' });
  });

  it('refuses for the plan before it refuses for the cap', () => {
    const usage = given(opened({ ...sandbox, overage_cap_cents: 0 }));
    expect(decideUsage(usage, queueDownload(1))).toEqual({ refusal: 'download_quota_exceeded' });
  });

  it('counts credits and charges in one row of ordinals', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3, 4));
    expect(usage).toMatchObject({ downloads: 4, downloadCredits: 2, overageDownloads: 2, overageCents: 50 });
    expect(decideUsage(usage, queueDownload(5))).toEqual([charge(5), queued(5, true)]);
  });
});

describe('the cap on overage charges', () => {
  it('is reached to the cent and not passed by one', () => {
    const history = [opened({ overage_cap_cents: 50 }), ...credited(1, 2), ...charged(3)];
    expect(decideUsage(given(...history), queueDownload(4))).toEqual([charge(4), queued(4, true)]);
    expect(decideUsage(given(...history, ...charged(4)), queueDownload(5))).toEqual({ refusal: 'overage_cap_reached' });
  });

  it('is not passed by the last charge either when it is no multiple of the rate', () => {
    const usage = given(opened({ overage_cap_cents: 74 }), ...credited(1, 2), ...charged(3, 4));
    expect(decideUsage(usage, queueDownload(5))).toEqual({ refusal: 'overage_cap_reached' });
  });

  it('of nothing forbids all overage and no credit', () => {
    const history = [opened(), capSet(0), ...credited(1)];
    expect(decideUsage(given(...history), queueDownload(2))).toEqual([credit(2), queued(2, false)]);
    expect(decideUsage(given(...history, ...credited(2)), queueDownload(3))).toEqual({
      refusal: 'overage_cap_reached',
    });
  });

  it('lowered below what is charged takes nothing back and allows nothing more', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3, 4), capSet(30));
    expect(usage.overageCents).toBe(50);
    expect(decideUsage(usage, queueDownload(5))).toEqual({ refusal: 'overage_cap_reached' });
  });

  it('raised or removed lets downloads go on', () => {
    const history = [opened({ overage_cap_cents: 0 }), ...credited(1, 2)];
    expect(decideUsage(given(...history, capSet(25)), queueDownload(3))).toEqual([charge(3), queued(3, true)]);
    expect(decideUsage(given(...history, capRemoved), queueDownload(3))).toEqual([charge(3), queued(3, true)]);
  });

  it('is set and removed', () => {
    expect(decideUsage(given(opened()), { kind: 'set_overage_cap', overageCapCents: 500, effective: 'now' })).toEqual([
      capSet(500),
    ]);
    expect(decideUsage(given(opened(), capSet(500)), { kind: 'remove_overage_cap', effective: 'now' })).toEqual([
      capRemoved,
    ]);
  });

  it('that is so already yields no event', () => {
    const capped = given(opened(), capSet(500));
    expect(decideUsage(capped, { kind: 'set_overage_cap', overageCapCents: 500, effective: 'now' })).toEqual([]);
    expect(decideUsage(given(opened()), { kind: 'remove_overage_cap', effective: 'now' })).toEqual([]);
    expect(
      decideUsage(given(opened(), capSet(0)), { kind: 'set_overage_cap', overageCapCents: 0, effective: 'now' }),
    ).toEqual([]);
  });
});

describe('a change of plan', () => {
  const scale = { ...plan, plan: 'scale_2000', downloads_limit: 4, overage_cents: 12, rate_version: '2027-01' };

  it('is an event that carries the whole new terms', () => {
    expect(decideUsage(given(opened()), { kind: 'change_plan', terms: scale, effective: 'now' })).toEqual([
      planChanged(scale),
    ]);
  });

  it('to the terms that are in force yields no event', () => {
    expect(
      decideUsage(given(opened({ overage_cap_cents: 9 })), { kind: 'change_plan', terms: plan, effective: 'now' }),
    ).toEqual([]);
    const changed = given(opened(), planChanged(scale));
    expect(decideUsage(changed, { kind: 'change_plan', terms: { ...scale }, effective: 'now' })).toEqual([]);
  });

  it('of a single field is a change', () => {
    const dearer = { ...plan, rate_version: '2027-01' };
    expect(decideUsage(given(opened()), { kind: 'change_plan', terms: dearer, effective: 'now' })).toEqual([
      planChanged(dearer),
    ]);
  });

  it('keeps the cap and every counter', () => {
    const history = [opened({ overage_cap_cents: 60 }), ...credited(1, 2), ...charged(3), lookedUp(1, 'a')];
    const before = given(...history);
    expect(given(...history, planChanged(scale))).toEqual({
      ...before,
      terms: { ...scale, overage_cap_cents: 60 },
    });
  });

  it('prices what comes, and never what was', () => {
    const history = [opened(), ...credited(1, 2), ...charged(3), planChanged({ ...scale, downloads_limit: 2 })];
    expect(given(...history).overageCents).toBe(25);
    expect(decideUsage(given(...history), queueDownload(4))).toEqual([charge(4, 12, '2027-01'), queued(4, true)]);
    expect(given(...history, charge(4, 12, '2027-01'), queued(4, true)).overageCents).toBe(37);
  });

  it('to a larger allowance gives credits again, after charges too', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3), planChanged(scale));
    expect(decideUsage(usage, queueDownload(4))).toEqual([credit(4), queued(4, false)]);
  });

  it('to an allowance below what is used charges the next download', () => {
    const usage = given(opened(), ...credited(1, 2), planChanged({ downloads_limit: 1 }));
    expect(decideUsage(usage, queueDownload(3))).toEqual([charge(3), queued(3, true)]);
  });

  it('to a plan without overage ends downloads beyond the allowance', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3), planChanged(sandbox));
    expect(decideUsage(usage, queueDownload(4))).toEqual({ refusal: 'download_quota_exceeded' });
  });
});

describe('a metadata lookup', () => {
  const lookupId = '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11';

  it('takes a credit of its own pool, and none of the downloads', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3));
    expect(decideUsage(usage, lookUp(lookupId))).toEqual([lookedUp(1, lookupId)]);
    expect(given(opened(), lookedUp(1, lookupId))).toMatchObject({ metadataCredits: 1, downloads: 0 });
  });

  it('is refused when the pool is empty, on a plan with overage too', () => {
    const usage = given(opened(), lookedUp(1, lookupId));
    expect(decideUsage(usage, lookUp(lookupId))).toEqual({ refusal: 'metadata_quota_exceeded' });
  });
});

describe('the end of a period', () => {
  it('carries what the next one begins with: its dates, and the terms and the cap in force', () => {
    const usage = given(opened(), capSet(700), planChanged({ plan: 'other' }), ...credited(1));
    expect(endPeriod(usage)).toEqual(ended({ plan: 'other', overage_cap_cents: 700 }));
  });

  it('opens the next with nothing used in it', () => {
    const usage = given(opened({ overage_cap_cents: 50 }), ...credited(1, 2), ...charged(3, 4), ended(sandbox));
    const next = openNextPeriod(usage);
    expect(next).toEqual({
      type: 'UsagePeriodOpened',
      data: {
        account_id: accountId,
        anchor_day: 1,
        period_start: '2026-12-01T00:00:00.000Z',
        period_end: '2027-01-01T00:00:00.000Z',
        terms: { ...sandbox, overage_cap_cents: null },
      },
    });
    expect(given(next)).toMatchObject({ downloads: 0, downloadCredits: 0, overageCents: 0, metadataCredits: 0 });
  });

  it('comes before the next opening', () => {
    expect(() => openNextPeriod(given(opened()))).toThrow('has not ended');
  });
});
