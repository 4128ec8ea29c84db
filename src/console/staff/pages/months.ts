import { type OpenReason, openReasons } from '../../../../projections/queries/month-close.ts';
import { type Html, html } from '../../../documents/html.ts';
import { count, day, empty, figures, money, note, number, numberHead, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountPath, chargesPath, eventAtPath, type FileEnding, withQuery } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { exportHandlers } from '../export.ts';
import { verdictNote } from '../verification.ts';
import { inputOf, readInput, see, viewerOf } from '../view.ts';
import {
  type CloseRow,
  exportMonth,
  monthClose,
  type MonthInput,
  type MonthRow,
  months,
  type ShownMonth,
} from '../views/months.ts';
import { overageAddress, phaseTags } from './overage.ts';

/** The close of each month: what its billing periods cost, what is invoiced and credited, and what is not and why. */

export async function list(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const shown = await see(months, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: 'Months',
    section: 'months',
    content: html`<p>Each billing period counts for the month in which it begins.</p>
      ${verdictNote(shown.verification)}
      ${
        shown.months.length === 0
          ? empty(html`<p>No billing period has begun yet.</p>`)
          : wideTable(
              'Months',
              ['Month', ...['Accounts', 'Not closed', 'Due', 'Invoiced', 'Not invoiced', 'Credited'].map(numberHead)],
              shown.months.map(monthRow),
            )
      }`,
  });
}

const addressOf = (month: string) => `/staff/months/${month}`;

/** With these filters, and without those of them that are undefined. */
const monthAddress = (
  { month, ...filters }: { month: string } & Partial<Record<keyof MonthInput, string | undefined>>,
  as: FileEnding = '',
): string => withQuery(`${addressOf(month)}${as}`, filters);

const monthRow = (row: MonthRow): Html =>
  html`<tr>
    <th scope="row"><a data-row href="${addressOf(row.month)}">${row.month}</a></th>
    ${number(count(row.periods))} ${number(count(row.open + row.ended))} ${number(money(row.due_cents))}
    ${number(money(row.invoiced_cents))} ${number(money(row.not_invoiced_cents))} ${number(money(row.credited_cents))}
  </tr>`;

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const input = readInput(monthClose.input, inputOf(visit));
  const shown = await see(monthClose, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: `Close of ${shown.month}`,
    section: 'months',
    content: html`${state(shown)} ${totals(shown)} ${accounts(shown, input)}`,
  });
}

export const files = exportHandlers(async (visit: StaffVisit, dependencies: StaffDependencies) => {
  const { after: _after, ...filters } = readInput(exportMonth.input, inputOf(visit));
  const { month, rows } = await see(exportMonth, viewerOf(visit), dependencies, inputOf(visit));
  return { fileName: `month-${month}`, columns: exportMonth.columns, about: { of: 'month', ...filters }, rows };
});

function state({ month, phases, verification, is_behind: isBehind, ...shown }: ShownMonth): Html {
  const {
    totals: { periods, ...sums },
    not_invoiced: parts,
  } = shown;
  const { open, ended, closed } = phases;
  const left = [open > 0 && `${count(open)} open`, ended > 0 && `${count(ended)} ended and not closed yet`].filter(
    (part) => part !== false,
  );
  return html`${figures([
      { name: 'Due', value: html`<a href="#totals">${money(sums.due_cents)}</a>`, of: `of ${count(periods)} accounts` },
      { name: 'Invoiced', value: html`<a href="#totals">${money(sums.invoiced_cents)}</a>` },
      {
        name: 'Not invoiced yet',
        value: html`<a href="${monthAddress({ month, not_invoiced: 'yes' })}#accounts"
          >${money(sums.not_invoiced_cents)}</a
        >`,
        details: parts.map(({ cents, why }) => `${money(cents)}: ${openReasons[why]}`),
      },
      {
        name: 'Billing periods closed',
        value: count(closed),
        of: `of ${count(periods)}`,
        details: [left.length === 0 ? undefined : left.join(', ')],
      },
    ])}
    ${verdictNote(verification)} ${behind(isBehind)}
    <p class="soft">
      The first day of an account's period leads to its charges, and to a file with every event behind its sums:
      <code>reeltally reports month --period ${month} --account ACCOUNT</code> names the same.
    </p>`;
}

