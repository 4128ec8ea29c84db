import { describe, expect, it } from 'vitest';
import { type ChargeCommand, decideCharge, evolveCharges, newCharges } from '../../src/domain/change-charge.ts';
import { decideUsage } from '../../src/domain/decide-usage.ts';
import {
  endOfDay,
  isExpired,
  keyLimit,
  keyLimits,
  lastDayOf,
  limitParts,
  noLimit,
  withKeyLimit,
} from '../../src/domain/key-limits.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import {
  charge,
  credit,
  given,
  idOf,
  lookedUp,
  lookupId,
  opened,
  planChanged,
  token,
  waiveCommand,
} from './usage-examples.ts';

/** Limits of keys, apart from the life of the account that has them (`account-life.unit.test.ts`). */
const [one, other] = ['key_aaaaaaaaaaaaaaaa', 'key_bbbbbbbbbbbbbbbb'];
const until = '2026-12-01T00:00:00.000Z';
const counted = (event: UsageEvent, keyId = one): UsageEvent =>
  ({ ...event, data: { ...event.data, limited_key_id: keyId } }) as UsageEvent;
const ofAllowance: UsageEvent = {
  type: 'UsageWarningReached',
  data: { pool: 'downloads', threshold_percent: 50, used: 1, limit: 2 },
};

describe('the last day of a key', () => {
  it('ends with the day', () => {
    expect(endOfDay('2026-11-30')).toBe(until);
    expect(lastDayOf(until)).toBe('2026-11-30');
    expect(lastDayOf('2026-12-01T00:00:00.001Z')).toBe('2026-12-01');
    expect(endOfDay('9999-12-30')).toBe('9999-12-31T00:00:00.000Z');
    expect(endOfDay('9999-12-31')).toBeUndefined();
  });

  it('is over from its end on, for that key alone', () => {
    const terms = { key_limits: { [one]: { ...noLimit, until }, [other]: noLimit } };
    expect(isExpired(terms, { id: one, at: '2026-11-30T23:59:59.999Z' })).toBe(false);
    expect(isExpired(terms, { id: one, at: until })).toBe(true);
    expect(isExpired(terms, { id: one, at: '2026-12-01T00:00:00.001Z' })).toBe(true);
    expect(isExpired(terms, { id: other, at: until })).toBe(false);
    expect(isExpired(terms, { id: 'key_cccccccccccccccc', at: until })).toBe(false);
    expect(isExpired({}, { id: one, at: until })).toBe(false);
  });
});

describe('a limit', () => {
  it('is told by its parts', () => {
    expect(limitParts({ downloads: 100, overage_cents: 500, until })).toEqual([
      '100 downloads',
      '$5.00 of overage',
      'valid through 2026-11-30',
    ]);
    expect(limitParts({ downloads: 0, overage_cents: 0, until: null })).toEqual(['0 downloads', '$0.00 of overage']);
    expect(limitParts(noLimit)).toEqual([]);
  });

  it('is of whole downloads and cents, none of them less than nothing', () => {
    const isLimit = (limit: object) => keyLimit.safeParse({ ...noLimit, ...limit }).success;
    expect(isLimit({ downloads: 0, overage_cents: 0, until })).toBe(true);
    expect(isLimit({ downloads: 1_000_000_000 })).toBe(true);
    for (const wrong of [{ downloads: 1_000_000_001 }, { downloads: -1 }, { downloads: 1.5 }, { overage_cents: -1 }])
      expect(isLimit(wrong)).toBe(false);
    expect(isLimit({ until: '2026-12-01' })).toBe(false);
    expect(isLimit({ others: 1 })).toBe(false);
  });

  it.each([
    ['key_0123456789abcdef', true],
    [`key_${'a'.repeat(32)}`, true],
    [`key_${'a'.repeat(33)}`, false],
    ['key_0123456789abcde', false],
    ['key_0123456789ABCDEF', false],
    ['a key_0123456789abcdef', false],
    ['key_0123456789abcdef ', false],
  ])('is of a key: %j', (id, is) => {
    expect(keyLimits.safeParse({ [id]: noLimit }).success).toBe(is);
  });

  it('is set beside others, replaced and taken away', () => {
    const [first, second] = [
      { ...noLimit, downloads: 1 },
      { ...noLimit, downloads: 2 },
    ];
    expect(withKeyLimit(undefined, one, first)).toEqual({ [one]: first });
    expect(withKeyLimit({ [one]: first }, other, second)).toEqual({ [one]: first, [other]: second });
    expect(withKeyLimit({ [one]: first }, one, second)).toEqual({ [one]: second });
    expect(withKeyLimit({ [one]: first, [other]: second }, one, null)).toEqual({ [other]: second });
    expect(withKeyLimit({ [one]: first }, one, null)).toBeUndefined();
    expect(withKeyLimit(undefined, one, null)).toBeUndefined();
  });
});

