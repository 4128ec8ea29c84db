import { z } from 'zod';
import { periodMoney } from '../../../../projections/period-money.ts';
import { readAuditState } from '../../../../projections/queries/audit-state.ts';
import {
  type AccountClose,
  addUp,
  listAccountCloses,
  type OpenReason,
  openReasons,
  readMonthClose,
  withSums,
} from '../../../../projections/queries/month-close.ts';
import { listMonthMoney, type MonthMoney } from '../../../../projections/queries/overage-table.ts';
import { inSnapshot, pagesInSnapshot } from '../../../../projections/runner/transaction.ts';
import { accountId } from '../../../domain/account-events.ts';
import { instant } from '../../../domain/instant.ts';
import { exportOf } from '../../export.ts';
import { missing } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { isBehind, type Verification, verification, verificationOf } from '../verification.ts';
import { eachShown, firstRows, type JsonView, listOf, pick, type View } from '../view.ts';
import { accountFilter, allMonths, customer, month, phases, sums as overage } from './overage.ts';

/** The close of a month, in sum and account by account. */

const accountsPerPage = 200;

const cents = (what: string) => z.int().describe(`${what}, in cents.`);
const sums = {
  fee_cents: cents('Fees at the opening of the billing periods that begin in the month'),
  fee_difference_cents: cents('Added by changes to a higher plan'),
  charges: overage.charges,
  charged_cents: overage.charged_cents,
  voided_cents: overage.voided_cents,
  waived_cents: overage.waived_cents,
  due_cents: cents('Fees, their differences and overage, less what was voided and waived'),
  invoiced_fee_cents: cents('Fees on invoices'),
  invoiced_fee_difference_cents: cents('Differences of fees on invoices'),
  invoiced_overage_cents: cents('Overage on invoices, less what was waived'),
  invoiced_cents: cents('All that invoices carry'),
  not_invoiced_cents: cents('What is due and on no invoice yet'),
  credited_overage_cents: cents('Overage that credit notes gave back'),
  credited_fee_cents: cents('Fees that credit notes gave back'),
  credited_cents: cents('All that credit notes gave back'),
  result_cents: cents('Invoiced less credited'),
};

const reasons = Object.keys(openReasons) as [OpenReason, ...OpenReason[]];
const notInvoiced = listOf('The parts of what is not invoiced, and why.', { cents: z.int(), why: z.enum(reasons) });
const row = z.strictObject({
  account_id: z.string(),
  customer,
  period_start: instant.describe('First instant of the billing period, in UTC.'),
  plan: z.string(),
  phase: z.enum(phases),
  ...sums,
  not_invoiced: notInvoiced,
  stream: z.string().describe('The usage stream, whose events make up what is due.'),
});
export type CloseRow = z.infer<typeof row>;

const totals = z.strictObject({ periods: z.int().describe('Billing periods that begin in the month.'), ...sums });
const input = z.object({
  month,
  account: accountFilter.optional().describe('Only this account; the totals are of all.'),
  not_invoiced: z
    .literal('yes', 'is `yes` or left out')
    .optional()
    .describe('`yes`: only accounts of which something is on no invoice; the totals are of all.'),
  after: accountId.optional().describe('`next` of the page before.'),
});

const shown = z.strictObject({
  month: z.string(),
  totals,
  not_invoiced: notInvoiced,
  phases: z
    .strictObject({ open: z.int(), ended: z.int(), closed: z.int() })
    .describe('Billing periods by their phase.'),
  verification: verification.describe('What the continuous verification says now.'),
  is_behind: z
    .boolean()
    .nullable()
    .describe('True if the log has newer events about money than the amounts; null while the log is away.'),
  accounts: z.array(row),
  next: z.string().nullable().describe('Where the next page of accounts begins; null at the end.'),
});
export type MonthInput = z.infer<typeof input>;
export type ShownMonth = z.infer<typeof shown>;

