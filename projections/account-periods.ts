import type { PoolClient } from 'pg';
import type { RowMacs } from '../src/ports/row-macs.ts';
import type { UsageSnapshot } from '../src/domain/usage-state.ts';
import { CreditsMacs } from './credits-macs.ts';
import type { NotBelieved } from './credits-macs.ts';
import { creditsColumns, signedUsageOf } from './credits.ts';
import type { CreditsRow } from './credits.ts';

/** An invoice of a billing period in the read model. */
export interface PeriodInvoice {
  number: number;
  covers: string;
  total_cents: number;
}

export interface AccountPeriod {
  /** UTC ISO-8601. */
  start: string;
  snapshot: UsageSnapshot | NotBelieved;
  invoices: PeriodInvoice[];
}

/** The billing periods of an account, oldest first: rows of `credits` with those of `invoices`. */
export async function listAccountPeriods(
  client: Pick<PoolClient, 'query'>,
  accountId: string,
  macs: RowMacs,
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
  const credits = new CreditsMacs(macs);
  return rows.map((row) => ({
    start: row.period_start.toISOString(),
    snapshot: credits.believed(signedUsageOf(row), accountId),
    invoices: row.invoices,
  }));
}