describe('a charge', () => {
  const chargesOf = (...events: UsageEvent[]) =>
    events.reduce(
      (state, event, revision) => evolveCharges(state, event, { id: idOf(revision), revision }),
      newCharges(),
    );
  const history = [opened(), counted(credit(1)), counted(charge(2)), credit(3), charge(4), lookedUp(1, lookupId)];
  const voided = (number: number): ChargeCommand => ({ kind: 'void_download', token: token(number) });
  const returned = (number: number): ChargeCommand => ({
    kind: 'return_service_failure',
    token: token(number),
    reference: 'r',
  });

  it('is neither confirmed nor voided when it is made, and has its key', () => {
    const made = {
      eventId: idOf(2),
      revision: 2,
      type: 'OverageCharged',
      credits: 0,
      cents: 25,
      ofKey: { limited_key_id: one },
    };
    const rate = { rate_cents: 25, rate_version: '2026-11' };
    expect(chargesOf(...history).charges.get(token(2))).toEqual({ ...made, rate, confirmed: false, voided: false });
  });

  it.each<[string, ChargeCommand, boolean]>([
    ['a void of a credit', voided(1), true],
    ['a void of a charge', voided(2), true],
    ['a waiver', waiveCommand(token(2), 'r', 5), true],
    ['a credit that is returned', returned(1), true],
    ['a charge that is returned', returned(2), true],
    ['a void of a credit without a limit', voided(3), false],
    ['a waiver without a limit', waiveCommand(token(4), 'r', 5), false],
    ['a charge without a limit that is returned', returned(4), false],
    ['a void of a look-up', { kind: 'void_lookup', lookupId }, false],
  ])('that is given back names the key whose limit counts it, if there is one: %s', (_, command, is) => {
    const [event] = decideCharge(chargesOf(...history), command) as [UsageEvent];
    expect('limited_key_id' in event.data ? event.data.limited_key_id : undefined).toBe(is ? one : undefined);
    expect('limited_key_id' in event.data).toBe(is);
  });
});