export const monthClose: JsonView<MonthInput, ShownMonth> = {
  operationId: 'getMonth',
  summary: 'The close of a month, in sum and by account',
  input,
  shown,
  read: async (dependencies, { month: wanted, after, ...filter }) => {
    const { close, rows } = await inSnapshot(dependencies.pool, async (client) => {
      const accounts = { ...filterOf(filter), after, limit: accountsPerPage + 1 };
      return {
        close: await readMonthClose(client, wanted),
        rows: await firstPage(listAccountCloses(client, wanted, accounts)),
      };
    });
    const { periods } = close.totals;
    if (periods === 0) throw missing();
    const { rows: shownRows, next } = firstRows(rows, accountsPerPage, (close) => close.account_id);
    const { verification: state, reached } = close;
    return {
      month: wanted,
      totals: { periods, ...pick(close.totals, sums) },
      not_invoiced: close.not_invoiced,
      phases: close.phases,
      verification: await verificationOf(dependencies, state, { reached }),
      is_behind: await isBehind(dependencies.store, periodMoney, reached),
      accounts: shownRows.map((close) => pick({ ...close, customer: null }, row.shape)),
      next,
    };
  },
  named: ({ accounts }) => accounts,
};

const filterOf = ({ account, not_invoiced }: Pick<MonthInput, 'account' | 'not_invoiced'>) => ({
  account,
  notInvoiced: not_invoiced === 'yes',
});

async function firstPage(pages: AsyncGenerator<AccountClose[]>): Promise<AccountClose[]> {
  for await (const page of pages) return page;
  return [];
}

/** All accounts that the view shows page by page, as of one instant. */
export const exportMonth = {
  input,
  read: async ({ exportPool }: StaffDependencies, { after: _after, ...given }: MonthInput) => {
    const pages = () =>
      pagesInSnapshot(exportPool, (client) => listAccountCloses(client, given.month, filterOf(given)));
    return {
      fileName: `month-${given.month}`,
      columns: [...Object.keys(row.shape).filter((name) => name !== 'not_invoiced'), 'why_not'],
      hasNames: true as const,
      about: { of: 'month', ...given },
      rows: () => eachShown(pages(), fileRowOf),
    };
  },
};

/** With the reasons as one text, for files. */
const fileRowOf = (close: AccountClose) => ({
  ...pick({ ...close, customer: null }, row.shape),
  why_not: close.not_invoiced.map(({ cents: part, why }) => `${String(part)}: ${openReasons[why]}`).join('; '),
});

interface MonthsShown {
  months: ReturnType<typeof monthRowOf>[];
  verification: Verification;
}

/** Every month, the newest first. */
export const months: View<object, MonthsShown> = {
  input: z.object({}),
  read: async (dependencies) => {
    const { rows, state, reached } = await inSnapshot(dependencies.pool, async (client) => ({
      rows: await listMonthMoney(client, { months: allMonths }),
      ...(await readAuditState(client, periodMoney.name)),
    }));
    return {
      months: monthRowsOf(rows),
      verification: await verificationOf(dependencies, state, { reached }),
    };
  },
};

/** The months as they are shown. */
export const exportMonths = {
  input: z.object({}),
  read: async ({ pool }: StaffDependencies) => {
    const rows = monthRowsOf(await listMonthMoney(pool, { months: allMonths }));
    return exportOf(rows, {
      fileName: 'months',
      columns: ['month', 'periods', 'open', 'ended', ...Object.keys(sums)],
      about: { of: 'months' },
    });
  },
};

const monthRowsOf = (rows: readonly MonthMoney[]) =>
  [...Map.groupBy(rows, (each) => each.month)].map(([name, ofMonth]) => monthRowOf(name, ofMonth));

function monthRowOf(month: string, rows: readonly MonthMoney[]) {
  const periodsIn = (phase?: MonthMoney['phase']) =>
    rows.reduce((sum, each) => sum + (phase === undefined || each.phase === phase ? each.periods : 0), 0);
  return {
    month,
    /** Billing periods that begin in it: all, those that are open, and those that are ended and not closed. */
    periods: periodsIn(),
    open: periodsIn('open'),
    ended: periodsIn('ended'),
    ...pick(withSums(addUp(rows)), sums),
  };
}
