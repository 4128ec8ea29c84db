import { type OpenReason, openReasons } from '../../../../projections/queries/month-close.ts';
import { type Columns, type Html, html, numberCell } from '../../../documents/html.ts';
import { hasRole } from '../../../domain/staff.ts';
import { sentFilters } from '../../form-fields.ts';
import {
  amountCell,
  count,
  countCell,
  day,
  empty,
  figures,
  listTable,
  money,
  note,
  rowName,
  tag,
} from '../../parts.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import {
  accountLink,
  accountPath,
  chargesPath,
  eventAtPath,
  type FileEnding,
  fileLinks,
  pageLinks,
  withQuery,
} from '../addresses.ts';
import { verdictNote } from '../verification.ts';
import { exportHandlers, viewPage } from '../view.ts';
import {
  type CloseRow,
  exportMonth,
  exportMonths,
  monthClose,
  type MonthInput,
  months,
  type ShownMonth,
} from '../views/months.ts';
import { amountLink, overageAddress, phaseTags } from './overage.ts';

/** The close of each month: what its billing periods cost, what is invoiced and credited, and what is not and why. */

export const list = viewPage(months, {
  title: 'Months',
  section: 'months',
  content: (shown, { session }) =>
    html`<p>
        Each billing period counts for the month in which it begins.
        ${hasRole(session.role, 'finance') && html`<a href="/staff/sales-book">Sales book</a>`}
      </p>
      ${verdictNote(shown.verification)} ${fileLinks('months', (as) => `/staff/months${as}`)}
      ${summedTable({ name: 'Months', none: empty(html`<p>No billing period has begun yet.</p>`) }, shown.months, {
        Month: rowName(({ month }) => html`<a data-row href="${addressOf(month)}">${month}</a>`),
        Accounts: countCell((row) => row.periods),
        'Not closed': countCell((row) => row.open + row.ended),
        Due: amountCell((row) => row.due_cents),
        Invoiced: amountCell((row) => row.invoiced_cents),
        'Not invoiced': amountCell((row) => row.not_invoiced_cents),
        Credited: amountCell((row) => row.credited_cents),
      })}`,
});

const addressOf = (month: string) => `/staff/months/${month}`;

/** With these filters, and without those of them that are undefined. */
const monthAddress = (
  { month, ...filters }: { month: string } & Partial<Record<keyof MonthInput, string | undefined>>,
  as: FileEnding = '',
): string => withQuery(`${addressOf(month)}${as}`, filters);

export const show = viewPage(monthClose, {
  title: ({ month }) => `Close of ${month}`,
  section: 'months',
  content: (shown, _visit, _dependencies, input) => html`${state(shown)} ${totalsOf(shown)} ${accounts(shown, input)}`,
  filters: (visit) => accountsFilter(visit.params['month'] ?? '', sentFilters(visit)),
});

export const files = exportHandlers(exportMonth);
export const filesOfMonths = exportHandlers(exportMonths);

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

/** Its amount, the address of the rows that it sums, and whether it is the sum of those above it. */
type Total = readonly [name: string, cents: number, rows: string | undefined, isSum?: boolean];

