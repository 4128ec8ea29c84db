import { describe, expect, it } from 'vitest';
import { decideAccount, evolveAccount, initialAccount } from '../../src/domain/account.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { decideUsage, refuseRequest } from '../../src/domain/decide-usage.ts';
import { periodInvoice } from '../../src/domain/invoice-lines.ts';
import { type KeyLimit, maxKeyLimits, noLimit } from '../../src/domain/key-limits.ts';
import { nextInvoice } from '../../src/domain/next-invoice.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { comingTerms, endPeriod, openNextPeriod, owesInvoice, periodClosed } from '../../src/domain/usage-periods.ts';
import { summariseUsage } from '../../src/domain/usage-summary.ts';
import {
  accountId,
  charge,
  credit,
  given,
  lookUp,
  opened,
  parsed,
  plan,
  queueDownload,
  token,
} from './usage-examples.ts';

const at = '2026-11-15T12:00:00.000Z';
const keyId = 'key_0123456789abcdef';
const key = { id: keyId, at };
const suspended: UsageEvent = { type: 'AccountSuspended', data: { account_id: accountId } };
const lifted = (cents: number): UsageEvent => ({
  type: 'SuspensionLifted',
  data: { plan: plan.plan, fee_difference_cents: cents },
});
const lastEnded: UsageEvent = {
  type: 'UsagePeriodEnded',
  data: { period_start: '2026-11-01T00:00:00.000Z', period_end: '2026-12-01T00:00:00.000Z', next: null },
};
const limitOf = (limit: Partial<KeyLimit>): UsageEvent => ({
  type: 'KeyLimitSet',
  data: { key_id: keyId, limit: { downloads: null, overage_cents: null, until: null, ...limit } },
});
const changeLimit = (changes: Partial<KeyLimit>) => ({ kind: 'change_key_limit', keyId, changes }) as const;
const counted = (event: UsageEvent): UsageEvent =>
  ({ ...event, data: { ...event.data, limited_key_id: keyId } }) as UsageEvent;

