import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { NewestUsage } from '../../src/commands/usage/newest-usage.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import type { UsageSnapshot } from '../../src/domain/usage-state.ts';
import { creditsRemainingOf, noCredits, showCredits, usageHeaders } from '../../src/http/usage-headers.ts';
import { given, opened } from '../domain/usage-examples.ts';

const rowOf = (number: number): UsageSnapshot => ({
  ...usageOrigin(`usage-acc_${String(number)}-20261101`),
  revision: 0,
});

it('an account that has left the newest ones is shown by the row of its request', () => {
  const newest = new NewestUsage();
  const row = { ...rowOf(0), usage: given(opened()) };
  const shown = creditsRemainingOf('acc_0', row, { writers: { newest }, now: () => row.usage.period.start });
  const left = shown();
  expect(left).toBe(2);
  for (let other = 1; other <= 10_000; other += 1) newest.takeRow(`acc_${String(other)}`, rowOf(other));
  expect(newest.get('acc_0')).toBeUndefined();
  expect(shown()).toBe(left);
});

it('what one request shows of its own decision is not kept for others', () => {
  const kept = { window: { limit: 1, remaining: 1, resetAtSeconds: 1 }, creditsRemaining: noCredits };
  const request = { usageHeaders: kept } as unknown as FastifyRequest;
  showCredits(request, 7);
  expect(usageHeaders(request.usageHeaders ?? kept)['X-Credits-Remaining']).toBe('7');
  expect(kept.creditsRemaining()).toBe(0);
});
