import { describe, expect, it } from 'vitest';

import { decideUsage } from '../../src/domain/decide-usage.ts';
import type { UsageCommand } from '../../src/domain/decide-usage.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { endPeriod, openNextPeriod } from '../../src/domain/usage-periods.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import {
  accountId,
  capReached,
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
  token,
  voidOf,
  warned,
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
    expect(decideUsage(given(...history), queueDownload(4))).toEqual([charge(4), queued(4, true), capReached(50, 50)]);
    expect(decideUsage(given(...history, ...charged(4)), queueDownload(5))).toEqual({ refusal: 'overage_cap_reached' });
  });

  it('is not passed by the last charge either when it is no multiple of the rate', () => {
    const usage = given(opened({ overage_cap_cents: 74 }), ...credited(1, 2), ...charged(3, 4));
    expect(decideUsage(usage, queueDownload(5))).toEqual({ refusal: 'overage_cap_reached' });
  });

  it('of nothing forbids all overage and no credit', () => {
    const history = [opened(), capSet(0), ...credited(1)];
    expect(decideUsage(given(...history), queueDownload(2))).toEqual([credit(2), queued(2, false), capReached(0, 0)]);
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
    expect(decideUsage(given(...history, capSet(25)), queueDownload(3))).toEqual([
      charge(3),
      queued(3, true),
      capReached(25, 25),
    ]);
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

describe('the ceiling', () => {
  const capped = [opened({ overage_cap_cents: 50 }), ...credited(1, 2), ...charged(3, 4), capReached(50, 50)];

  it('is said to be reached once, by whichever change brings it about', () => {
    const set = (cents: number): UsageCommand => ({
      kind: 'set_overage_cap',
      overageCapCents: cents,
      effective: 'now',
    });
    const used = [opened(), ...credited(1, 2), ...charged(3)];
    expect(decideUsage(given(...used), set(49))).toEqual([capSet(49), capReached(25, 49)]);
    expect(decideUsage(given(...used), set(50))).toEqual([capSet(50)]);
    expect(decideUsage(given(...capped), set(60))).toEqual([capSet(60)]);
    expect(decideUsage(given(...capped), set(0))).toEqual([capSet(0)]);
  });

  it('can be reached again once there was room under it', () => {
    const raised = [...capped, capSet(75)];
    expect(decideUsage(given(...raised), queueDownload(5))).toEqual([charge(5), queued(5, true), capReached(75, 75)]);
    const voided = [...capped, voidOf(4, 25)];
    expect(decideUsage(given(...voided), queueDownload(5))).toEqual([charge(5), queued(5, true), capReached(50, 50)]);
  });

  it('is not reached while the allowance has a credit', () => {
    expect(decideUsage(given(opened(), capSet(0)), queueDownload(1))).toEqual([credit(1), queued(1, false)]);
  });
});

describe('a warning', () => {
  const warning = { warning_percents: [80, 100] };

  it('is given in the append that reaches the share, once', () => {
    const terms = { ...warning, downloads_limit: 5 };
    const three = [opened(terms), ...credited(1, 2, 3)];
    expect(decideUsage(given(opened(terms), ...credited(1, 2)), queueDownload(3))).toHaveLength(2);
    expect(decideUsage(given(...three), queueDownload(4))).toEqual([
      credit(4),
      queued(4, false),
      warned('downloads', 80, 4, 5),
    ]);
    const four = [...three, ...credited(4), warned('downloads', 80, 4, 5)];
    expect(decideUsage(given(...four), queueDownload(5))).toEqual([
      credit(5),
      queued(5, false),
      warned('downloads', 100, 5, 5),
    ]);
    const five = [...four, ...credited(5), warned('downloads', 100, 5, 5)];
    expect(decideUsage(given(...five), queueDownload(6))).toEqual([charge(6), queued(6, true)]);
    const afterVoid = [...five, voidOf(5, 0)];
    expect(decideUsage(given(...afterVoid), queueDownload(6))).toEqual([credit(6), queued(6, false)]);
  });

  it('is given for both shares where one step reaches both, and for each pool by itself', () => {
    expect(decideUsage(given(opened(warning)), lookUp('6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11'))).toEqual([
      lookedUp(1, '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11'),
      warned('metadata', 80, 1, 1),
      warned('metadata', 100, 1, 1),
    ]);
  });

  it('comes of a change of plan too, and never of an empty pool', () => {
    const usage = given(opened({ ...warning, downloads_limit: 10 }), ...credited(1, 2));
    const smaller = { ...plan, ...warning, downloads_limit: 2 };
    expect(decideUsage(usage, { kind: 'change_plan', terms: smaller, effective: 'now' })).toEqual([
      planChanged(smaller),
      warned('downloads', 80, 2, 2),
      warned('downloads', 100, 2, 2),
    ]);
    const none = { ...smaller, downloads_limit: 0 };
    expect(decideUsage(usage, { kind: 'change_plan', terms: none, effective: 'now' })).toEqual([planChanged(none)]);
  });
});

describe('a change for the next period', () => {
  const scale = { ...plan, plan: 'scale_2000', fee_cents: 14900 };
  const next: UsageEvent = {
    type: 'PlanChanged',
    data: { effective: 'next_period', terms: scale, fee_difference_cents: 0 },
  };
  const capNext: UsageEvent = { type: 'OverageCapSet', data: { effective: 'next_period', overage_cap_cents: 900 } };

  it('leaves this one as it is, and costs nothing in it', () => {
    expect(decideUsage(given(opened()), { kind: 'change_plan', terms: scale, effective: 'next_period' })).toEqual([
      next,
    ]);
    expect(given(opened(), next, capNext)).toMatchObject({ terms: plan, feeCents: 1900, feeDifferenceCents: 0 });
  });

  it('is what the next period begins with', () => {
    expect(endPeriod(given(opened(), next, capNext))).toEqual(ended({ ...scale, overage_cap_cents: 900 }));
  });

  it('is replaced by a newer word, for then or for now', () => {
    const back: UsageCommand = { kind: 'change_plan', terms: plan, effective: 'next_period' };
    const cancelled = decideUsage(given(opened(), next), back);
    expect(cancelled).toEqual([{ ...next, data: { ...next.data, terms: plan } }]);
    const now: UsageCommand = { kind: 'change_plan', terms: plan, effective: 'now' };
    expect(decideUsage(given(opened(), next), now)).toEqual([planChanged({})]);
    expect(endPeriod(given(opened(), next, planChanged({})))).toEqual(ended());
  });

  it('said twice is one event', () => {
    const again: UsageCommand = { kind: 'change_plan', terms: scale, effective: 'next_period' };
    expect(decideUsage(given(opened(), next), again)).toEqual([]);
    const cap: UsageCommand = { kind: 'set_overage_cap', overageCapCents: 900, effective: 'next_period' };
    expect(decideUsage(given(opened(), capNext), cap)).toEqual([]);
  });
});

describe('the fee of an upgrade', () => {
  const upgrade = (fee_cents: number): UsageCommand => ({
    kind: 'change_plan',
    terms: { ...plan, plan: `fee_${String(fee_cents)}`, fee_cents },
    effective: 'now',
  });
  const differences = (...fees: number[]) => {
    const events: UsageEvent[] = [opened()];
    for (const fee of fees) {
      const decision = decideUsage(given(...events), upgrade(fee));
      if (isRefused(decision)) throw new Error(decision.refusal);
      events.push(...decision);
    }
    return events.flatMap((event) => (event.type === 'PlanChanged' ? event.data.fee_difference_cents : []));
  };

  it('is the whole difference to what the period has cost so far', () => {
    expect(differences(5900)).toEqual([4000]);
    expect(differences(5900, 14900)).toEqual([4000, 9000]);
  });

  it('is not asked for twice by going down and up again', () => {
    expect(differences(5900, 1900, 5900, 6000)).toEqual([4000, 0, 0, 100]);
  });
});

describe('a download that is there already', () => {
  const keyed = (number: number): UsageCommand => ({
    ...(queueDownload(number) as Extract<UsageCommand, { kind: 'queue_download' }>),
    idempotency: { keyHash: 'a'.repeat(64), fingerprint: 'b'.repeat(64) },
  });
  const prior = {
    token: token(1),
    overage: false,
    fingerprint: 'b'.repeat(64),
    confirmed: false,
    voided: false,
  };
  const empty = given(opened(sandbox));

  it('is not charged again: it is confirmed, before any quota is looked at', () => {
    expect(decideUsage(empty, keyed(2), prior)).toEqual([{ type: 'DownloadConfirmed', data: { token: token(1) } }]);
    expect(decideUsage(empty, keyed(2), { ...prior, confirmed: true })).toEqual([]);
    expect(decideUsage(empty, keyed(1), prior)).toEqual([]);
  });

  it('is not what another request with its key asked for', () => {
    const other = { ...prior, fingerprint: 'c'.repeat(64) };
    expect(decideUsage(given(opened()), keyed(2), other)).toEqual({ refusal: 'idempotency_key_reused' });
  });

  it('frees its key when it is voided', () => {
    const decision = decideUsage(given(opened()), keyed(2), { ...prior, voided: true });
    expect(decision).toMatchObject([{ type: 'DownloadCreditDebited' }, { type: 'DownloadQueued' }]);
  });
});

describe('what is voided', () => {
  it('gives its own credit back to the next download, and its ordinal to nobody', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3), voidOf(1, 0));
    expect(usage).toMatchObject({ downloads: 3, downloadCredits: 1, overageDownloads: 1, overageCents: 25 });
    expect(decideUsage(usage, queueDownload(4))).toEqual([credit(4), queued(4, false)]);
  });

  it('gives its own cents back, at the rate it was charged', () => {
    const usage = given(opened(), ...credited(1, 2), ...charged(3), planChanged({ overage_cents: 99 }), voidOf(3, 25));
    expect(usage).toMatchObject({ downloads: 3, downloadCredits: 2, overageDownloads: 0, overageCents: 0 });
  });

  it('of lookups leaves room for another, with an ordinal of its own', () => {
    const lookupId = '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11';
    const voided: UsageEvent = {
      type: 'MetadataCreditVoided',
      data: { lookup_id: lookupId, charge_event_id: lookupId },
    };
    const usage = given(opened(), lookedUp(1, lookupId), voided);
    expect(usage).toMatchObject({ lookups: 1, metadataCredits: 0 });
    expect(decideUsage(usage, lookUp(lookupId))).toEqual([lookedUp(2, lookupId)]);
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
        previous_period_start: '2026-11-01T00:00:00.000Z',
        terms: { ...sandbox, overage_cap_cents: null },
      },
    });
    expect(given(next)).toMatchObject({ downloads: 0, downloadCredits: 0, overageCents: 0, metadataCredits: 0 });
  });

  it('comes before the next opening', () => {
    expect(() => openNextPeriod(given(opened()))).toThrow('has not ended');
  });
});
