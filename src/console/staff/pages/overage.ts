import { overageColumns, type OverageCounts } from '../../../../projections/overage-columns.ts';
import { type Columns, type Html, html, numberCell, numberHead } from '../../../documents/html.ts';
import { planName, type PlanNames } from '../../../domain/plans.ts';
import { choiceField, folded, sentFilters } from '../../form-fields.ts';
import {
  count,
  countCell,
  day,
  empty,
  type Figure,
  figures,
  money,
  note,
  plotFigure,
  rowName,
  tag,
} from '../../parts.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import {
  accountLink,
  accountPath,
  chargesPath,
  type FileEnding,
  fileLinks,
  pageLinks,
  withQuery,
} from '../addresses.ts';
import { exportHandlers, seeAs, viewPage } from '../view.ts';
import {
  exportOverage,
  type Overage,
  overage,
  type OverageInput,
  type OverageMonth,
  type OverageRow,
  phases,
} from '../views/overage.ts';

/** Everybody's overage, and the months as a plot. */

export const show = viewPage(overage, {
  title: ({ month }) => (month === 'all' ? 'Overage of all months' : `Overage of ${month}`),
  section: 'overage',
  islands: ['plot'],
  content: (shown, _visit, { planNames }, input) =>
    html`${ofMonth(shown)} ${plot(shown)} ${filterForm(shown, input)} ${list(shown, input, planNames)}`,
  filters: async (visit, dependencies) => {
    const { month, months } = await seeAs(visit, overage, dependencies, {});
    const sent = sentFilters(visit);
    return filterForm({ month: sent['month'] ?? month, months }, { sort: 'charged', order: 'desc', ...sent });
  },
});

export const files = exportHandlers(exportOverage);

/** The address of the table with these fields, and without those of them that are undefined. */
export function overageAddress(
  fields: Partial<Record<keyof OverageInput, string | undefined>>,
  as: FileEnding = '',
): string {
  return withQuery(`/staff/overage${as}`, fields);
}

/** The sums of the whole month, each with the rows that it sums. */
function ofMonth({ month, months }: Overage): Html | false {
  const sums = months.find((each) => each.month === month);
  if (!sums) return false;
  const sorted = (sort: OverageSort) => overageAddress({ month, sort, order: 'desc' });
  const close = html`<a href="/staff/months/${month}">${count(sums.periods)} accounts: the close of the month</a>`;
  return html`<p class="soft">
      All ${count(sums.periods)} accounts of ${month}, whatever the table below is filtered by:
    </p>
    ${figures(overageFigures(sums, sorted, [close]))}`;
}

type OverageSort = (typeof overageColumns)[number]['sort'];

/** @param addressOf the rows of a sum; details: of what is charged */
export function overageFigures(
  sums: OverageCounts,
  addressOf: (sort: OverageSort) => string | undefined,
  details: readonly Html[] = [],
): Figure[] {
  const amount = (sort: OverageSort, cents: number) => {
    const address = addressOf(sort);
    return address === undefined ? money(cents) : html`<a href="${address}">${money(cents)}</a>`;
  };
  const { voided_cents: voided, waived_cents: waived, credited_overage_cents: credited } = sums;
  return [
    {
      name: 'Charged',
      value: amount('charged', sums.charged_cents),
      of: `for ${count(sums.charges)} ${sums.charges === 1 ? 'download' : 'downloads'}`,
      details,
    },
    {
      name: 'Given back',
      value: money(voided + waived + credited),
      details: [
        html`Voided ${amount('voided', voided)}`,
        html`Waived ${amount('waived', waived)}`,
        html`Credited after the invoice ${amount('credited', credited)}`,
      ],
    },
    { name: 'Invoiced', value: amount('invoiced', sums.invoiced_overage_cents) },
    {
      name: 'Difference',
      value: amount('difference', sums.difference_cents),
      details: ['Charged less voided, waived and invoiced: no invoice carries it yet'],
    },
  ];
}

const plottedMonths = 36;

function plot({ months }: Overage): Html | false {
  const shown = months.slice(0, plottedMonths).reverse();
  if (shown.length < 2) return false;
  const dollars = (name: keyof OverageMonth) => shown.map((each) => Number(each[name]) / 100);
  const plotted = {
    by: 'month',
    days: shown.map((each) => Date.parse(`${each.month}-01`) / 1000),
    // From the top of a bar to its ground: together they are what is charged.
    series: [
      { label: 'Difference', token: 'warn', values: dollars('difference_cents') },
      { label: 'Voided', token: 'line-strong', values: dollars('voided_cents') },
      { label: 'Waived', token: 'info', values: dollars('waived_cents') },
      { label: 'Invoiced', token: 'accent', values: dollars('invoiced_overage_cents') },
      { label: 'Charged', token: 'ink', as: 'outline', values: dollars('charged_cents') },
    ],
  };
  const caption =
    'Overage charged in each month, in dollars: the part on invoices, the parts voided and waived, and the difference, which no invoice carries yet.';
  return html`${plotFigure(plotted, caption)}
  ${folded('The months as a table', summedTable({ name: 'Overage by month' }, months, monthColumns, { sums: sumsOf(months) }))}`;
}

const textOf = (name: keyof OverageCounts, value: number) => (name === 'charges' ? count(value) : money(value));

