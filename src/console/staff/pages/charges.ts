import { type Columns, type Html, html, numberCell } from '../../../documents/html.ts';
import { choices } from '../../form-fields.ts';
import { amountCell, count, day, empty, facts, figures, listTable, money, tag, time } from '../../parts.ts';
import { accountLink, chargesPath, fileLinks, pageLinks } from '../addresses.ts';
import { exportHandlers, viewPage } from '../view.ts';
import {
  type ChargeRow,
  type Charges,
  charges,
  type ChargesInput,
  exportCharges,
  exportMoneyEvents,
} from '../views/charges.ts';
import type { OverageRow } from '../views/overage.ts';
import { overageAddress, overageFigures, phaseTags, rowsOfSums } from './overage.ts';

/** One account's overage of a billing period, charge by charge, each with its event. */

export const show = viewPage(charges, {
  title: 'Overage of an account',
  section: 'overage',
  content: (shown, _visit, _dependencies, input) => html`${ofPeriod(shown.period)} ${list(shown, input)}`,
});

export const files = exportHandlers(exportCharges);
export const filesOfEvents = exportHandlers(exportMoneyEvents);

function ofPeriod(period: OverageRow): Html {
  const { account_id: accountId, period_start: start, month, plan, phase } = period;
  const events = `${chargesPath(period)}/events`;
  const rows = rowsOfSums(period);
  return html`${facts([
    ['Account', html`${accountLink(accountId)}, plan ${plan}`],
    [
      'Billing period',
      html`from ${day(start)} ${tag(phase, phaseTags[phase])}, in <a href="${overageAddress({ month })}">${month}</a>;
        <a href="${overageAddress({ account: accountId })}">all periods of this account</a>`,
    ],
    ['Usage stream', html`<code>${period.stream}</code>`],
    [
      'Events behind its sums',
      html`<a href="${events}.csv" download>Events as CSV</a> <a href="${events}.json" download>Events as JSON</a>:
        fees, invoices and credit notes too, from the log`,
    ],
  ])}
  ${figures(overageFigures(period, (sort) => (sort === 'difference' ? undefined : rows[sort])))}`;
}

function list({ period, rows, next }: Charges, { only, after }: ChargesInput): Html {
  const none = empty(
    html`<p>Nothing was charged beyond the allowance${only === 'corrections' && ', or nothing given back'}.</p>`,
  );
  return html`<h2>Charges and corrections</h2>
    <div class="pages">
      <form method="get" action="${chargesPath(period)}" class="filters">
        ${choices('only', only, [['', 'charges and corrections'], 'charges', 'corrections'], 'What is listed')}
        <button class="second">Show</button>
      </form>
      ${fileLinks('rows', (as) => chargesPath(period, { only }, as))}
    </div>
    ${listTable({ name: 'Charges and corrections', none }, rows, columnsOf(only === undefined))}
    ${pageLinks((from) => chargesPath(period, { only, after: from }), { after, next })}`;
}

const names: Readonly<Record<string, string>> = {
  OverageCharged: 'Charged',
  DownloadVoided: 'Voided',
  ChargeWaived: 'Waived',
};

const columnsOf = (isWhole: boolean): Columns<ChargeRow> => ({
  Time: (row) => time(row.time),
  Event: ({ type, event_id: id, corrects }) =>
    html`<a data-row href="/staff/events/${id}">${names[type] ?? type}</a> ${
        corrects !== null && html`<br /><span class="soft">of <a href="/staff/events/${corrects}">its charge</a></span>`
      }`,
  Download: ({ token, platform, video_id: videoId, event_id: id }) =>
    token !== null &&
    html`<a href="/staff/downloads/${token}?at=${id}"
      >${videoId === null ? html`<code>${token}</code>` : `${platform ?? ''} ${videoId}`}</a
    >`,
  'No. in period': numberCell(({ ordinal }) => (ordinal === null ? '' : count(ordinal))),
  Rate: numberCell(({ rate_cents: rate, rate_version: version }) =>
    rate === null ? '' : html`<span title="${version ?? ''}">${money(rate)}</span>`,
  ),
  Amount: amountCell((row) => row.cents),
  'Running total': isWhole && numberCell(({ running_cents: cents }) => (cents === null ? '' : money(cents))),
  By: by,
});

const actorNames: Readonly<Record<string, string>> = {
  api_key: 'key',
  owner: 'person',
  staff: 'staff',
  system: 'the service,',
};

function by({ actor_type: type, actor_id: id, actor_role: role, actor_reason: reason, reference }: ChargeRow): Html {
  return html`${actorNames[type] ?? type} <code>${id}</code>${role !== null && `, ${role}`}
    ${reason !== null && html`<div class="soft">${reason}${reference !== null && html` (${reference})`}</div>`}`;
}
