import { expect, it } from 'vitest';
import { changePlan, lookUp, lookupId, plan, queueDownload, setCap } from '../domain/usage-examples.ts';
import { PeriodOfDomain, staff } from './period-of-domain.ts';

/** The rules of a suspension, by what the domain decides and by one change of it. */
const [suspend, lift] = [{ kind: 'suspend_account' }, { kind: 'lift_suspension' }] as const;
const asStaff = { actor: staff };

function suspended(): PeriodOfDomain {
  const period = new PeriodOfDomain();
  expect(period.decided(suspend, asStaff)).toEqual([]);
  return period;
}

/** From here on the domain decides as a faulty one would. */
function forget(period: PeriodOfDomain): void {
  period.usage = { ...period.usage, terms: { ...period.usage.terms, suspended: undefined } };
}

it('a suspension is of the account, by staff, and lifted once', () => {
  const period = new PeriodOfDomain();
  const change = ['account_suspended type a change of what is so'];
  expect(period.decided(suspend, { ...asStaff, lie: { account_id: 'acc_b' } })).toEqual([
    'account_suspended data.account_id acc_aaaaaaaaaaaaaaaa',
  ]);
  expect(period.decided(lift)).toEqual(['account_suspended metadata.actor.type staff']);
  expect(period.decided(suspend)).toEqual(['account_suspended metadata.actor.type staff']);
  forget(period);
  expect(period.decided(suspend, asStaff)).toEqual(change);
  expect(period.decided(lift, asStaff)).toEqual([]);
  expect(period.audited.terms).toEqual(period.usage.terms);
  const lifted = { type: 'SuspensionLifted', data: { plan: plan.plan, fee_difference_cents: 0 } } as const;
  expect(period.stored([lifted], asStaff)).toEqual(change);
});

it('a suspension is within the period', () => {
  const period = new PeriodOfDomain();
  expect(period.decided(suspend, { ...asStaff, time: '2026-12-01T00:00:00.000Z' })).toEqual([
    'period_time metadata.time from 2026-11-01T00:00:00.000Z on, before 2026-12-01T00:00:00.000Z',
  ]);
});

it('nothing is charged meanwhile, and no plan is chosen; a cap may be set', () => {
  const period = suspended();
  expect(period.decided(setCap(100))).toEqual([]);
  forget(period);
  const none = 'account_suspended type no charge of a suspended account';
  expect(period.decided(queueDownload(1))).toEqual([none]);
  expect(period.decided(lookUp(lookupId))).toEqual([none]);
  const others = { ...plan, plan: 'studio_500' };
  expect(period.decided(changePlan(others))).toEqual(['account_suspended type none while suspended']);
  expect(period.decided(changePlan({ ...others, plan: 'pro' }, 'next_period'))).toEqual([
    'account_suspended type none while suspended',
  ]);
});

it('a period that begins suspended has its fee once that is lifted, and a line for it', () => {
  const period = suspended();
  const begun = new PeriodOfDomain(period.usage.terms);
  expect(begun.decided(lift, asStaff)).toEqual([]);
  expect(begun.audited.totals.fee_difference_cents).toBe(1900);
  expect(begun.audited.lines).toMatchObject([
    { kind: 'fee_difference', plan: 'dev_100', cents: 1900, event: { revision: 1 } },
  ]);
  const again = new PeriodOfDomain(period.usage.terms);
  expect(again.decided(lift, { ...asStaff, lie: { plan: 'studio_500', fee_difference_cents: 1 } })).toEqual([
    'account_suspended data.plan dev_100',
    'account_suspended data.fee_difference_cents 1900',
  ]);
  expect(again.audited.totals.fee_difference_cents).toBe(1);
});

it('a plan of the account says nothing of suspensions and limits', () => {
  const period = new PeriodOfDomain();
  const terms = { ...plan, plan: 'studio_500', suspended: true, key_limits: {} };
  const change = { type: 'PlanChanged', data: { effective: 'now', terms, fee_difference_cents: 0 } } as const;
  expect(period.stored([change])).toEqual([
    'plan_change data.terms.suspended undefined',
    'plan_change data.terms.key_limits undefined',
  ]);
});