const monthColumns: Columns<OverageMonth> = {
  Month: rowName(({ month }) => html`<a href="${overageAddress({ month })}">${month}</a>`),
  Accounts: countCell(({ periods }) => periods),
  ...Object.fromEntries(
    overageColumns.map(({ name, label }) => [label, numberCell<OverageMonth>((sums) => textOf(name, sums[name]))]),
  ),
};

function filterForm(
  { month, months }: Pick<Overage, 'month' | 'months'>,
  input: Partial<Record<keyof OverageInput, string | undefined>>,
): Html {
  const box = (name: 'overage' | 'difference', label: string) =>
    html`<label class="inline"
      ><input type="checkbox" name="${name}" value="yes" ${input[name] === 'yes' && html`checked`} /> ${label}</label
    >`;
  const names = [...new Set([month, ...months.map((each) => each.month)])].filter((each) => each !== 'all');
  return html`<h2>Accounts</h2>
    <form method="get" action="/staff/overage" class="filters">
      ${choiceField('Month', 'month', month, [['all', 'all months'], ...names])}
      <label>Account <input name="account" value="${input.account ?? ''}" placeholder="acc_…" maxlength="40" /></label>
      ${choiceField('Period', 'phase', input.phase, [['', 'any'], ...phases])} ${box('overage', 'only with overage')}
      ${box('difference', 'only with a difference')}
      <input type="hidden" name="sort" value="${input.sort}" /><input
        type="hidden"
        name="order"
        value="${input.order}"
      />
      <button class="second">Show</button>
    </form>`;
}

function list({ month, rows, next, is_partial: isPartial }: Overage, input: OverageInput, planNames: PlanNames): Html {
  const { after, ...here } = { ...input, month };
  const links = (begin: string | undefined) =>
    pageLinks((from) => overageAddress({ ...here, after: from }), {
      after: begin,
      next,
      ...(isPartial && { goOn: 'Look further' }),
    });
  const looked =
    isPartial && note('info', 'Matches are rare: this page looked through as many periods as it may at a time.');
  if (rows.length === 0)
    return html`${looked}
    ${empty(
      html`<p>
        No account matches${isPartial && ' so far'}.
        <a href="${overageAddress({ month })}">Show all of the month</a>
      </p>`,
    )}
    ${links(undefined)}`;
  const isWhole = next === null && after === undefined;
  return html`${fileLinks('rows', (as) => overageAddress(here, as))}
  ${summedTable({ name: 'Overage by account' }, rows, columnsOf(here, planNames), { isWhole, sums: sumsOf(rows) })}
  ${looked} ${links(after)}`;
}

const columnsOf = (here: OverageInput, planNames: PlanNames): Columns<OverageRow> => ({
  Account: {
    head: (name) => sortLink(here, 'account', name),
    content: (row) => accountLink(row, { path: chargesPath(row), isRow: true }),
  },
  'Period from': ({ period_start: start, phase }) => html`${day(start)} ${tag(phase, phaseTags[phase])}`,
  Plan: ({ plan }) => planName(plan, planNames),
  ...Object.fromEntries(
    overageColumns.map(({ name, sort, label }) => {
      const textIn = (row: OverageRow) =>
        name === 'charges' ? count(row.charges) : amountLink(row[name], rowsOfSums(row)[sort]);
      return [label, { ...numberCell(textIn), head: () => numberHead(sortLink(here, sort, label)) }];
    }),
  ),
});

/** What each amount of a billing period is the sum of. */
export function rowsOfSums(
  period: Pick<OverageRow, 'account_id' | 'period_start'>,
): Readonly<Record<OverageSort, string>> {
  const corrections = chargesPath(period, { only: 'corrections' });
  const account = accountPath(period.account_id);
  return {
    charges: chargesPath(period),
    charged: chargesPath(period, { only: 'charges' }),
    voided: corrections,
    waived: corrections,
    credited: account,
    invoiced: account,
    difference: chargesPath(period),
  };
}

/** Amounts begin with the largest. Once more turns the order round. */
function sortLink(here: OverageInput, sort: OverageInput['sort'], name: string): Html {
  const isSorted = here.sort === sort;
  const first = sort === 'account' ? 'asc' : 'desc';
  const order = isSorted ? (here.order === 'asc' ? 'desc' : 'asc') : first;
  const said =
    isSorted && html`<span class="visually-hidden">, the ${here.order === 'asc' ? 'smallest' : 'largest'} first</span>`;
  return html`<a href="${overageAddress({ ...here, sort, order })}" class="${isSorted && `sorted ${here.order}`}"
    >${name}${said}</a
  >`;
}

/** An amount and what it is the sum of; nothing is the sum of nothing. @param address undefined: it has no rows of its own */
export function amountLink(cents: number, address?: string): Html {
  if (cents === 0) return html`<span class="soft">${money(0)}</span>`;
  return address === undefined ? html`${money(cents)}` : html`<a href="${address}">${money(cents)}</a>`;
}

const sumsOf = (rows: readonly OverageCounts[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    overageColumns.map(({ name, label }) => [
      label,
      textOf(
        name,
        sumOf(rows, (row) => row[name]),
      ),
    ]),
  );

export const phaseTags = { open: 'info', ended: 'warn', closed: '' } as const;
