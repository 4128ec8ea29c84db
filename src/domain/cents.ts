import { z } from 'zod';

/** An amount in whole cents (USD). Never a fraction, never a float of dollars. */
export const cents = z.int().min(0).max(1_000_000_000_000);

/** @returns the amount for people, such as `$12.05`, or `-$0.25` for an amount that is given back */
export function formatCents(amountCents: number): string {
  const size = Math.abs(amountCents);
  return `${amountCents < 0 ? '-' : ''}$${Math.trunc(size / 100)}.${String(size % 100).padStart(2, '0')}`;
}
