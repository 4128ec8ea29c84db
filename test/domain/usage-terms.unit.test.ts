import { describe, expect, it } from 'vitest';
import {
  maxPlanChanges,
  type PlanChange,
  resultOfPlanChange,
  type TermsChanges,
} from '../../src/domain/change-plan.ts';
import { decideUsage, type UsageCommand } from '../../src/domain/decide-usage.ts';
import type { PlanTerms } from '../../src/domain/plans.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { endPeriod } from '../../src/domain/usage-periods.ts';
import {
  accountId,
  capReached,
  capRemoved,
  capSet,
  changePlan,
  charge,
  charged,
  credit,
  credited,
  ended,
  given,
  lookedUp,
  lookUp,
  lookupId,
  opened,
  plan,
  planChanged,
  queued,
  queueDownload,
  removeCap,
  sandbox,
  setCap,
  voidOf,
  warned,
} from './usage-examples.ts';

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
    expect(decideUsage(given(opened()), setCap(500))).toEqual([capSet(500)]);
    expect(decideUsage(given(opened(), capSet(500)), removeCap)).toEqual([capRemoved]);
  });

  it('that is so already yields no event', () => {
    const capped = given(opened(), capSet(500));
    expect(decideUsage(capped, setCap(500))).toEqual([]);
    expect(decideUsage(given(opened()), removeCap)).toEqual([]);
    expect(decideUsage(given(opened(), capSet(0)), setCap(0))).toEqual([]);
  });
});