describe('a suspended account', () => {
  const state = given(opened(), suspended);

  it('is charged nothing, whatever is left of its allowance', () => {
    expect(decideUsage(state, queueDownload(1), { key })).toEqual({ refusal: 'account_suspended' });
    expect(decideUsage(state, lookUp('6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11'))).toEqual({
      refusal: 'account_suspended',
    });
    const repeated = { token: token(1), overage: false, fingerprint: null, confirmed: false, voided: false };
    expect(decideUsage(state, queueDownload(1), { prior: repeated })).toEqual({ refusal: 'account_suspended' });
  });

  it('is not put on another plan, and its owner may still lower the cap', () => {
    const change = { kind: 'change_plan', terms: { ...plan, fee_cents: 5900 }, effective: undefined } as const;
    expect(decideUsage(state, change)).toEqual({ refusal: 'account_suspended' });
    expect(decideUsage(state, { kind: 'set_overage_cap', overageCapCents: 0, effective: 'now' })).toHaveLength(1);
  });

  it('begins its next period on the plan that was due before, whose fee comes with the end of the suspension', () => {
    const due: UsageEvent = {
      type: 'PlanChanged',
      data: { effective: 'next_period', terms: { ...plan, plan: 'larger', fee_cents: 5900 }, fee_difference_cents: 0 },
    };
    const ended = given(opened(), due, suspended, endPeriod(given(opened(), due, suspended)));
    const next = given(openNextPeriod(ended));
    expect(next).toMatchObject({ terms: { plan: 'larger', suspended: true }, feeCents: 0 });
    expect(decideUsage(next, { kind: 'lift_suspension' })).toEqual([
      { type: 'SuspensionLifted', data: { plan: 'larger', fee_difference_cents: 5900 } },
    ]);
  });

  it('is suspended once, and lifted once', () => {
    expect(decideUsage(given(opened()), { kind: 'suspend_account' })).toEqual([suspended]);
    expect(decideUsage(state, { kind: 'suspend_account' })).toEqual([]);
    expect(decideUsage(state, { kind: 'lift_suspension' })).toEqual([lifted(0)]);
    const back = given(opened(), suspended, lifted(0));
    expect(back).toEqual(given(opened()));
    expect(decideUsage(back, { kind: 'lift_suspension' })).toEqual([]);
    expect(decideUsage(back, queueDownload(1), { key })).toMatchObject([credit(1), {}]);
  });

  it('owes no fee for a period that begins meanwhile, and the whole fee once that is lifted', () => {
    const ended = given(opened(), suspended, endPeriod(state));
    expect(comingTerms(ended)).toEqual({ ...plan, overage_cap_cents: null, suspended: true });
    expect(owesInvoice({ ...ended, phase: 'closed' })).toBe(false);
    const next = given(openNextPeriod(ended));
    expect(next).toMatchObject({ feeCents: 0, feeDifferenceCents: 0 });
    expect(nextInvoice(next, '2026-12-02T00:00:00.000Z').total_cents).toBe(0);
    const decided = decideUsage(next, { kind: 'lift_suspension' });
    expect(decided).toEqual([lifted(1900)]);
    if (isRefused(decided)) throw new Error('it was refused');
    const back = given(openNextPeriod(ended), ...decided);
    expect(back).toMatchObject({ feeCents: 1900, feeDifferenceCents: 1900 });
    // Suspended and lifted again: the fee is due once.
    expect(decideUsage(given(openNextPeriod(ended), ...decided, suspended), { kind: 'lift_suspension' })).toEqual([
      lifted(0),
    ]);
    const closed = [openNextPeriod(ended), ...decided, endPeriod(back), periodClosed(back)].map((event, revision) =>
      parsed(event, revision),
    );
    expect(periodInvoice(closed).lines).toMatchObject([
      { kind: 'fee_difference', plan: plan.plan, cents: 1900 },
      { kind: 'fee', plan: plan.plan, cents: 1900 },
    ]);
  });
});

