import type { UsagePeriod, UsageSnapshot } from '../../src/domain/usage-state.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { creditsColumns, type CreditsRow, signedUsageOf } from '../credits.ts';
import { CreditsMacs, type NotBelieved, notBelieved } from '../credits-macs.ts';
import type { Queryable } from '../runner/rows.ts';

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

/** @returns undefined for a row that this installation has not written, or that has no period */
export function usageOfRow(row: AccountPeriod | undefined): UsagePeriod | undefined {
  const snapshot = row?.snapshot;
  if (snapshot === undefined || snapshot === notBelieved || snapshot.usage.phase === 'absent') return undefined;
  return snapshot.usage;
}

/** The billing periods of an account, oldest first: rows of `credits` with those of `invoices`. */
export const listAccountPeriods = (client: Queryable, accountId: string, macs: RowMacs): Promise<AccountPeriod[]> =>
  readPeriods(client, macs, { accountId, sql: 'order by c.period_start', values: [] });

/** The newest first, a page at a time. @param before start of a period, UTC ISO-8601: only periods before it */
export const pageAccountPeriods = (
  client: Queryable,
  { accountId, macs, before, limit }: { accountId: string; macs: RowMacs; before?: string; limit: number },
): Promise<AccountPeriod[]> =>
  readPeriods(client, macs, {
    accountId,
    sql: "and c.period_start < coalesce($2::timestamptz, 'infinity') order by c.period_start desc limit $3",
    values: [before ?? null, limit],
  });

async function readPeriods(
  client: Queryable,
  macs: RowMacs,
  { accountId, sql, values }: { accountId: string; sql: string; values: unknown[] },
): Promise<AccountPeriod[]> {
  const { rows } = await client.query<CreditsRow & { invoices: PeriodInvoice[] }>(
    `select ${creditsColumns('c')},
            (select coalesce(json_agg(json_build_object('number', i.number, 'covers', i.covers, 'total_cents', i.total_cents)
                                      order by i.number), '[]')
             from invoices i
             where i.account_id = c.account_id and i.period_start = c.period_start and i.type = 'InvoiceIssued') as invoices
     from credits c where c.account_id = $1 ${sql}`,
    [accountId, ...values],
  );
  const credits = new CreditsMacs(macs);
  return rows.map((row) => ({
    start: row.period_start,
    snapshot: credits.believed(signedUsageOf(row), accountId),
    invoices: row.invoices,
  }));
}
