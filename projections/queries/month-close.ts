import type { UsagePeriod } from '../../src/domain/usage-state.ts';
import { moneyColumns, type MoneyCounts, moneyCounts, periodMoney } from '../period-money.ts';
import type { Queryable } from '../runner/rows.ts';
import { readAuditState } from './audit-state.ts';
import { listMonthMoney, type MonthMoney, type PeriodMoney } from './overage-table.ts';

/**
 * The close of a month: what the periods that begin in it cost, what invoices carry of that and credit notes have given back, and
 * what no invoice carries yet and why. A test compares it with the audit's own rules, to the cent.
 */

/** Why an amount is on no invoice yet. `fee_due` stands for all fees in a sum of accounts, whose periods before differ. */
export const openReasons = {
  period_open: 'the period is open',
  period_ended: 'the period has ended and waits for the closing of its books',
  invoice_due: 'the period is closed and its invoice is not issued yet',
  before_open: 'the fee comes with the invoice of the period before, which is open',
  before_ended: 'the fee comes with the invoice of the period before, which waits for the closing of its books',
  before_due: 'the fee comes with the invoice of the period before, which is not issued yet',
  opening_due: 'the fee comes with the first invoice, which is not issued yet',
  fee_due: 'fees come with the invoice of the period before, or with the first one, which is not issued yet',
} as const;
export type OpenReason = keyof typeof openReasons;

/** A part of what is not invoiced. */
interface NotInvoiced {
  cents: number;
  why: OpenReason;
}

export type AccountClose = ReturnType<typeof closeOf>;

export type MonthClose = Awaited<ReturnType<typeof readMonthClose>>;

const none = Object.fromEntries(moneyCounts.map((name) => [name, 0])) as unknown as MoneyCounts;

/** Sums of a month and what is verified, in two statements whatever the number of accounts. @param month YYYY-MM */
export async function readMonthClose(client: Queryable, month: string) {
  const rows = await listMonthMoney(client, { month });
  const phases = { open: 0, ended: 0, closed: 0 };
  for (const { phase, periods } of rows) phases[phase] += periods;
  const periods = rows.reduce((sum, row) => sum + row.periods, 0);
  const { state: verification, reached } = await readAuditState(client, periodMoney.name);
  return {
    month,
    totals: { periods, ...withSums(addUp(rows)) },
    /** The parts of `not_invoiced_cents` of all accounts. */
    not_invoiced: notInvoicedOf(rows),
    phases,
    /** The report of the continuous verification; undefined before the first. */
    verification,
    /** Position in the log of the newest event that the amounts have for certain. */
    reached,
  };
}

/** By the phase of the periods: that is why their overage and their differences of fees are not invoiced. */
function notInvoicedOf(rows: readonly MonthMoney[]): NotInvoiced[] {
  const fees = rows.reduce((sum, row) => sum + feeLeft(row), 0);
  const parts = rows.map((row) => ({
    cents: withSums(row).not_invoiced_cents - feeLeft(row),
    why: reasonOfUsage(row.phase),
  }));
  return [...parts, { cents: fees, why: 'fee_due' as const }].filter(({ cents }) => cents !== 0);
}

const feeLeft = ({ fee_cents: due, invoiced_fee_cents: invoiced }: MoneyCounts) => due - invoiced;

/** The sums of rows, name by name. */
export function addUp(rows: readonly MoneyCounts[]): MoneyCounts {
  const sums = { ...none };
  for (const row of rows) for (const name of moneyCounts) sums[name] += row[name];
  return sums;
}

