import { describe, expect, it } from 'vitest';
import { maxPlanChanges, type TermsChanges } from '../../src/domain/change-plan.ts';
import type { UsageCommand } from '../../src/domain/decide-usage.ts';
import type { KeyLimit } from '../../src/domain/key-limits.ts';
import { plan, queueDownload, token } from '../domain/usage-examples.ts';
import { logUnderTest } from './log-under-test.ts';
import { ask, midNovember, openUsage, outcomesOf, readUsage, tokensOf, writersOf } from './usage-account.ts';

const log = logUnderTest();

const change = (changes: TermsChanges, effective?: 'now' | 'next_period') =>
  ({ kind: 'change_terms', changes, effective, agreedAt: midNovember }) as const;

const fields: TermsChanges[] = [
  { downloads_limit: 7 },
  { metadata_limit: 8 },
  { overage_cents: 9 },
  { fee_cents: 5_000 },
  { hourly_limit: 11 },
];

describe('terms of an account', () => {
  it.each(['now', 'next_period'] as const)('that five processes change at once all survive: %s', async (effective) => {
    const account = await openUsage(log.store);
    const answers = await Promise.all(
      fields.map((changes) => ask(writersOf(log.store), account, change(changes, effective))),
    );
    expect(outcomesOf(answers)).toEqual(fields.map(() => 'accepted'));
    const changed = (await readUsage(log.store, account.stream)).flatMap(({ event }) =>
      event.type === 'PlanChanged' ? [event.data] : [],
    );
    expect(changed).toHaveLength(fields.length);
    const last = Object.assign({}, ...fields) as Required<TermsChanges>;
    expect(changed.at(-1)).toMatchObject({
      effective,
      terms: { ...plan, ...last, rate_version: 'own-2026-11-14-9' },
    });
  });

  it('wait for the next period where the fee becomes lower, by the fee that is in force then', async () => {
    const account = await openUsage(log.store);
    const writers = writersOf(log.store);
    await ask(writers, account, change({ fee_cents: 5_000 }));
    // Higher than the first fee, lower than that of now.
    const answer = await ask(writers, account, change({ fee_cents: 4_000 }));
    expect(answer).toMatchObject({ events: [{ data: { effective: 'next_period', terms: { fee_cents: 4_000 } } }] });
    const other = await ask(writers, account, change({ fee_cents: 6_000 }));
    expect(other).toMatchObject({ events: [{ data: { effective: 'now', fee_difference_cents: 1_000 } }] });
  });

  it('change so often in a period, and not more often, so that its invoice is bounded', async () => {
    const account = await openUsage(log.store);
    const writers = writersOf(log.store);
    for (let number = 1; number <= maxPlanChanges; number += 1)
      expect((await ask(writers, account, change({ overage_cents: 100 + number }))).outcome).toBe('accepted');
    const refused = { outcome: 'refused', refusal: 'too_many_plan_changes' };
    expect(await ask(writers, account, change({ overage_cents: 1 }))).toMatchObject(refused);
    // A command that changes nothing is no change.
    expect(await ask(writers, account, change({ overage_cents: 100 + maxPlanChanges }))).toMatchObject({
      events: [],
    });
    const december = writersOf(log.store, () => '2026-12-01T00:00:00.000Z');
    expect(await ask(december, account, change({ overage_cents: 1 }))).toMatchObject({ outcome: 'accepted' });
  });
});

describe('the limit of a key', () => {
  const keyId = 'key_0123456789abcdef';
  const parts: Partial<KeyLimit>[] = [{ downloads: 5 }, { overage_cents: 50 }, { until: '2027-02-01T00:00:00.000Z' }];

  it('whose parts three processes change at once has all of them', async () => {
    const account = await openUsage(log.store);
    const answers = await Promise.all(
      parts.map((changes) => ask(writersOf(log.store), account, { kind: 'change_key_limit', keyId, changes })),
    );
    expect(outcomesOf(answers)).toEqual(parts.map(() => 'accepted'));
    const stored = await readUsage(log.store, account.stream);
    expect(stored.at(-1)?.event).toEqual({
      type: 'KeyLimitSet',
      data: { key_id: keyId, limit: Object.assign({}, ...parts) as KeyLimit },
    });
  });
});

it('a command with a value that no event can have fails alone: the others of its batch are carried out', async () => {
  const account = await openUsage(log.store);
  const writers = writersOf(log.store);
  const unreadable: UsageCommand = {
    kind: 'change_key_limit',
    keyId: 'key_0123456789abcdef',
    changes: { until: '+010000-01-01T00:00:00.000Z' },
  };
  const answers = await Promise.allSettled(
    [queueDownload(1), unreadable, queueDownload(2)].map((command) => ask(writers, account, command)),
  );
  expect(answers).toMatchObject([
    { value: { outcome: 'accepted' } },
    { status: 'rejected', reason: { name: 'ZodError' } },
    { value: { outcome: 'accepted' } },
  ]);
  expect(tokensOf((await readUsage(log.store, account.stream)).slice(1))).toEqual([token(1), token(2)]);
  expect((await ask(writers, account, queueDownload(3))).outcome).toBe('accepted');
});
