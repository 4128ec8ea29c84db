import { type Columns, type Html, html, numberCell } from '../../../documents/html.ts';
import { jobStatuses } from '../../../domain/download-job.ts';
import { planName, type PlanNames } from '../../../domain/plans.ts';
import { choiceField, sentFilters } from '../../form-fields.ts';
import {
  actionCell,
  amountCell,
  day,
  empty,
  facts,
  figures,
  money,
  statusTag,
  tag,
  timeToTheSecond,
} from '../../parts.ts';
import { summedTable } from '../../summed-table.ts';
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
  content: (shown, { query }, { planNames }, input) =>
    html`${ofPeriod(shown.period, planNames)} ${list(shown, input, { isTicked: query.get('ticked') === 'all' })}`,
  filters: (visit) => {
    const { account = '', day: start = '' } = visit.params;
    return filterForm({ account_id: account, period_start: start }, sentFilters(visit));
  },
});

export const files = exportHandlers(exportCharges);
export const filesOfEvents = exportHandlers(exportMoneyEvents);

function ofPeriod(period: OverageRow, planNames: PlanNames): Html {
  const { account_id: accountId, period_start: start, month, plan, phase } = period;
  const events = `${chargesPath(period)}/events`;
  const rows = rowsOfSums(period);
  return html`${facts([
    ['Account', html`${accountLink(period)}, plan ${planName(plan, planNames)}`],
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

/** @param isTicked whether all boxes of the page are ticked */
function list(
  { period, rows, next }: Charges,
  { after, ...given }: ChargesInput,
  { isTicked }: { isTicked: boolean },
): Html {
  const { only, job, search, on } = given;
  const filters = { only, job, search, on };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const none = empty(html`<p>${isFiltered ? 'Nothing matches.' : 'Nothing was charged beyond the allowance.'}</p>`);
  const table = summedTable(
    { name: 'Charges and corrections', none },
    rows,
    columnsOf({ isWhole: !isFiltered, isTicked }),
    { isWhole: next === null && after === undefined },
  );
  return html`<h2>Charges and corrections</h2>
    ${filterForm(period, filters)} ${fileLinks('rows', (as) => chargesPath(period, filters, as))}
    ${
      rows.some((row) => leftCents(row) > 0)
        ? html`<form method="get" action="${chargesPath(period)}/give-back">
            <p class="pages">
              <button>Give back the ticked charges…</button>
              <a href="${chargesPath(period, { ...filters, after, ...(isTicked ? {} : { ticked: 'all' }) })}"
                >${isTicked ? 'Tick none' : 'Tick all that are shown'}</a
              >
            </p>
            ${table}
          </form>`
        : table
    }
    ${pageLinks((from) => chargesPath(period, { ...filters, after: from }), { after, next })}`;
}

type SentFilters = Partial<Record<'only' | 'job' | 'search' | 'on', string | undefined>>;

function filterForm(period: Parameters<typeof chargesPath>[0], sent: SentFilters): Html {
  const { only, job, search, on } = sent;
  const isFiltered = [only, job, search, on].some((value) => value !== undefined);
  return html`<form method="get" action="${chargesPath(period)}" class="filters">
    ${choiceField('What is listed', 'only', only, [['', 'charges and corrections'], 'charges', 'corrections'])}
    ${choiceField('Download', 'job', job, [['', 'in any state'], ...jobStatuses])}
    <label>Address, video id or token <input name="search" value="${search ?? ''}" maxlength="2048" /></label>
    <label>Day (UTC) <input type="date" name="on" value="${on ?? ''}" /></label>
    <button class="second">Show</button>
    ${isFiltered && html`<a href="${chargesPath(period)}">All</a>`}
  </form>`;
}

/** What may still be given back of a charge, as far as the read models have it; 0 for a correction. */
const leftCents = (row: ChargeRow): number =>
  row.type === 'OverageCharged' ? row.cents - row.voided_cents - row.waived_cents - row.credited_cents : 0;

/** What became of a charge. */
export function chargeTag(row: ChargeRow): Html | false {
  const { type, voided_cents: voided, waived_cents: waived, credited_cents: credited } = row;
  if (type !== 'OverageCharged') return false;
  if (voided > 0) return tag('voided', 'info');
  if (waived + credited === 0) return tag('kept');
  const how = [waived > 0 && 'waived', credited > 0 && 'credited'].filter((each) => each !== false).join(' and ');
  const left = leftCents(row);
  return left > 0
    ? html`${tag(`partly ${how}`, 'info')} <span class="soft">${money(left)} left</span>`
    : tag(how, 'info');
}

/** The download of a charge: its page, its state and why it has failed, the address of its video and its token. */
export function downloadCell(row: ChargeRow): Html | false {
  const { token, url, platform, video_id: videoId, job_status: status, failure_reason: reason } = row;
  if (token === null) return false;
  return html`<a href="/staff/downloads/${token}?at=${row.event_id}"
      >${videoId === null ? 'a download' : `${platform ?? ''} ${videoId}`}</a
    >
    ${status !== null && statusTag(status)} ${reason !== null && html`<span class="soft">${reason}</span>`}
    <div class="soft typed">${url ?? ''}</div>
    <div><code>${token}</code></div>`;
}

const names: Readonly<Record<string, string>> = {
  OverageCharged: 'Charged',
  DownloadVoided: 'Voided',
  ChargeWaived: 'Waived',
};

const columnsOf = ({ isWhole, isTicked }: { isWhole: boolean; isTicked: boolean }): Columns<ChargeRow> => ({
  'Give back': actionCell(
    (row) =>
      leftCents(row) > 0 &&
      html`<input
        type="checkbox"
        name="charge"
        value="${row.revision}"
        aria-label="Give back ${row.token ?? ''}"
        ${isTicked && html`checked`}
      />`,
  ),
  'Time, and by whom': (row) =>
    html`${timeToTheSecond(row.time)}
      <div class="soft">${by(row)}</div>`,
  Event: (row) =>
    html`<a data-row href="/staff/events/${row.event_id}">${names[row.type] ?? row.type}</a> ${
        row.corrects !== null &&
        html`<span class="soft">of <a href="/staff/events/${row.corrects}">its charge</a></span>`
      }
      <div>${chargeTag(row)}</div>`,
  // Before what takes much room: a figure is never cut.
  Amount: amountCell((row) => row.cents),
  'Running total': isWhole && numberCell(({ running_cents: cents }) => (cents === null ? '' : money(cents))),
  Download: downloadCell,
});

const actorNames: Readonly<Record<string, string>> = {
  api_key: 'key',
  owner: 'person',
  staff: 'staff',
  system: 'the service,',
};

function by({ actor_type: type, actor_id: id, actor_role: role, actor_reason: reason, reference }: ChargeRow): Html {
  return html`${actorNames[type] ?? type} <code>${id}</code>${role !== null && `, ${role}`}
    ${reason !== null && html`<div>${reason}${reference !== null && html` (${reference})`}</div>`}`;
}
