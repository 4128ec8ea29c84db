import { z } from 'zod';

/** An amount in whole cents (USD). Never a fraction, never a float of dollars. */
export const cents = z.int().min(0).max(1_000_000_000_000);

/** @returns the amount as people read it, such as `$12.05`. */
export function formatCents(amountCents: number): string {
  return `$${Math.trunc(amountCents / 100)}.${String(amountCents % 100).padStart(2, '0')}`;
}
