import type { FastifyReply } from 'fastify';
import { openReasons } from '../../../../projections/month-close.ts';
import type { OpenReason } from '../../../../projections/month-close.ts';
import { html } from '../../../documents/html.ts';
import type { Html } from '../../../documents/html.ts';
import { count, day, empty, figures, money, note, number, numberHead, wideTable } from '../../parts.ts';
import { page } from '../../visit.ts';
import type { Answer, StaffVisit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { exportAnswer } from '../export.ts';
import type { ExportForm } from '../export.ts';
import { verdictNote } from '../verification.ts';
import { inputOf, readInput, see, viewerOf } from '../view.ts';
import { exportMonth, monthClose, months } from '../views/months.ts';
import type { CloseRow, MonthInput, MonthRow, ShownMonth } from '../views/months.ts';
import { chargesAddress, overageAddress, phaseTags } from './overage.ts';

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

const exported =
  (form: ExportForm) => async (visit: StaffVisit, dependencies: StaffDependencies, reply: FastifyReply) => {
    const { month, rows } = await see(exportMonth, viewerOf(visit), dependencies, inputOf(visit));
    const about = { of: 'month', month };
    return exportAnswer(form, dependencies, reply, {
      fileName: `month-${month}`,
      columns: exportMonth.columns,
      about,
      rows,
    });
  };
export const exportCsv = exported('csv');
export const exportJson = exported('json');

function state({ month, phases, verification, is_behind: isBehind, totals: { periods, ...sums } }: ShownMonth): Html {
  const { open, ended, closed } = phases;
  const left = [open > 0 && `${count(open)} open`, ended > 0 && `${count(ended)} ended and not closed yet`].filter(
    (part) => part !== false,
  );
  return html`${figures([
      { name: 'Due', value: html`<a href="#totals">${money(sums.due_cents)}</a>`, of: `of ${count(periods)} accounts` },
      { name: 'Invoiced', value: html`<a href="#totals">${money(sums.invoiced_cents)}</a>` },
      {
        name: 'Not invoiced yet',
        value: html`<a href="#accounts">${money(sums.not_invoiced_cents)}</a>`,
        details: [sums.not_invoiced_cents === 0 ? undefined : 'The accounts say why'],
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
      <code>reeltally reports month --period ${month} --account ACCOUNT</code> names every event behind the sums of an
      account.
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
        line('Due and not invoiced yet', sums.not_invoiced_cents, '#accounts', true),
        line('Fees given back by credit notes', -sums.credited_fee_cents, '#accounts'),
        line('Overage given back by credit notes', -sums.credited_overage_cents, sorted('credited')),
        line('Credited', -sums.credited_cents, undefined, true),
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
};

const heads = [
  'Account',
  'Period from',
  ...['Fee', 'Upgrade', 'Overage', 'Given back', 'Due', 'Invoiced', 'Credited', 'Not invoiced'].map(numberHead),
];

function accounts({ month, accounts: rows, next }: ShownMonth, { account, after }: MonthInput): Html {
  const files = html`<p class="pages">
    <span>All accounts:</span> <a href="${addressOf(month)}.csv" download>CSV</a>
    <a href="${addressOf(month)}.json" download>JSON</a>
  </p>`;
  return html`<h2 id="accounts">Accounts</h2>
    ${files}
    ${
      rows.length === 0
        ? empty(html`<p>No such account has a billing period that begins in this month.</p>`)
        : html`${wideTable('Accounts of the month', heads, rows.map(accountRow))} ${reasonsOf(rows)}`
    }
    <p class="pages">
      ${(after ?? account) !== undefined && html`<a href="${addressOf(month)}#accounts">First page</a>`}
      ${next !== null && html`<a rel="next" href="${addressOf(month)}?after=${next}#accounts">Next page</a>`}
    </p>`;
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
  const amount = (cents: number) => number(cents === 0 ? html`<span class="soft">${money(0)}</span>` : money(cents));
  const overage = (cents: number, only: 'charges' | 'corrections') =>
    cents === 0 ? amount(0) : number(html`<a href="${chargesAddress(row, only)}">${money(cents)}</a>`);
  return html`<tr>
    <td>
      <a data-row href="/staff/accounts/${row.account_id}"><code>${row.account_id}</code></a>
    </td>
    <td>${day(row.period_start)}<br /><span class="tag ${phaseTags[row.phase]}">${row.phase}</span></td>
    ${amount(row.fee_cents)} ${amount(row.fee_difference_cents)} ${overage(row.charged_cents, 'charges')}
    ${overage(-row.voided_cents - row.waived_cents, 'corrections')} ${amount(row.due_cents)}
    ${amount(row.invoiced_cents)} ${amount(-row.credited_cents)}
    ${number(row.not_invoiced.length === 0 ? html`<span class="soft">${money(0)}</span>` : notInvoiced(row))}
  </tr>`;
}

const notInvoiced = ({ not_invoiced: parts }: CloseRow): Html =>
  html`${parts.map(
    ({ cents, why }, at) =>
      html`${at > 0 && html`<br />`}${money(cents)} <br /><span class="soft">${shortReasons[why]}</span>`,
  )}`;
