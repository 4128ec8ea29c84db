import type { PoolClient } from 'pg';
import type { UsageSnapshot } from '../src/domain/usage.ts';
import { creditsColumns, snapshotFromRow } from './credits.ts';
import type { CreditsRow } from './credits.ts';

/** An invoice of a billing period, as far as the read model has it. */
export interface PeriodInvoice {
  number: number;
  covers: string;
  total_cents: number;
}

export interface AccountPeriod {
  snapshot: UsageSnapshot;
  invoices: PeriodInvoice[];
}

/** Every billing period of an account that the read model has, oldest first: rows of `credits` with those of `invoices`. */
export async function listAccountPeriods(
  client: Pick<PoolClient, 'query'>,
  accountId: string,
): Promise<AccountPeriod[]> {
  const { rows } = await client.query<CreditsRow & { invoices: PeriodInvoice[] }>(
    `select ${creditsColumns('c')},
            (select coalesce(json_agg(json_build_object('number', i.number, 'covers', i.covers, 'total_cents', i.total_cents)
                                      order by i.number), '[]')
             from invoices i
             where i.account_id = c.account_id and i.period_start = c.period_start and i.type = 'InvoiceIssued') as invoices
     from credits c where c.account_id = $1 order by c.period_start`,
    [accountId],
  );
  return rows.map((row) => ({ snapshot: snapshotFromRow(row), invoices: row.invoices }));
}