function totalsOf({ month, totals: sums }: ShownMonth): Html {
  const sorted = (sort: string) => overageAddress({ month, sort, order: 'desc' });
  const totals: readonly Total[] = [
    ['Fees', sums.fee_cents, '#accounts'],
    ['Differences of fees, for changes to a higher plan', sums.fee_difference_cents, '#accounts'],
    [`Overage: ${count(sums.charges)} downloads beyond the allowance`, sums.charged_cents, sorted('charged')],
    ['Voided', -sums.voided_cents, sorted('voided')],
    ['Waived', -sums.waived_cents, sorted('waived')],
    ['Due', sums.due_cents, undefined, true],
    ['Fees on invoices', sums.invoiced_fee_cents, '#accounts'],
    ['Differences of fees on invoices', sums.invoiced_fee_difference_cents, '#accounts'],
    ['Overage on invoices', sums.invoiced_overage_cents, sorted('invoiced')],
    ['Invoiced', sums.invoiced_cents, undefined, true],
    [
      'Due and not invoiced yet',
      sums.not_invoiced_cents,
      monthAddress({ month, not_invoiced: 'yes' }) + '#accounts',
      true,
    ],
    ['Fees given back by credit notes', -sums.credited_fee_cents, '#accounts'],
    ['Overage given back by credit notes', -sums.credited_overage_cents, sorted('credited')],
    ['Credited', -sums.credited_cents, undefined, true],
    ['Result: invoiced less credited', sums.result_cents, undefined, true],
  ];
  return html`<h2 id="totals">Totals</h2>
    ${listTable('Totals of the month', totals, {
      '': rowName(([name, , , isSum]) => (isSum ? html`<strong>${name}</strong>` : name)),
      Amount: numberCell(([, cents, , isSum]) => (isSum ? html`<strong>${money(cents)}</strong>` : money(cents))),
      'Sum of': ([name, , rows]) =>
        rows !== undefined &&
        html`<a data-row href="${rows}">its rows<span class="visually-hidden">: ${name}</span></a>`,
    })}`;
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

function accounts({ month, accounts: rows, next }: ShownMonth, input: MonthInput): Html {
  const { account, not_invoiced: notInvoiced, after } = input;
  const here = { month, account, not_invoiced: notInvoiced };
  const isWhole = next === null && after === undefined;
  const none = empty(
    html`<p>
      No such account has a billing period that begins in this
      month${notInvoiced === 'yes' && ' and something that is not invoiced'}.
      <a href="${addressOf(month)}#accounts">Show all</a>
    </p>`,
  );
  return html`<h2 id="accounts">Accounts</h2>
    ${accountsFilter(month, input)} ${fileLinks('accounts', (as) => monthAddress(here, as))}
    ${summedTable({ name: 'Accounts of the month', none }, rows, columns, { isWhole, sums: sumsOf(rows) })}
    ${reasonsOf(rows)} ${pageLinks((from) => `${monthAddress({ ...here, after: from })}#accounts`, { after, next })}`;
}

const accountsFilter = (
  month: string,
  { account, not_invoiced: notInvoiced }: Partial<Record<'account' | 'not_invoiced', string | undefined>>,
): Html =>
  html`<form method="get" action="${addressOf(month)}#accounts" class="filters">
    <label>Account <input name="account" value="${account ?? ''}" placeholder="acc_…" maxlength="40" /></label>
    <label class="inline"
      ><input type="checkbox" name="not_invoiced" value="yes" ${notInvoiced === 'yes' && html`checked`} /> only with
      something not invoiced</label
    >
    <button class="second">Show</button>
  </form>`;

interface Amount {
  cents: (row: CloseRow) => number;
  /** Address of what it is the sum of. */
  rows?: (row: CloseRow) => string;
}

const documentsOf = ({ account_id: accountId }: CloseRow) => `${accountPath(accountId)}#documents`;

const amounts: Readonly<Record<string, Amount>> = {
  Fee: { cents: (row) => row.fee_cents, rows: ({ stream }) => eventAtPath({ stream, revision: 0 }) },
  Upgrade: { cents: (row) => row.fee_difference_cents, rows: documentsOf },
  Overage: { cents: (row) => row.charged_cents, rows: (row) => chargesPath(row, { only: 'charges' }) },
  'Given back': {
    cents: (row) => -row.voided_cents - row.waived_cents,
    rows: (row) => chargesPath(row, { only: 'corrections' }),
  },
  Due: { cents: (row) => row.due_cents },
  Invoiced: { cents: (row) => row.invoiced_cents, rows: documentsOf },
  Credited: { cents: (row) => -row.credited_cents, rows: documentsOf },
};

const columns: Columns<CloseRow> = {
  Account: (row) => accountLink(row, { isRow: true }),
  'Period from': (row) =>
    html`<a href="${chargesPath(row)}">${day(row.period_start)}</a><br />${tag(row.phase, phaseTags[row.phase])}`,
  ...Object.fromEntries(
    Object.entries(amounts).map(([name, { cents, rows }]) => [
      name,
      numberCell<CloseRow>((row) => amountLink(cents(row), rows?.(row))),
    ]),
  ),
  'Not invoiced': numberCell((row) => (row.not_invoiced.length === 0 ? amountLink(0) : notInvoiced(row))),
};

const sumsOf = (rows: readonly CloseRow[]): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(amounts).map(([name, { cents }]) => [name, money(sumOf(rows, cents))])),
  'Not invoiced': money(sumOf(rows, (row) => row.not_invoiced_cents)),
});

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

const notInvoiced = ({ not_invoiced: parts }: CloseRow): Html =>
  html`${parts.map(
    ({ cents, why }, at) =>
      html`${at > 0 && html`<br />`}${money(cents)} <br /><span class="soft">${shortReasons[why]}</span>`,
  )}`;
