import { readCustomers } from '../../../projections/customers.ts';
import type { StaffDependencies } from './dependencies.ts';

/** Something of an account, beside whose id its name is shown. */
export interface NamedRow {
  readonly account_id: string | null;
  /** Undefined or null: only the id is shown. */
  customer?: string | null;
}

/** Puts the names of their accounts into rows, with one statement. */
export async function nameRows(
  { pool, macs }: Pick<StaffDependencies, 'pool' | 'macs'>,
  rows: readonly NamedRow[],
): Promise<void> {
  const accountIds = [...new Set(rows.flatMap(({ account_id: accountId }) => accountId ?? []))];
  const names = await readCustomers(pool, { accountIds, macs });
  for (const row of rows) row.customer = names.get(row.account_id ?? '') ?? null;
}