describe('a closed account', () => {
  const open = given(opened(), credit(1), credit(2), charge(3));
  const state = given(opened(), credit(1), credit(2), charge(3), lastEnded);

  it('ends its last period at once, and once', () => {
    expect(decideUsage(open, { kind: 'close_account' })).toEqual([lastEnded]);
    expect(decideUsage(given(opened(), suspended), { kind: 'close_account' })).toEqual([lastEnded]);
    expect(decideUsage(state, { kind: 'close_account' })).toEqual([]);
  });

  it('is charged nothing more, and changed no more', () => {
    for (const command of [queueDownload(4), { kind: 'remove_overage_cap', effective: 'now' }] as const)
      expect(decideUsage(state, command)).toEqual({ refusal: 'account_closed' });
    expect(refuseRequest(state, key)).toEqual({ refusal: 'account_closed' });
  });

  it('owes its overage and no next fee, and shows its last period whenever it is looked at', () => {
    const events = [opened(), credit(1), credit(2), charge(3), lastEnded, periodClosed(state)].map((event, revision) =>
      parsed(event, revision),
    );
    expect(periodInvoice(events).lines).toMatchObject([{ kind: 'overage', cents: 25 }]);
    expect(owesInvoice({ ...state, phase: 'closed' })).toBe(true);
    expect(owesInvoice({ ...given(opened(), lastEnded), phase: 'closed' })).toBe(false);
    const later = '2027-03-01T00:00:00.000Z';
    expect(nextInvoice(state, later).lines).toEqual([{ kind: 'overage', downloads: 1, cents: 25 }]);
    expect(summariseUsage(state, later)).toMatchObject({
      downloads: { used: 2 },
      period: { end: '2026-12-01T00:00:00.000Z' },
    });
  });

  it('has no key in force, takes no new one, and keeps its people for the mails of its last documents', () => {
    const open: AccountEvent = {
      type: 'AccountOpened',
      data: {
        account_id: accountId,
        terms: plan,
        anchor_day: 1,
        period_start: '2026-11-01T00:00:00.000Z',
        period_end: '2026-12-01T00:00:00.000Z',
        personal: { email: 'owner@example.com' },
      },
    };
    const issued = decideAccount(
      evolveAccount(initialAccount, open, { time: at }),
      { kind: 'issue_key', accountId, keyId, keyHash: 'a'.repeat(64), keyPrefix: 'rtk_test', label: '', maxKeys: 2 },
      at,
    );
    if (isRefused(issued)) throw new Error('the key was refused');
    const closed: AccountEvent = { type: 'AccountClosed', data: { account_id: accountId } };
    const asked: AccountEvent = { type: 'ClosingRequested', data: { account_id: accountId } };
    const before = [open, ...issued, asked].reduce(
      (account, event) => evolveAccount(account, event, { time: at }),
      initialAccount,
    );
    expect(decideAccount(before, { kind: 'request_closing', accountId }, at)).toEqual([]);
    expect(before.closingRequestedAt).toBe(at);
    expect(decideAccount(before, { kind: 'close_account', accountId }, at)).toEqual([closed]);
    const after = evolveAccount(before, closed, { time: at });
    expect([...after.keys.values()].map(({ revoked }) => revoked)).toEqual([true]);
    expect([...after.people.values()].map(({ removed }) => removed)).toEqual([false]);
    expect(decideAccount(after, { kind: 'close_account', accountId }, at)).toEqual([]);
    const another = { kind: 'issue_key', accountId, keyId: 'key_another000000000', maxKeys: 2 } as const;
    const asked2 = { ...another, keyHash: 'b'.repeat(64), keyPrefix: 'rtk_test', label: '' };
    expect(decideAccount(after, asked2, at)).toEqual({ refusal: 'account_closed' });
    const request = { kind: 'request_closing', accountId } as const;
    expect(decideAccount(after, request, at)).toEqual({ refusal: 'account_closed' });
    const invite = {
      kind: 'invite_person',
      accountId,
      personId: 'per_books00000000000',
      email: 'b@example.com',
    } as const;
    expect(decideAccount(after, invite, at)).toMatchObject([{ type: 'PersonInvited' }]);
  });
});

