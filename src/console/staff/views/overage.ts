import { z } from 'zod';
import { overageColumns, type OverageCounts } from '../../../../projections/overage-columns.ts';
import { addUp } from '../../../../projections/queries/month-close.ts';
import {
  exportPeriodMoney,
  listMonthMoney,
  listPeriodMoney,
  type MonthMoney,
  type OverageCursor,
  type OverageFilter,
  type OverageOrder,
  overageSorts,
  type PeriodMoney,
} from '../../../../projections/queries/overage-table.ts';
import { inSnapshot } from '../../../../projections/runner/transaction.ts';
import { accountId, accountIdPattern } from '../../../domain/account-events.ts';
import { instant } from '../../../domain/instant.ts';
import { badInput } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { eachShown, type JsonView, pick } from '../view.ts';

/** Everybody's overage: each account and billing period, beside the months' sums. */

const rowsPerPage = 200;
/** More than a service is old. */
export const allMonths = 1_200;

export const month = z.string().regex(/^20\d{2}-(?:0[1-9]|1[0-2])$/, 'is not a month such as 2026-11');
/** Of a filter. */
export const accountFilter = z
  .string()
  .regex(accountIdPattern, 'an id such as acc_… is expected; the search finds it by name, mail address or tax ID');
export const phases = ['open', 'ended', 'closed'] as const;
const yes = z.literal('yes', 'is `yes` or left out').optional();

const input = z.object({
  month: z
    .union([month, z.literal('all')], 'is a month such as 2026-11, or `all`')
    .optional()
    .describe('The month in which the billing periods begin, or `all`; default: all of one account, else the newest.'),
  account: accountFilter.optional(),
  phase: z.enum(phases).optional().describe('Of the billing period.'),
  overage: yes.describe('`yes`: only periods with downloads beyond the allowance.'),
  difference: yes.describe('`yes`: only periods with overage that no invoice carries.'),
  sort: z.enum(overageSorts).default('charged').describe('The column by which rows are sorted.'),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().max(120).optional().describe('`next` of the page before.'),
});
export type OverageInput = z.infer<typeof input>;

export const sums = Object.fromEntries(
  overageColumns.map(({ name, says }) => [name, z.int().describe(says)]),
) as Record<keyof OverageCounts, z.ZodInt>;
export const customer = z
  .string()
  .nullable()
  .describe(
    'Name on its invoices, or the e-mail address that it was opened with; null while the log cannot record who looks, or if it was erased.',
  );

export const overageRow = z.strictObject({
  account_id: z.string(),
  customer,
  period_start: instant.describe('First instant of the billing period, in UTC.'),
  month: z.string(),
  plan: z.string(),
  phase: z.enum(phases),
  ...sums,
  stream: z.string().describe('The usage stream, whose events make up what is charged, voided and waived.'),
});
const monthRow = z.strictObject({ month: z.string(), periods: z.int(), ...sums });

const shown = z.strictObject({
  month: z.string().describe('The month that the rows are of, or `all`.'),
  rows: z.array(overageRow),
  next: z.string().nullable().describe('Where the next page begins; null at the end.'),
  is_partial: z
    .boolean()
    .describe('True if matches are rare: the page looked through as many periods as it may, up to `next`.'),
  months: z.array(monthRow).describe('The sums of every month, whatever the rows are filtered by; the newest first.'),
});

export type OverageRow = z.infer<typeof overageRow>;
export type OverageMonth = z.infer<typeof monthRow>;
export type Overage = z.infer<typeof shown>;

export const overage: JsonView<OverageInput, Overage> = {
  operationId: 'listOverage',
  summary: 'Overage of every account and month',
  input,
  shown,
  read: async ({ pool, now }, given) => {
    const after = given.after === undefined ? undefined : readCursor(given.after);
    return await inSnapshot(pool, async (client) => {
      const months = sumsByMonth(await listMonthMoney(client, { months: allMonths }));
      const shownMonth = monthOf(given, { months, now });
      const wanted = wantedOf({ ...given, month: shownMonth });
      const { rows, next, is_partial } = await listPeriodMoney(client, { ...wanted, after, limit: rowsPerPage });
      return {
        month: shownMonth,
        rows: rows.map(overageRowOf),
        next: next ? cursorText(next) : null,
        is_partial,
        months,
      };
    });
  },
  named: ({ rows }) => rows,
};

/** All rows that the view shows page by page, as of one instant. */
export const exportOverage = {
  input,
  read: async ({ pool, exportPool, now }: StaffDependencies, { after: _after, ...given }: OverageInput) => {
    const months = given.month === undefined ? sumsByMonth(await listMonthMoney(pool, { months: 1 })) : [];
    const month = monthOf(given, { months, now });
    const wanted = wantedOf({ ...given, month });
    return {
      fileName: `overage-${month}`,
      columns: Object.keys(overageRow.shape),
      hasNames: true as const,
      about: { of: 'overage', ...given, month },
      rows: (gone: AbortSignal) => eachShown(exportPeriodMoney(exportPool, wanted, gone), overageRowOf),
    };
  },
};

function monthOf(
  { month, account }: OverageInput,
  { months, now }: { months: readonly OverageMonth[] } & Pick<StaffDependencies, 'now'>,
): string {
  return month ?? (account === undefined ? (months[0]?.month ?? now().slice(0, 7)) : 'all');
}

const wantedOf = (given: OverageInput): { filter: OverageFilter; order: OverageOrder } => ({
  filter: {
    month: given.month === 'all' ? undefined : given.month,
    accountId: given.account,
    phase: given.phase,
    withOverage: given.overage === 'yes',
    withDifference: given.difference === 'yes',
  },
  order: { sort: given.sort, descending: given.order === 'desc' },
});

export const overageRowOf = (period: PeriodMoney): OverageRow => pick({ ...period, customer: null }, overageRow.shape);

/** Rows of a month by phase, as one. */
const sumsByMonth = (rows: readonly MonthMoney[]): OverageMonth[] =>
  [...Map.groupBy(rows, (row) => row.month)].map(([month, ofMonth]) => ({
    month,
    periods: ofMonth.reduce((sum, { periods }) => sum + periods, 0),
    ...pick(addUp(ofMonth), sums),
  }));

const cursorText = ({ value, account_id, period_start }: OverageCursor) =>
  `${String(value)}~${account_id}~${period_start}`;

const cursor = z.tuple([z.coerce.number().int(), accountId, instant]);

function readCursor(text: string): OverageCursor {
  const read = cursor.safeParse(text.split('~'));
  if (!read.success) throw badInput('This page does not exist. Begin with the first.');
  const [value, account_id, period_start] = read.data;
  return { value, account_id, period_start };
}
