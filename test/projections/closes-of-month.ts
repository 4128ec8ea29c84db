import type { Pool } from 'pg';
import { type AccountClose, listAccountCloses } from '../../projections/queries/month-close.ts';

/** Of all accounts. */
export async function closesOfMonth(pool: Pool, month: string): Promise<AccountClose[]> {
  const closes: AccountClose[] = [];
  for await (const page of listAccountCloses(pool, month)) closes.push(...page);
  return closes;
}
