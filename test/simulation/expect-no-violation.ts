import { expect } from 'vitest';
import type { Totals } from './run.ts';

/** Fails with the seeds of the histories that broke a promise, and the command that repeats the first of them. */
export function expectNoViolation({ failed }: Pick<Totals, 'failed'>): void {
  const broken = failed.map(({ seed, violations }) => ({ seed, violations }));
  expect(broken, `npm run simulate -- --seed ${String(broken[0]?.seed)}`).toEqual([]);
}