describe('the limit of a key', () => {
  it('counts from its setting on, and stops at its number of downloads', () => {
    const state = given(opened(), credit(1), limitOf({ downloads: 1 }));
    expect(decideUsage(state, queueDownload(2), { key })).toMatchObject([counted(credit(2)), {}]);
    const full = given(opened(), credit(1), limitOf({ downloads: 1 }), counted(credit(2)));
    expect(decideUsage(full, queueDownload(3), { key })).toEqual({ refusal: 'key_downloads_reached' });
    // Other keys, and people, go on.
    expect(decideUsage(full, queueDownload(3), { key: { ...key, id: 'key_another000000000' } })).toMatchObject([
      charge(3),
      {},
    ]);
    expect(decideUsage(full, queueDownload(3))).toMatchObject([charge(3), {}]);
  });

  it('stops before the charge that would exceed its cents, which credits do not count for', () => {
    const state = given(opened(), limitOf({ overage_cents: 30 }), counted(credit(1)), counted(credit(2)));
    expect(decideUsage(state, queueDownload(3), { key })).toMatchObject([counted(charge(3)), {}]);
    const full = given(
      opened(),
      limitOf({ overage_cents: 30 }),
      counted(credit(1)),
      counted(credit(2)),
      counted(charge(3)),
    );
    expect(decideUsage(full, queueDownload(4), { key })).toEqual({ refusal: 'key_overage_reached' });
    expect(decideUsage(given(opened(), limitOf({ overage_cents: 0 })), queueDownload(1), { key })).toHaveLength(2);
    // To the cent, and below a limit that was lowered since a credit is still taken.
    const exact = given(opened({ downloads_limit: 0 }), limitOf({ overage_cents: 50 }), counted(charge(1)));
    expect(decideUsage(exact, queueDownload(2), { key })).toMatchObject([counted(charge(2)), {}]);
    const larger: UsageEvent = {
      type: 'PlanChanged',
      data: { effective: 'now', terms: { ...plan, downloads_limit: 9 }, fee_difference_cents: 0 },
    };
    const lowered = [limitOf({ overage_cents: 50 }), counted(charge(1)), limitOf({ overage_cents: 1 }), larger];
    const above = given(opened({ downloads_limit: 0 }), ...lowered);
    expect(decideUsage(above, queueDownload(2), { key })).toMatchObject([counted(credit(2)), {}]);
    // Of downloads alone, no cents are counted.
    const ofDownloads = given(opened({ downloads_limit: 0 }), limitOf({ downloads: 9 }));
    expect(decideUsage(ofDownloads, queueDownload(1), { key })).toMatchObject([counted(charge(1)), {}]);
  });

  it("stays below the account's own cap", () => {
    const state = given(opened({ overage_cap_cents: 0 }), limitOf({ downloads: 9 }), credit(1), credit(2));
    expect(decideUsage(state, queueDownload(3), { key })).toEqual({ refusal: 'overage_cap_reached' });
  });

  it('ends with its last day, for lookups too', () => {
    const state = given(opened(), limitOf({ until: at }));
    expect(decideUsage(state, queueDownload(1), { key })).toEqual({ refusal: 'key_expired' });
    expect(decideUsage(state, lookUp('6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11'), { key })).toEqual({
      refusal: 'key_expired',
    });
    const before = { ...key, at: '2026-11-15T11:59:59.999Z' };
    expect(decideUsage(state, queueDownload(1), { key: before })).toHaveLength(2);
  });

  it('has room again for what is given back', () => {
    const voided: UsageEvent = {
      type: 'DownloadVoided',
      data: {
        token: token(1),
        charge_event_id: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11',
        credits: 1,
        overage_downloads: 0,
        cents: 0,
        limited_key_id: keyId,
      },
    };
    expect(given(opened(), limitOf({ downloads: 1 }), counted(credit(1)), voided).keyUse).toEqual({
      [keyId]: { downloads: 0, overage_cents: 0 },
    });
  });

  it('goes on with the next period, where nothing of it is used, and with another plan', () => {
    const state = given(opened(), limitOf({ downloads: 1 }), counted(credit(1)));
    const next = given(openNextPeriod(given(opened(), limitOf({ downloads: 1 }), endPeriod(state))));
    expect(next).toMatchObject({ keyUse: {}, terms: { key_limits: { [keyId]: { downloads: 1 } } } });
    const larger = {
      kind: 'change_plan',
      terms: { ...plan, plan: 'studio_500', downloads_limit: 9 },
      effective: 'now',
    } as const;
    const decided = decideUsage(state, larger);
    if (isRefused(decided)) throw new Error('it was refused');
    expect(decided[0]).toMatchObject({ data: { terms: larger.terms } });
    expect(given(opened(), limitOf({ downloads: 1 }), ...decided).terms.key_limits).toHaveProperty(keyId);
  });

  it('is set once, replaced, and removed; what it has counted stays', () => {
    const state = given(opened(), limitOf({ downloads: 1 }), counted(credit(1)));
    expect(decideUsage(state, changeLimit({ downloads: 1 }))).toEqual([]);
    expect(decideUsage(state, changeLimit({ downloads: 2 }))).toEqual([limitOf({ downloads: 2 })]);
    const removed: UsageEvent = { type: 'KeyLimitRemoved', data: { key_id: keyId } };
    expect(decideUsage(state, changeLimit(noLimit))).toEqual([removed]);
    const without = given(opened(), limitOf({ downloads: 1 }), counted(credit(1)), removed);
    expect(without.terms).toEqual(given(opened()).terms);
    expect(decideUsage(without, changeLimit(noLimit))).toEqual([]);
    expect(decideUsage(without, changeLimit({}))).toEqual([]);
    expect(without.keyUse[keyId]?.downloads).toBe(1);
  });

  it('changes in the parts that a command names, and is removed with its last part', () => {
    const both = given(opened(), limitOf({ downloads: 1, until: at }));
    expect(decideUsage(both, changeLimit({ overage_cents: 50 }))).toEqual([
      limitOf({ downloads: 1, overage_cents: 50, until: at }),
    ]);
    expect(decideUsage(both, changeLimit({ until: null }))).toEqual([limitOf({ downloads: 1 })]);
    expect(decideUsage(given(opened(), limitOf({ until: at })), changeLimit({ until: null }))).toEqual([
      { type: 'KeyLimitRemoved', data: { key_id: keyId } },
    ]);
  });

  it('is one of a thousand at most, of which each can still be changed and removed', () => {
    const others = Array.from({ length: maxKeyLimits }, (_, index) => `key_${String(index).padStart(16, '0')}`);
    const limits = Object.fromEntries(others.map((id) => [id, { ...noLimit, downloads: 1 }]));
    const full = given(opened({ key_limits: limits }));
    expect(decideUsage(full, changeLimit({ downloads: 1 }))).toEqual({ refusal: 'too_many_key_limits' });
    const [first = ''] = others;
    expect(decideUsage(full, { ...changeLimit({ downloads: 2 }), keyId: first })).toHaveLength(1);
    expect(decideUsage(full, { ...changeLimit(noLimit), keyId: first })).toEqual([
      { type: 'KeyLimitRemoved', data: { key_id: first } },
    ]);
  });

  it('warns its owner as the allowance does, each threshold once, and anew after a larger limit', () => {
    const warned = (percent: number, used: number, limit: number): UsageEvent => ({
      type: 'UsageWarningReached',
      data: { pool: 'downloads', threshold_percent: percent, limited_key_id: keyId, used, limit },
    });
    const warns = { warning_percents: [50, 100], downloads_limit: 9 };
    const state = given(opened(warns), limitOf({ downloads: 2 }));
    const first = decideUsage(state, queueDownload(1), { key });
    expect(first).toMatchObject([counted(credit(1)), {}, warned(50, 1, 2)]);
    const half = given(opened(warns), limitOf({ downloads: 2 }), counted(credit(1)), warned(50, 1, 2));
    expect(decideUsage(half, queueDownload(2), { key })).toMatchObject([counted(credit(2)), {}, warned(100, 2, 2)]);
    expect(decideUsage(half, changeLimit({ downloads: 4 }))).toEqual([limitOf({ downloads: 4 })]);
    const again = given(
      opened(warns),
      limitOf({ downloads: 2 }),
      counted(credit(1)),
      warned(50, 1, 2),
      limitOf({ downloads: 4 }),
    );
    expect(decideUsage(again, queueDownload(2), { key })).toMatchObject([{}, {}, warned(50, 2, 4)]);
    // A smaller limit may be reached already.
    expect(decideUsage(half, changeLimit({ downloads: 1 }))).toEqual([limitOf({ downloads: 1 }), warned(100, 1, 1)]);
  });

  it('warns at all of its cents when no further charge fits', () => {
    const warns = { warning_percents: [80, 100], downloads_limit: 0 };
    const decided = decideUsage(given(opened(warns), limitOf({ overage_cents: 40 })), queueDownload(1), { key });
    expect(decided).toMatchObject([
      counted(charge(1)),
      {},
      { data: { pool: 'overage', threshold_percent: 100, limited_key_id: keyId, used: 25, limit: 40 } },
    ]);
  });
});