describe('the overage cap', () => {
  const capped = [opened({ overage_cap_cents: 50 }), ...credited(1, 2), ...charged(3, 4), capReached(50, 50)];

  it('is said to be reached once, by whichever change brings it about', () => {
    const used = [opened(), ...credited(1, 2), ...charged(3)];
    expect(decideUsage(given(...used), setCap(49))).toEqual([capSet(49), capReached(25, 49)]);
    expect(decideUsage(given(...used), setCap(50))).toEqual([capSet(50)]);
    expect(decideUsage(given(...capped), setCap(60))).toEqual([capSet(60)]);
    expect(decideUsage(given(...capped), setCap(0))).toEqual([capSet(0)]);
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

describe('a change for the next period', () => {
  const scale = { ...plan, plan: 'scale_2000', fee_cents: 14900 };
  const next: UsageEvent = {
    type: 'PlanChanged',
    data: { effective: 'next_period', terms: scale, fee_difference_cents: 0 },
  };
  const capNext: UsageEvent = { type: 'OverageCapSet', data: { effective: 'next_period', overage_cap_cents: 900 } };

  it('leaves this one as it is, and costs nothing in it', () => {
    expect(decideUsage(given(opened()), changePlan(scale, 'next_period'))).toEqual([next]);
    expect(given(opened(), next, capNext)).toMatchObject({ terms: plan, feeCents: 1900, feeDifferenceCents: 0 });
  });

  it('comes before the notice of a cap that this period has begun with', () => {
    const reached = given(opened({ downloads_limit: 0, overage_cap_cents: 0 }));
    expect(decideUsage(reached, changePlan(scale, 'next_period'))).toEqual([next, capReached(0, 0)]);
  });

  it('is what the next period begins with', () => {
    expect(endPeriod(given(opened(), next, capNext))).toEqual(ended({ ...scale, overage_cap_cents: 900 }));
  });

  it('is replaced by a newer word, for then or for now', () => {
    const back = changePlan(plan, 'next_period');
    const cancelled = decideUsage(given(opened(), next), back);
    expect(cancelled).toEqual([{ ...next, data: { ...next.data, terms: plan } }]);
    const now = changePlan(plan);
    expect(decideUsage(given(opened(), next), now)).toEqual([planChanged({})]);
    expect(endPeriod(given(opened(), next, planChanged({})))).toEqual(ended());
  });

  it('said twice is one event', () => {
    const again = changePlan(scale, 'next_period');
    expect(decideUsage(given(opened(), next), again)).toEqual([]);
    const cap = setCap(900, 'next_period');
    expect(decideUsage(given(opened(), capNext), cap)).toEqual([]);
  });
});

describe('a change for the next period is taken back', () => {
  const smaller = { ...plan, plan: 'sandbox', fee_cents: 0 };
  const keep: UsageCommand = { kind: 'keep_plan', plan: plan.plan };
  const owners: UsageEvent = {
    type: 'PlanChanged',
    data: { effective: 'next_period', terms: smaller, fee_difference_cents: 0, chosen_by_owner: true },
  };
  const byStaff: UsageEvent = { ...owners, data: { ...planChanged(smaller).data, effective: 'next_period' } } as never;
  const [byOwner, notOfOwner] = [{ isByOwner: true }, { refusal: 'change_not_of_owner' }];

  it('by an owner, if an owner has chosen it', () => {
    expect(decideUsage(given(opened()), changePlan(smaller, 'next_period'), byOwner)).toEqual([owners]);
    expect(decideUsage(given(opened(), owners), keep, byOwner)).toEqual([planChanged({})]);
    expect(given(opened(), owners, planChanged({})).due).toBeNull();
  });

  it('by staff, whoever has chosen it', () => {
    for (const due of [owners, byStaff])
      expect(decideUsage(given(opened(), due), changePlan(plan))).toEqual([planChanged({})]);
  });

  it('not by an owner where staff have scheduled it, even in the place of an owner’s', () => {
    for (const history of [[byStaff], [owners, byStaff]]) {
      expect(decideUsage(given(opened(), ...history), keep, byOwner)).toEqual(notOfOwner);
      expect(decideUsage(given(opened(), ...history), changePlan(plan), byOwner)).toEqual(notOfOwner);
    }
  });

  it('not by an owner where staff have changed it', () => {
    const own: UsageCommand = {
      kind: 'change_terms',
      changes: { downloads_limit: 9 },
      effective: 'now',
      agreedAt: '2026-11-14T12:00:00.000Z',
    };
    const changed = decideUsage(given(opened(), owners), own) as UsageEvent[];
    expect(decideUsage(given(opened(), owners, ...changed), keep, byOwner)).toEqual(notOfOwner);
  });

  it('for the plan that was in force when the owner looked, and no other', () => {
    const larger = planChanged({ plan: 'studio_500', fee_cents: 5900 }, 4000);
    expect(decideUsage(given(opened(), larger), keep, byOwner)).toEqual({ refusal: 'plan_not_in_force' });
  });

  it('once: without a change that is due, nothing is left to do', () => {
    expect(decideUsage(given(opened()), keep, byOwner)).toEqual([]);
    const cap: UsageEvent = { type: 'OverageCapSet', data: { effective: 'next_period', overage_cap_cents: 900 } };
    expect(decideUsage(given(opened(), cap), keep, byOwner)).toEqual([]);
    expect(given(opened(), owners, cap, planChanged({})).due).toEqual({ overage_cap_cents: 900 });
  });

  it('not while the account is suspended', () => {
    const suspended = given(opened(), owners, { type: 'AccountSuspended', data: { account_id: accountId } });
    expect(decideUsage(suspended, keep, byOwner)).toEqual({ refusal: 'account_suspended' });
  });
});

describe('terms of its own, beside a plan that is due', () => {
  const small = { ...plan, plan: 'dev_20', fee_cents: 900, downloads_limit: 1, overage_cents: 30 };
  const due = (terms: Partial<PlanTerms> = {}): UsageEvent => ({
    type: 'PlanChanged',
    data: { effective: 'next_period', terms: { ...small, ...terms }, fee_difference_cents: 0 },
  });
  const terms = (changes: TermsChanges, effective?: 'now' | 'next_period'): UsageCommand => ({
    kind: 'change_terms',
    changes,
    effective,
    agreedAt: '2026-11-14T12:00:00.000Z',
  });

  it('hold now and in what is due, which stays', () => {
    const decided = decideUsage(given(opened(), due()), terms({ metadata_limit: 600 }));
    expect(decided).toEqual([planChanged({ metadata_limit: 600 }), due({ metadata_limit: 600 })]);
    const after = given(opened(), due(), planChanged({ metadata_limit: 600 }), due({ metadata_limit: 600 }));
    expect(endPeriod(after)).toEqual(ended({ ...small, metadata_limit: 600 }));
    expect(decideUsage(after, terms({ metadata_limit: 600 }))).toEqual([]);
  });

  it('ask for a higher fee at once, and then', () => {
    expect(decideUsage(given(opened(), due()), terms({ fee_cents: 2_500 }))).toEqual([
      planChanged({ fee_cents: 2_500 }, 600),
      due({ fee_cents: 2_500 }),
    ]);
  });

  it('give the price of their own day where it is another one', () => {
    expect(decideUsage(given(opened(), due()), terms({ overage_cents: 30 }))).toEqual([
      planChanged({ overage_cents: 30, rate_version: 'own-2026-11-14-30' }),
      due(),
    ]);
  });

  it('are said of the next period alone where they are in force already', () => {
    const inForce = opened({ metadata_limit: 600 });
    expect(decideUsage(given(inForce, due()), terms({ metadata_limit: 600 }))).toEqual([due({ metadata_limit: 600 })]);
  });

  it('leave nothing due where that would be the same', () => {
    const [now, later] = [planChanged({ downloads_limit: 9 }), due({ ...plan, downloads_limit: 5 })];
    expect(decideUsage(given(opened(), later), terms({ downloads_limit: 9 }))).toEqual([now]);
    const inForce = opened({ downloads_limit: 9 });
    expect(decideUsage(given(inForce, later), terms({ downloads_limit: 9 }))).toEqual([now]);
  });

  it('are followed by the notices that they cause, before what is due is said', () => {
    const warning_percents = [80, 100];
    const history = [opened({ overage_cap_cents: 0, warning_percents }), ...credited(1), due()];
    expect(decideUsage(given(...history), terms({ downloads_limit: 1 }))).toEqual([
      planChanged({ downloads_limit: 1, warning_percents }),
      ...[warned('downloads', 80, 1, 1), warned('downloads', 100, 1, 1), capReached(0, 0)],
      due({ downloads_limit: 1 }),
    ]);
  });

  it('are two changes of those that a period takes', () => {
    const history = [opened(), ...Array.from({ length: maxPlanChanges - 1 }, () => due())];
    const refused = { refusal: 'too_many_plan_changes' };
    expect(decideUsage(given(...history), terms({ metadata_limit: 600 }))).toEqual(refused);
    expect(decideUsage(given(...history), terms({ metadata_limit: 600 }, 'next_period'))).toHaveLength(1);
  });
});

describe('the fee of an upgrade', () => {
  const upgrade = (fee_cents: number) => changePlan({ ...plan, plan: `fee_${String(fee_cents)}`, fee_cents });
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

describe('a change of plan', () => {
  const scale = { ...plan, plan: 'scale_2000', downloads_limit: 4, overage_cents: 12, rate_version: '2027-01' };

  it('is an event that carries the whole new terms', () => {
    expect(decideUsage(given(opened()), changePlan(scale))).toEqual([planChanged(scale)]);
  });

  it('to the terms that are in force yields no event', () => {
    expect(decideUsage(given(opened({ overage_cap_cents: 9 })), changePlan(plan))).toEqual([]);
    const changed = given(opened(), planChanged(scale));
    expect(decideUsage(changed, changePlan({ ...scale }))).toEqual([]);
  });

  it('of a single field is a change', () => {
    const dearer = { ...plan, rate_version: '2027-01' };
    expect(decideUsage(given(opened()), changePlan(dearer))).toEqual([planChanged(dearer)]);
  });

  it('keeps the cap and every counter', () => {
    const history = [opened({ overage_cap_cents: 60 }), ...credited(1, 2), ...charged(3), lookedUp(1, 'a')];
    const before = given(...history);
    expect(given(...history, planChanged(scale))).toEqual({
      ...before,
      planChanges: 1,
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

describe('when a change takes effect, unless it says so', () => {
  const withFee = (fee_cents: number): PlanChange => ({
    kind: 'change_plan',
    terms: { ...plan, plan: 'other', fee_cents },
    effective: undefined,
  });
  const withTerms = (changes: TermsChanges): UsageCommand => ({
    kind: 'change_terms',
    changes,
    effective: undefined,
    agreedAt: '2026-11-14T12:00:00.000Z',
  });
  const effectOf = (command: UsageCommand) => {
    const decided = decideUsage(given(opened()), command);
    const [event] = isRefused(decided) ? [] : decided;
    return event?.type === 'PlanChanged' ? event.data.effective : undefined;
  };

  it('is the next period for a lower fee, else now', () => {
    expect([1_899, 1_900, 1_901].map((feeCents) => effectOf(withFee(feeCents)))).toEqual(['next_period', 'now', 'now']);
    expect(resultOfPlanChange(given(opened()), withFee(1_899)).effective).toBe('next_period');
    expect(effectOf(withTerms({ fee_cents: 900 }))).toBe('next_period');
    expect(effectOf(withTerms({ metadata_limit: 600 }))).toBe('now');
  });
});

describe('terms of its own for the next period', () => {
  const agreedAt = '2026-11-14T12:00:00.000Z';
  const due = (terms: Partial<PlanTerms>): UsageEvent => ({
    type: 'PlanChanged',
    data: { effective: 'next_period', terms: { ...plan, ...terms }, fee_difference_cents: 0 },
  });

  it('change what is due, not what is in force', () => {
    const usage = given(opened(), due({ plan: 'dev_20', fee_cents: 900 }));
    const changes = { metadata_limit: 600 };
    expect(decideUsage(usage, { kind: 'change_terms', changes, effective: 'next_period', agreedAt })).toEqual([
      due({ plan: 'dev_20', fee_cents: 900, metadata_limit: 600 }),
    ]);
  });

  it('without overage name no price', () => {
    const changes = { overage_cents: null };
    expect(decideUsage(given(opened()), { kind: 'change_terms', changes, effective: 'now', agreedAt })).toEqual([
      planChanged({ overage_cents: null, rate_version: 'own-2026-11-14-none' }),
    ]);
  });
});

describe('a cap beside one that is due', () => {
  const capNext: UsageEvent = { type: 'OverageCapSet', data: { effective: 'next_period', overage_cap_cents: 900 } };

  it('is set for now although the next period will have the same, or this one has it already', () => {
    expect(decideUsage(given(opened(), capNext), setCap(900))).toEqual([capSet(900)]);
    expect(decideUsage(given(opened({ overage_cap_cents: 500 }), capNext), setCap(500))).toEqual([capSet(500)]);
  });

  it('takes its place, and leaves the plan that is due', () => {
    const next: UsageEvent = {
      type: 'PlanChanged',
      data: { effective: 'next_period', terms: { ...plan, plan: 'other' }, fee_difference_cents: 0 },
    };
    expect(given(opened(), capNext)).toMatchObject({
      terms: { overage_cap_cents: null },
      due: { overage_cap_cents: 900 },
    });
    expect(given(opened(), capNext, capSet(300))).toMatchObject({ terms: { overage_cap_cents: 300 }, due: null });
    expect(given(opened(), next, capNext, capSet(300)).due).toEqual({
      plan: { ...plan, plan: 'other' },
      plan_of_owner: false,
    });
    expect(given(opened(), next, capNext, planChanged({})).due).toEqual({ overage_cap_cents: 900 });
  });
});

describe('a period that has begun with its cap reached', () => {
  const begun = given(opened({ downloads_limit: 0, overage_cap_cents: 0 }));

  it('says so with the first change, not with a metadata request or with a command that changes nothing', () => {
    expect(decideUsage(begun, lookUp(lookupId))).toEqual([lookedUp(1, lookupId)]);
    expect(decideUsage(begun, setCap(0))).toEqual([]);
    expect(decideUsage(begun, setCap(1))).toEqual([capSet(1), capReached(0, 1)]);
  });

  it('has no cap to reach on a plan without overage', () => {
    const used = given(opened(), ...credited(1, 2), ...charged(3, 4), capSet(30));
    const hard = { ...plan, overage_cents: null };
    expect(decideUsage(used, changePlan(hard))).toEqual([planChanged(hard)]);
  });

  it('has no cap to reach once it is removed', () => {
    const removed = given(opened({ downloads_limit: 0, overage_cap_cents: 0 }), capReached(0, 0), capRemoved);
    expect(removed.capReached).toBe(false);
  });
});
