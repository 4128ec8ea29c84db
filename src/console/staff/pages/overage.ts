import { type Html, html } from '../../../documents/html.ts';
import { count, day, empty, figures, money, note, number, numberHead, option, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { chargesPath, type FileEnding, withQuery } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { exportHandlers } from '../export.ts';
import { inputOf, readInput, see, viewerOf } from '../view.ts';
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

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const input = readInput(overage.input, inputOf(visit));
  const shown = await see(overage, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: shown.month === 'all' ? 'Overage of all months' : `Overage of ${shown.month}`,
    section: 'overage',
    islands: ['plot'],
    content: html`${ofMonth(shown)} ${plot(shown)} ${filterForm(shown, input)} ${list(shown, input)}`,
  });
}

export const files = exportHandlers(async (visit: StaffVisit, dependencies: StaffDependencies) => {
  const { after: _after, ...filters } = readInput(exportOverage.input, inputOf(visit));
  const { month, rows } = await see(exportOverage, viewerOf(visit), dependencies, inputOf(visit));
  return {
    fileName: `overage-${month}`,
    columns: exportOverage.columns,
    about: { of: 'overage', ...filters, month },
    rows,
  };
});

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
  const sorted = (sort: OverageInput['sort'], cents: number) =>
    html`<a href="${overageAddress({ month, sort, order: 'desc' })}">${money(cents)}</a>`;
  const given = sums.voided_cents + sums.waived_cents;
  const all = html`<p class="soft">
    All ${count(sums.periods)} accounts of ${month}, whatever the table below is filtered by:
  </p>`;
  return html`${all}${figures([
    {
      name: 'Charged',
      value: sorted('charged', sums.charged_cents),
      of: `for ${count(sums.charges)} ${sums.charges === 1 ? 'download' : 'downloads'}`,
      details: [html`<a href="/staff/months/${month}">${count(sums.periods)} accounts: the close of the month</a>`],
    },
    {
      name: 'Given back',
      value: money(given + sums.credited_overage_cents),
      details: [
        html`Voided ${sorted('voided', sums.voided_cents)}`,
        html`Waived ${sorted('waived', sums.waived_cents)}`,
        html`Credited after the invoice ${sorted('credited', sums.credited_overage_cents)}`,
      ],
    },
    { name: 'Invoiced', value: sorted('invoiced', sums.invoiced_overage_cents) },
    {
      name: 'Difference',
      value: sorted('difference', sums.difference_cents),
      details: ['Charged less voided, waived and invoiced: no invoice carries it yet'],
    },
  ])}`;
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
  return html`<figure class="plot" data-plot="${JSON.stringify(plotted)}">
      <figcaption>
        Overage charged in each month, in dollars: the part on invoices, the parts voided and waived, and the
        difference, which no invoice carries yet.
      </figcaption>
      <div class="canvas"></div>
    </figure>
    <details>
      <summary>The months as a table</summary>
      ${wideTable('Overage by month', ['Month', numberHead('Accounts'), ...sumHeads.map(numberHead)], months.map(monthRow))}
    </details>`;
}

const sumHeads = ['Charges', 'Charged', 'Voided', 'Waived', 'Credited', 'Invoiced', 'Difference'];

const monthRow = (sums: OverageMonth): Html =>
  html`<tr>
    <th scope="row"><a href="${overageAddress({ month: sums.month })}">${sums.month}</a></th>
    ${number(count(sums.periods))} ${number(count(sums.charges))} ${number(money(sums.charged_cents))}
    ${number(money(sums.voided_cents))} ${number(money(sums.waived_cents))}
    ${number(money(sums.credited_overage_cents))} ${number(money(sums.invoiced_overage_cents))}
    ${number(money(sums.difference_cents))}
  </tr>`;

function filterForm({ month, months }: Overage, input: OverageInput): Html {
  const box = (name: 'overage' | 'difference', label: string) =>
    html`<label class="inline"
      ><input type="checkbox" name="${name}" value="yes" ${input[name] === 'yes' && html`checked`} /> ${label}</label
    >`;
  const names = [...new Set([month, ...months.map((each) => each.month)])].filter((each) => each !== 'all');
  return html`<h2>Accounts</h2>
    <form method="get" action="/staff/overage" class="filters">
      <label
        >Month
        <select name="month">
          ${option('all', 'all months', month)} ${names.map((each) => option(each, each, month))}
        </select></label
      >
      <label>Account <input name="account" value="${input.account ?? ''}" placeholder="acc_…" maxlength="40" /></label>
      <label
        >Period
        <select name="phase">
          ${option('', 'any', input.phase ?? '')} ${phases.map((phase) => option(phase, phase, input.phase ?? ''))}
        </select></label
      >
      ${box('overage', 'only with overage')} ${box('difference', 'only with a difference')}
      <input type="hidden" name="sort" value="${input.sort}" /><input
        type="hidden"
        name="order"
        value="${input.order}"
      />
      <button class="second">Show</button>
    </form>`;
}

