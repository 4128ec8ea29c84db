import { describe, expect, it } from 'vitest';
import { cents, formatCents } from '../../src/domain/cents.ts';

describe('an amount', () => {
  it.each([
    [0, '$0.00'],
    [5, '$0.05'],
    [99, '$0.99'],
    [100, '$1.00'],
    [1205, '$12.05'],
    [1_000_000_000_000, '$10000000000.00'],
    [-25, '-$0.25'],
    [-1205, '-$12.05'],
  ])('of %i cents reads %s', (amountCents, text) => {
    expect(formatCents(amountCents)).toBe(text);
  });

  it.each([-1, 0.5, 1_000_000_000_001, Number.NaN, Infinity, '5', null])('is never %s', (amount) => {
    expect(cents.safeParse(amount).success).toBe(false);
  });
});
