/**
 * Rows of a month that no event changes: closed periods of accounts by number, each with as many charges of 25 cents. Every
 * third is not invoiced yet.
 */
export async function addPeriods(
  sql: (text: string, values: unknown[]) => Promise<unknown>,
  month: string,
  accounts: number,
): Promise<void> {
  await sql(
    `insert into period_money (account_id, period_start, month, stream, plan, phase, charges, charged_cents, voided_cents,
       waived_cents, fee_cents, fee_difference_cents, invoiced_overage_cents, invoiced_fee_cents,
       invoiced_fee_difference_cents, credited_overage_cents, credited_fee_cents, difference_cents)
     select id, ($1 || '-03')::timestamptz, $1, 'usage-' || id || '-' || replace($1, '-', '') || '03', 'dev_100', 'closed',
            n, n * 25, 0, 0, 1900, 0, invoiced, 1900, 0, 0, 0, n * 25 - invoiced
     from (select n, 'acc_' || lpad(n::text, 24, '0') as id, case when n % 3 = 0 then 0 else n * 25 end as invoiced
           from generate_series(1, $2::int) n) each`,
    [month, accounts],
  );
  await sql(
    `insert into month_money (month, phase, periods, charges, charged_cents, voided_cents, waived_cents, fee_cents,
       fee_difference_cents, invoiced_overage_cents, invoiced_fee_cents, invoiced_fee_difference_cents,
       credited_overage_cents, credited_fee_cents, difference_cents)
     select month, phase, count(*), sum(charges), sum(charged_cents), sum(voided_cents), sum(waived_cents), sum(fee_cents),
            sum(fee_difference_cents), sum(invoiced_overage_cents), sum(invoiced_fee_cents),
            sum(invoiced_fee_difference_cents), sum(credited_overage_cents), sum(credited_fee_cents), sum(difference_cents)
     from period_money where month = $1 group by month, phase`,
    [month],
  );
}

/** Of such an account. */
export const madeUpAccount = (number: number): string => `acc_${String(number).padStart(24, '0')}`;