describe('the use of a limit', () => {
  const set = (limit: object, keyId = one): UsageEvent => ({
    type: 'KeyLimitSet',
    data: { key_id: keyId, limit: { ...noLimit, ...limit } },
  });
  const back = { token: token(2), charge_event_id: idOf(2), limited_key_id: one };
  const used = [opened(), set({ downloads: 9 }), counted(charge(1)), counted(charge(2)), counted(credit(3), other)];

  it('is counted of each key', () => {
    expect(given(...used).keyUse).toEqual({
      [one]: { downloads: 2, overage_cents: 50 },
      [other]: { downloads: 1, overage_cents: 0 },
    });
  });

  it.each<[string, UsageEvent, object]>([
    [
      'a void',
      { type: 'DownloadVoided', data: { ...back, credits: 0, overage_downloads: 1, cents: 25 } },
      { downloads: 1, overage_cents: 25 },
    ],
    [
      'a waiver of a part',
      { type: 'ChargeWaived', data: { ...back, reference: 'r', overage_downloads: 0, cents: 5 } },
      { downloads: 2, overage_cents: 45 },
    ],
    [
      'a waiver of the rest',
      { type: 'ChargeWaived', data: { ...back, reference: 'r', overage_downloads: 1, cents: 25 } },
      { downloads: 1, overage_cents: 25 },
    ],
    ['a credit that is returned', { type: 'DownloadCreditReturned', data: back }, { downloads: 1, overage_cents: 50 }],
  ])('is less by what is given back: %s', (_, event, use) => {
    expect(given(...used, event).keyUse[one]).toEqual(use);
  });

  describe('warns', () => {
    const warns = { warning_percents: [50, 100], downloads_limit: 100 };
    const warningOf = (of: Partial<Extract<UsageEvent, { type: 'UsageWarningReached' }>['data']>): UsageEvent => ({
      type: 'UsageWarningReached',
      data: { pool: 'downloads', threshold_percent: 50, limited_key_id: one, used: 1, limit: 2, ...of },
    });
    const change = (changes: object, keyId = one) => ({ kind: 'change_key_limit', keyId, changes }) as const;

    it('at the last cent that one more charge would exceed, and at nothing where the limit is nothing', () => {
      const state = given(opened(warns));
      expect(decideUsage(state, change({ overage_cents: 25 }))).toHaveLength(1);
      expect(decideUsage(state, change({ overage_cents: 24 }))).toEqual([
        set({ overage_cents: 24 }),
        warningOf({ pool: 'overage', threshold_percent: 100, used: 0, limit: 24 }),
      ]);
      expect(decideUsage(state, change({ overage_cents: 0, downloads: 0 }))).toHaveLength(1);
    });

    it('at the last cent itself where the plan has no overage', () => {
      expect(decideUsage(given(opened({ ...warns, overage_cents: null })), change({ overage_cents: 1 }))).toHaveLength(
        1,
      );
    });

    it('of no more than the limit, and of downloads only at their share', () => {
      const state = given(opened(warns), set({ downloads: 9 }), counted(credit(1)), counted(credit(2)));
      expect(decideUsage(state, change({ downloads: 5 }))).toEqual([set({ downloads: 5 })]);
      expect(decideUsage(state, change({ downloads: 4 }))).toEqual([
        set({ downloads: 4 }),
        warningOf({ used: 2, limit: 4 }),
      ]);
      expect(decideUsage(state, change({ downloads: 1 }))).toEqual([
        set({ downloads: 1 }),
        warningOf({ used: 1, limit: 1 }),
        warningOf({ threshold_percent: 100, used: 1, limit: 1 }),
      ]);
    });

    it.each([[[one, other]], [[other, one]]])('in the order of the keys, whichever was set first: %j', (inOrder) => {
      const keys = inOrder.map((keyId) => set({ downloads: 1 }, keyId));
      const taken = [counted(credit(1)), counted(credit(2), other)];
      const state = given(opened(warns), ...keys, ...taken);
      const decided = decideUsage(state, change({ downloads: 2 }, 'key_cccccccccccccccc')) as UsageEvent[];
      expect(decided.slice(1).map(({ data }) => (data as { limited_key_id: string }).limited_key_id)).toEqual([
        one,
        one,
        other,
        other,
      ]);
    });

    it('anew after a larger limit, of that key alone', () => {
      const before = [warningOf({}), warningOf({ limited_key_id: other }), ofAllowance];
      const state = given(opened(warns), set({ downloads: 2 }), set({ downloads: 2 }, other), ...before);
      expect(state.warned).toEqual([`${one}:downloads:50`, `${other}:downloads:50`, 'downloads:50']);
      const after = given(
        opened(warns),
        set({ downloads: 2 }),
        set({ downloads: 2 }, other),
        ...before,
        set({ downloads: 4 }),
      );
      expect(after.warned).toEqual([`${other}:downloads:50`, 'downloads:50']);
      const stays = given(
        opened(warns),
        set({ downloads: 2 }),
        counted(credit(1)),
        warningOf({}),
        set({ downloads: 1 }),
      );
      expect(stays.warned).toEqual([`${one}:downloads:50`]);
    });

    it('not anew after a larger allowance', () => {
      const limited = [opened(warns), set({ downloads: 2 }), warningOf({}), ofAllowance];
      const larger = planChanged({ ...warns, downloads_limit: 200, metadata_limit: 9 });
      expect(given(...limited, larger).warned).toEqual([`${one}:downloads:50`]);
    });
  });
});
