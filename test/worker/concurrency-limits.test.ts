import { describe, expect, it } from 'vitest';

import { createQuotas, quotaDelayMs } from '../../src/worker/concurrency-limits.ts';
import type { QuotaDependencies } from '../../src/worker/concurrency-limits.ts';
import { silent } from '../projections/read-models-under-test.ts';

const quotasOf = (changed: Partial<QuotaDependencies> = {}) =>
  createQuotas({
    ...{ maxJobsPerAccount: 2, maxJobsPerPlatform: 3, logger: silent },
    countElsewhere: () => Promise.resolve(0),
    ...changed,
  });

const job = (accountId: string, platform = 'sample') => ({ accountId, platform });

describe('the quota of an account', () => {
  it('is exact among slots that ask at the same time', async () => {
    const quotas = quotasOf();
    const places = await Promise.all(Array.from({ length: 5 }, () => quotas.take(job('a'))));
    expect(places.map(({ ok }) => ok)).toEqual([true, true, false, false, false]);
    expect(places[2]).toEqual({ ok: false, quota: 'account' });
    expect(await quotas.take(job('b'))).toMatchObject({ ok: true });
  });

  it('counts what other workers hold, and is known to be full until a place is given back', async () => {
    let asked = 0;
    const countElsewhere = () => Promise.resolve(((asked += 1), 1));
    const quotas = quotasOf({ countElsewhere });
    const first = await quotas.take(job('a'));
    expect([quotas.isFull('a'), first.ok]).toEqual([false, true]);
    expect(await quotas.take(job('a'))).toEqual({ ok: false, quota: 'account' });
    expect([quotas.isFull('a'), quotas.isFull('b'), asked]).toEqual([true, false, 2]);
    if (first.ok) first.giveBack();
    expect(quotas.isFull('a')).toBe(false);
    expect(await quotas.take(job('a'))).toMatchObject({ ok: true });
  });

  it('holds within the worker while nobody can count', async () => {
    const quotas = quotasOf({ countElsewhere: () => Promise.reject(new Error('Postgres is away')) });
    const places = [await quotas.take(job('a')), await quotas.take(job('a')), await quotas.take(job('a'))];
    expect(places.map(({ ok }) => ok)).toEqual([true, true, false]);
  });
});

it('the quota of a platform holds within the worker, over all accounts', async () => {
  const quotas = quotasOf();
  const places = await Promise.all(['a', 'b', 'c', 'd'].map((account) => quotas.take(job(account))));
  expect(places[3]).toEqual({ ok: false, quota: 'platform' });
  expect([quotas.isFull('d'), (await quotas.take(job('d', 'another'))).ok]).toEqual([false, true]);
  const [first] = places;
  if (first?.ok) first.giveBack();
  expect(await quotas.take(job('d'))).toMatchObject({ ok: true });
});

it('what is put off again and again is looked at less often', () => {
  expect([1, 2, 3, 4, 5, 1_000_000].map(quotaDelayMs)).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
});
