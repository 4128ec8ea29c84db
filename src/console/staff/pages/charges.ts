import { type Html, html } from '../../../documents/html.ts';
import { count, day, empty, facts, figures, money, number, numberHead, option, time, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, chargesPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { exportHandlers } from '../export.ts';
import { inputOf, readInput, see, viewerOf } from '../view.ts';
import {
  type ChargeRow,
  type Charges,
  charges,
  type ChargesInput,
  exportCharges,
  exportMoneyEvents,
} from '../views/charges.ts';
import type { OverageRow } from '../views/overage.ts';
import { overageAddress, phaseTags } from './overage.ts';

/** One account's overage of a billing period, charge by charge, each with its event. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const input = readInput(charges.input, inputOf(visit));
  const shown = await see(charges, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: 'Overage of an account',
    section: 'overage',
    content: html`${ofPeriod(shown.period)} ${list(shown, input)}`,
  });
}

export const files = exportHandlers(async (visit: StaffVisit, dependencies: StaffDependencies) => {
  const { only } = readInput(exportCharges.input, inputOf(visit));
  const { period, rows } = await see(exportCharges, viewerOf(visit), dependencies, inputOf(visit));
  return {
    fileName: `overage-${nameOf(period)}`,
    columns: exportCharges.columns,
    about: { of: only ?? 'charges and corrections', period },
    rows,
  };
});

export const filesOfEvents = exportHandlers(async (visit: StaffVisit, dependencies: StaffDependencies) => {
  const { period, rows } = await see(exportMoneyEvents, viewerOf(visit), dependencies, inputOf(visit));
  return {
    fileName: `events-${nameOf(period)}`,
    columns: exportMoneyEvents.columns,
    about: { of: 'events behind the sums', period },
    rows,
  };
});

const nameOf = ({ account_id: accountId, period_start: start }: OverageRow) => `${accountId}-${start.slice(0, 10)}`;

const eventsAddress = (period: OverageRow) => `${chargesPath(period)}/events`;

function ofPeriod(period: OverageRow): Html {
  const { account_id: accountId, period_start: start, month, plan, phase } = period;
  const corrections = (cents: number) =>
    html`<a href="${chargesPath(period, { only: 'corrections' })}">${money(cents)}</a>`;
  return html`${facts([
    ['Account', html`${accountLink(accountId)}, plan ${plan}`],
    [
      'Billing period',
      html`from ${day(start)} <span class="tag ${phaseTags[phase]}">${phase}</span>, in
        <a href="${overageAddress({ month })}">${month}</a>;
        <a href="${overageAddress({ account: accountId })}">all periods of this account</a>`,
    ],
    ['Usage stream', html`<code>${period.stream}</code>`],
    [
      'Events behind its sums',
      html`<a href="${eventsAddress(period)}.csv" download>Events as CSV</a>
        <a href="${eventsAddress(period)}.json" download>Events as JSON</a>: fees, invoices and credit notes too, from
        the log`,
    ],
  ])}
  ${figures([
    {
      name: 'Charged',
      value: html`<a href="${chargesPath(period, { only: 'charges' })}">${money(period.charged_cents)}</a>`,
      of: `for ${count(period.charges)} ${period.charges === 1 ? 'download' : 'downloads'}`,
    },
    {
      name: 'Given back',
      value: money(period.voided_cents + period.waived_cents + period.credited_overage_cents),
      details: [
        html`Voided ${corrections(period.voided_cents)}`,
        html`Waived ${corrections(period.waived_cents)}`,
        html`Credited after the invoice
          <a href="/staff/accounts/${accountId}">${money(period.credited_overage_cents)}</a>`,
      ],
    },
    {
      name: 'Invoiced',
      value: html`<a href="/staff/accounts/${accountId}">${money(period.invoiced_overage_cents)}</a>`,
    },
    {
      name: 'Difference',
      value: money(period.difference_cents),
      details: ['Charged less voided, waived and invoiced: no invoice carries it yet'],
    },
  ])}`;
}

function list({ period, rows, next }: Charges, { only, after }: ChargesInput): Html {
  const goOn = next !== null && html`<a rel="next" href="${chargesPath(period, { only, after: next })}">Next page</a>`;
  const table =
    rows.length === 0
      ? empty(
          html`<p>Nothing was charged beyond the allowance${only === 'corrections' && ', or nothing given back'}.</p>`,
        )
      : wideTable(
          'Charges and corrections',
          [
            'Time',
            'Event',
            'Download',
            ...['No. in period', 'Rate', 'Amount', ...(only === undefined ? ['Running total'] : [])].map(numberHead),
            'By',
          ],
          rows.map((row) => chargeRow(row, only === undefined)),
        );
  return html`<h2>Charges and corrections</h2>
    <div class="pages">
      <form method="get" action="${chargesPath(period)}" class="filters">
        <select name="only" aria-label="What is listed">
          ${option('', 'charges and corrections', only ?? '')} ${option('charges', 'charges', only ?? '')}
          ${option('corrections', 'corrections', only ?? '')}
        </select>
        <button class="second">Show</button>
      </form>
      <p class="pages">
        <span>All of these rows:</span> <a href="${chargesPath(period, { only }, '.csv')}" download>CSV</a>
        <a href="${chargesPath(period, { only }, '.json')}" download>JSON</a>
      </p>
    </div>
    ${table}
    <p class="pages">
      ${after !== undefined && html`<a href="${chargesPath(period, { only })}">First page</a>`} ${goOn}
    </p>`;
}

const names: Readonly<Record<string, string>> = {
  OverageCharged: 'Charged',
  DownloadVoided: 'Voided',
  ChargeWaived: 'Waived',
};

function chargeRow(row: ChargeRow, isWhole: boolean): Html {
  const { token, platform, video_id: videoId, rate_cents: rate, ordinal, running_cents: running } = row;
  return html`<tr>
    <td>${time(row.time)}</td>
    <td>
      <a data-row href="/staff/events/${row.event_id}">${names[row.type] ?? row.type}</a>
      ${row.corrects !== null && html`<br /><span class="soft">of <a href="/staff/events/${row.corrects}">its charge</a></span>`}
    </td>
    <td>
      ${
        token !== null &&
        html`<a href="/staff/downloads/${token}?at=${row.event_id}"
          >${videoId === null ? html`<code>${token}</code>` : `${platform ?? ''} ${videoId}`}</a
        >`
      }
    </td>
    ${number(ordinal === null ? '' : count(ordinal))}
    ${number(rate === null ? '' : html`<span title="${row.rate_version ?? ''}">${money(rate)}</span>`)}
    ${number(money(row.cents))} ${isWhole && number(running === null ? '' : money(running))}
    <td>${by(row)}</td>
  </tr>`;
}

const actorNames: Readonly<Record<string, string>> = {
  api_key: 'key',
  owner: 'person',
  staff: 'staff',
  system: 'the service,',
};

const by = ({ actor_type: type, actor_id: id, actor_role: role, actor_reason: reason, reference }: ChargeRow): Html =>
  html`${actorNames[type] ?? type} <code>${id}</code>${role !== null && `, ${role}`}
    ${reason !== null && html`<div class="soft">${reason}${reference !== null && html` (${reference})`}</div>`}`;