export function withSums(counts: MoneyCounts) {
  const { charged_cents, voided_cents, waived_cents, fee_cents, fee_difference_cents } = counts;
  const { invoiced_overage_cents, invoiced_fee_cents, invoiced_fee_difference_cents } = counts;
  const due_cents = fee_cents + fee_difference_cents + charged_cents - voided_cents - waived_cents;
  const invoiced_cents = invoiced_overage_cents + invoiced_fee_cents + invoiced_fee_difference_cents;
  const credited_cents = counts.credited_overage_cents + counts.credited_fee_cents;
  return {
    ...counts,
    /** Fees, their differences and overage, less voids and waivers. */
    due_cents,
    invoiced_cents,
    credited_cents,
    /** The due amount that is on no invoice. */
    not_invoiced_cents: due_cents - invoiced_cents,
    /** Invoiced less credited. */
    result_cents: invoiced_cents - credited_cents,
  };
}

interface CloseRow extends Omit<PeriodMoney, 'month'> {
  /** Of the period before; null for the first of an account. */
  phase_before: UsagePeriod['phase'] | null;
}

const pageAccounts = 1_000;

/**
 * Each account with a period that begins in the month, in the order of their ids, page by page in constant memory.
 *
 * @param wanted after: only later accounts; account: only this one; notInvoiced: only those of which something is on no invoice
 */
export async function* listAccountCloses(
  pool: Queryable,
  month: string,
  { after = '', limit = Infinity, ...filter }: AccountsWanted = {},
): AsyncGenerator<AccountClose[]> {
  let [last, left] = [after, limit];
  while (left > 0) {
    const wanted = Math.min(pageAccounts, left);
    const page = await readAccountCloses(pool, { ...filter, month, after: last, limit: wanted });
    if (page.length > 0) yield page;
    if (page.length < wanted) return;
    last = page.at(-1)?.account_id ?? last;
    left -= page.length;
  }
}

interface AccountsWanted {
  after?: string | undefined;
  account?: string | undefined;
  notInvoiced?: boolean | undefined;
  limit?: number;
}

/** An index has those that it holds for. */
const notInvoicedSql = `p.fee_cents + p.fee_difference_cents + p.charged_cents - p.voided_cents - p.waived_cents
       <> p.invoiced_overage_cents + p.invoiced_fee_cents + p.invoiced_fee_difference_cents`;

async function readAccountCloses(
  client: Queryable,
  { month, after = '', account, notInvoiced = false, limit }: AccountsWanted & { month: string },
): Promise<AccountClose[]> {
  const { rows } = await client.query<CloseRow>(
    `select p.account_id, p.period_start, p.stream, p.plan, p.phase, ${moneyColumns('p')},
            (select b.phase from period_money b where b.account_id = p.account_id and b.period_start < p.period_start
             order by b.period_start desc limit 1) as phase_before
     from period_money p where p.month = $1 and p.account_id > $2 ${account === undefined ? '' : 'and p.account_id = $4'}
       ${notInvoiced ? `and ${notInvoicedSql}` : ''}
     order by p.account_id limit $3`,
    [month, after, limit, ...(account === undefined ? [] : [account])],
  );
  return rows.map(closeOf);
}

function closeOf({ phase_before: before, account_id, period_start, stream, plan, phase, ...counts }: CloseRow) {
  const sums = withSums(counts);
  const fee = feeLeft(counts);
  const parts = [
    { cents: fee, why: reasonOfFee(before) },
    { cents: sums.not_invoiced_cents - fee, why: reasonOfUsage(phase) },
  ];
  /** The parts of `not_invoiced_cents`; empty if there is nothing to invoice. */
  const not_invoiced = parts.filter(({ cents }) => cents !== 0);
  return { account_id, period_start, stream, plan, phase, ...sums, not_invoiced };
}

function reasonOfUsage(phase: UsagePeriod['phase']): OpenReason {
  if (phase === 'closed') return 'invoice_due';
  return phase === 'open' ? 'period_open' : 'period_ended';
}

function reasonOfFee(before: UsagePeriod['phase'] | null): OpenReason {
  if (before === null) return 'opening_due';
  if (before === 'closed') return 'before_due';
  return before === 'open' ? 'before_open' : 'before_ended';
}