function list({ month, rows, next, is_partial: isPartial }: Overage, input: OverageInput): Html {
  const { after, ...here } = { ...input, month };
  const goOn =
    next !== null &&
    html`<a rel="next" href="${overageAddress({ ...here, after: next })}"
      >${isPartial ? 'Look further' : 'Next page'}</a
    >`;
  const looked =
    isPartial && note('info', 'Matches are rare: this page looked through as many periods as it may at a time.');
  const files = html`<p class="pages">
    <span>All of these rows:</span> <a href="${overageAddress(here, '.csv')}" download>CSV</a>
    <a href="${overageAddress(here, '.json')}" download>JSON</a>
  </p>`;
  if (rows.length === 0)
    return html`${looked}
      ${empty(
        html`<p>
          No account matches${isPartial && ' so far'}.
          <a href="${overageAddress({ month })}">Show all of the month</a>
        </p>`,
      )}
      <p class="pages">${goOn}</p>`;
  const isWhole = next === null && after === undefined;
  return html`${files} ${wideTable('Overage by account', heads(here), rows.map(rowOf), sumRow(rows, isWhole))} ${looked}
    <p class="pages">${after !== undefined && html`<a href="${overageAddress(here)}">First page</a>`} ${goOn}</p>`;
}

const columns: readonly (readonly [OverageInput['sort'], string])[] = [
  ['charges', 'Charges'],
  ['charged', 'Charged'],
  ['voided', 'Voided'],
  ['waived', 'Waived'],
  ['credited', 'Credited'],
  ['invoiced', 'Invoiced'],
  ['difference', 'Difference'],
];

function heads(here: OverageInput): Html[] {
  return [
    sortLink(here, 'account', 'Account'),
    html`Period from`,
    html`Plan`,
    ...columns.map(([sort, name]) => html`<span class="number">${sortLink(here, sort, name)}</span>`),
  ];
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

function rowOf(row: OverageRow): Html {
  const { account_id: accountId, period_start: start, plan, phase } = row;
  const amount = (cents: number, address: string) =>
    number(cents === 0 ? html`<span class="soft">${money(0)}</span>` : html`<a href="${address}">${money(cents)}</a>`);
  const corrections = chargesPath(row, { only: 'corrections' });
  const account = `/staff/accounts/${accountId}`;
  return html`<tr>
    <td>
      <a data-row href="${chargesPath(row)}"><code>${accountId}</code></a>
    </td>
    <td>${day(start)} <span class="tag ${phaseTags[phase]}">${phase}</span></td>
    <td>${plan}</td>
    ${number(count(row.charges))} ${amount(row.charged_cents, chargesPath(row, { only: 'charges' }))}
    ${amount(row.voided_cents, corrections)} ${amount(row.waived_cents, corrections)}
    ${amount(row.credited_overage_cents, account)} ${amount(row.invoiced_overage_cents, account)}
    ${amount(row.difference_cents, chargesPath(row))}
  </tr>`;
}

/** The sums of the rows above it, which need not be all that match. */
function sumRow(rows: readonly OverageRow[], isWhole: boolean): Html {
  const sum = (of: (row: OverageRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  const cents = (of: (row: OverageRow) => number) => number(money(sum(of)));
  return html`<tr>
    <th scope="row" colspan="3">${isWhole ? 'All rows' : 'Rows of this page'}: ${count(rows.length)}</th>
    ${number(count(sum((row) => row.charges)))} ${cents((row) => row.charged_cents)} ${cents((row) => row.voided_cents)}
    ${cents((row) => row.waived_cents)} ${cents((row) => row.credited_overage_cents)}
    ${cents((row) => row.invoiced_overage_cents)} ${cents((row) => row.difference_cents)}
  </tr>`;
}

export const phaseTags = { open: 'info', ended: 'warn', closed: '' } as const;