/** @param isBehind null where it is not known */
const behind = (isBehind: boolean | null): Html | false => {
  if (isBehind === null)
    return note('warn', 'The log does not answer: whether it has newer events about money is not known.');
  return isBehind && note('warn', 'The read model is behind the log: amounts may be missing. Reload in a moment.');
};

function totals({ month, totals: sums }: ShownMonth): Html {
  const sorted = (sort: string) => overageAddress({ month, sort: sort, order: 'desc' });
  const line = (name: string, cents: number, rows: string | undefined, isSum = false) =>
    html`<tr>
      ${isSum ? html`<th scope="row"><strong>${name}</strong></th>` : html`<td>${name}</td>`}
      ${number(isSum ? html`<strong>${money(cents)}</strong>` : money(cents))}
      <td>
        ${rows !== undefined && html`<a data-row href="${rows}">its rows<span class="visually-hidden">: ${name}</span></a>`}
      </td>
    </tr>`;
  return html`<h2 id="totals">Totals</h2>
    ${wideTable(
      'Totals of the month',
      ['', numberHead('Amount'), 'Sum of'],
      [
        line('Fees', sums.fee_cents, '#accounts'),
        line('Differences of fees, for changes to a higher plan', sums.fee_difference_cents, '#accounts'),
        line(`Overage: ${count(sums.charges)} downloads beyond the allowance`, sums.charged_cents, sorted('charged')),
        line('Voided', -sums.voided_cents, sorted('voided')),
        line('Waived', -sums.waived_cents, sorted('waived')),
        line('Due', sums.due_cents, undefined, true),
        line('Fees on invoices', sums.invoiced_fee_cents, '#accounts'),
        line('Differences of fees on invoices', sums.invoiced_fee_difference_cents, '#accounts'),
        line('Overage on invoices', sums.invoiced_overage_cents, sorted('invoiced')),
        line('Invoiced', sums.invoiced_cents, undefined, true),
        line(
          'Due and not invoiced yet',
          sums.not_invoiced_cents,
          `${monthAddress({ month, not_invoiced: 'yes' })}#accounts`,
          true,
        ),
        line('Fees given back by credit notes', -sums.credited_fee_cents, '#accounts'),
        line('Overage given back by credit notes', -sums.credited_overage_cents, sorted('credited')),
        line('Credited', -sums.credited_cents, undefined, true),
        line('Result: invoiced less credited', sums.result_cents, undefined, true),
      ],
    )}`;
}

/** In a cell; below the table in a sentence. */
const shortReasons: Readonly<Record<OpenReason, string>> = {
  period_open: 'period open',
  period_ended: 'to be closed',
  invoice_due: 'invoice due',
  before_open: 'before: open',
  before_ended: 'before: to be closed',
  before_due: 'before: invoice due',
  opening_due: 'first invoice due',
  fee_due: 'invoice before due',
};

const heads = [
  'Account',
  'Period from',
  ...['Fee', 'Upgrade', 'Overage', 'Given back', 'Due', 'Invoiced', 'Credited', 'Not invoiced'].map(numberHead),
];

function accounts({ month, accounts: rows, next }: ShownMonth, input: MonthInput): Html {
  const { account, not_invoiced: notInvoiced, after } = input;
  const here = { month, account, not_invoiced: notInvoiced };
  const files = html`<p class="pages">
    <span>All of these accounts:</span> <a href="${monthAddress(here, '.csv')}" download>CSV</a>
    <a href="${monthAddress(here, '.json')}" download>JSON</a>
  </p>`;
  const isWhole = next === null && after === undefined;
  return html`<h2 id="accounts">Accounts</h2>
    <form method="get" action="${addressOf(month)}#accounts" class="filters">
      <label>Account <input name="account" value="${account ?? ''}" placeholder="acc_…" maxlength="40" /></label>
      <label class="inline"
        ><input type="checkbox" name="not_invoiced" value="yes" ${notInvoiced === 'yes' && html`checked`} /> only with
        something not invoiced</label
      >
      <button class="second">Show</button>
    </form>
    ${files}
    ${
      rows.length === 0
        ? empty(
            html`<p>
              No such account has a billing period that begins in this
              month${notInvoiced === 'yes' && ' and something that is not invoiced'}.
              <a href="${addressOf(month)}#accounts">Show all</a>
            </p>`,
          )
        : html`${wideTable('Accounts of the month', heads, rows.map(accountRow), sumRow(rows, isWhole))}
          ${reasonsOf(rows)}`
    }
    <p class="pages">
      ${after !== undefined && html`<a href="${monthAddress(here)}#accounts">First page</a>`}
      ${next !== null && html`<a rel="next" href="${monthAddress({ ...here, after: next })}#accounts">Next page</a>`}
    </p>`;
}

/** The sums of the rows above it, which need not be all. */
function sumRow(rows: readonly CloseRow[], isWhole: boolean): Html {
  const sum = (cents: (row: CloseRow) => number) => number(money(rows.reduce((total, row) => total + cents(row), 0)));
  return html`<tr>
    <th scope="row" colspan="2">${isWhole ? 'All' : 'This page:'} ${count(rows.length)}</th>
    ${sum((row) => row.fee_cents)} ${sum((row) => row.fee_difference_cents)} ${sum((row) => row.charged_cents)}
    ${sum((row) => -row.voided_cents - row.waived_cents)} ${sum((row) => row.due_cents)}
    ${sum((row) => row.invoiced_cents)} ${sum((row) => -row.credited_cents)} ${sum((row) => row.not_invoiced_cents)}
  </tr>`;
}

function reasonsOf(rows: readonly CloseRow[]): Html | false {
  const used = [...new Set(rows.flatMap((row) => row.not_invoiced.map(({ why }) => why)))];
  if (used.length === 0) return false;
  return html`<dl class="facts">
    ${used.map(
      (why) =>
        html`<dt>${shortReasons[why]}</dt>
          <dd>${openReasons[why]}</dd>`,
    )}
  </dl>`;
}

function accountRow(row: CloseRow): Html {
  const amount = (cents: number, address?: string) => {
    if (cents === 0) return number(html`<span class="soft">${money(0)}</span>`);
    return number(address === undefined ? money(cents) : html`<a href="${address}">${money(cents)}</a>`);
  };
  const documents = `${accountPath(row.account_id)}#documents`;
  return html`<tr>
    <td>
      <a data-row href="${accountPath(row.account_id)}"><code>${row.account_id}</code></a>
    </td>
    <td>
      <a href="${chargesPath(row)}">${day(row.period_start)}</a><br /><span class="tag ${phaseTags[row.phase]}"
        >${row.phase}</span
      >
    </td>
    ${amount(row.fee_cents, eventAtPath({ stream: row.stream, revision: 0 }))}
    ${amount(row.fee_difference_cents, documents)} ${amount(row.charged_cents, chargesPath(row, { only: 'charges' }))}
    ${amount(-row.voided_cents - row.waived_cents, chargesPath(row, { only: 'corrections' }))} ${amount(row.due_cents)}
    ${amount(row.invoiced_cents, documents)} ${amount(-row.credited_cents, documents)}
    ${number(row.not_invoiced.length === 0 ? html`<span class="soft">${money(0)}</span>` : notInvoiced(row))}
  </tr>`;
}

const notInvoiced = ({ not_invoiced: parts }: CloseRow): Html =>
  html`${parts.map(
    ({ cents, why }, at) =>
      html`${at > 0 && html`<br />`}${money(cents)} <br /><span class="soft">${shortReasons[why]}</span>`,
  )}`;
