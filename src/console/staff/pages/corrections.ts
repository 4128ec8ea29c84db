import { type Html, html } from '../../../documents/html.ts';
import { type CorrectionStatus, correctionStatuses } from '../../../domain/correction-requests.ts';
import { empty, money, number, numberHead, option, time, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, olderPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import type { ShownActor, ShownCorrection } from '../views/correction.ts';
import { type Corrections, corrections } from '../views/corrections.ts';

/** Who gave what back, why and with whose approval; and what waits for somebody. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const shown = await see(corrections, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: 'Corrections',
    section: 'corrections',
    content: html`<p>
        Did a platform or the service fail for many?
        <a href="/staff/corrections/outage">Give back the charges of an outage</a>
      </p>
      ${waiting(shown, visit)}
      <h2>${isOfAsked(visit) ? 'Asked for here' : 'Given back'}</h2>
      ${filters(visit)} ${isOfAsked(visit) ? asked(shown.asked, visit) : givenBack(shown.given_back, visit)}
      ${shown.next !== null && html`<p class="pages"><a rel="next" href="${olderPath('/staff/corrections', visit.query, shown.next)}">Older</a></p>`}`,
  });
}

const isOfAsked = ({ query }: StaffVisit) =>
  query.get('list') === 'asked' || ['status', 'by', 'reference'].some((name) => (query.get(name) ?? '') !== '');

function waiting({ waiting: waits, unfinished }: Corrections, visit: StaffVisit): Html {
  return html`<h2>Waiting for a second person</h2>
    ${waits.length === 0 ? empty(html`<p>Nothing waits for an approval.</p>`) : asked(waits, visit, { areAlike: true })}
    ${
      unfinished.length > 0 &&
      html`<h2>Permitted, and not given back yet</h2>
        <p class="soft">The service gives these back within a minute. One that stays here needs a look at its log.</p>
        ${asked(unfinished, visit, { areAlike: true })}`
    }`;
}

const filters = ({ query }: StaffVisit): Html =>
  html`<form method="get" action="/staff/corrections" class="filters">
    <label
      >Show
      <select name="list">
        ${option('', 'what was given back', query.get('list') ?? '')}
        ${option('asked', 'what was asked for here', query.get('list'))}
      </select></label
    >
    <label>Account <input name="account" value="${query.get('account') ?? ''}" maxlength="60" /></label>
    <label
      >State
      <select name="status">
        ${option('', 'any', query.get('status') ?? '')}
        ${correctionStatuses.map((status) => option(status, statusNames[status], query.get('status')))}
      </select></label
    >
    <label>Asked by <input name="by" value="${query.get('by') ?? ''}" maxlength="60" placeholder="stf_…" /></label>
    <label>Reference <input name="reference" value="${query.get('reference') ?? ''}" maxlength="100" /></label>
    <button class="second">Filter</button>
    ${[...query.values()].some((value) => value !== '') && html`<a href="/staff/corrections">All</a>`}
  </form>`;

const statusNames: Readonly<Record<CorrectionStatus, string>> = {
  asked: 'waits for approval',
  permitted: 'being given back',
  refused: 'refused',
  made: 'given back',
  failed: 'not possible',
};

const statusKinds: Readonly<Record<CorrectionStatus, string>> = {
  asked: 'warn',
  permitted: 'info',
  refused: 'bad',
  made: 'good',
  failed: 'bad',
};

export const correctionTag = (status: CorrectionStatus): Html =>
  html`<span class="tag ${statusKinds[status]}">${statusNames[status]}</span>`;

/** @param ownId of the reader */
export const who = ({ id, role, reason: _reason }: ShownActor, ownId: string): Html =>
  html`${id.startsWith('stf_') ? html`<a href="/staff/corrections?by=${id}"><code>${id}</code></a>` : html`<code>${id}</code>`}
    <span class="soft">${role}${id === ownId && ', you'}</span>`;

/** What a correction is about, in a few words with links. */
export function whatOf(given: ShownCorrection): Html {
  const { kind, account_id: accountId, token, charges, stream, invoice_number: invoice, line } = given;
  if (kind === 'credit_line')
    return html`line ${line ?? ''} of
      <a href="/staff/accounts/${accountId}/invoices/${invoice ?? ''}">invoice ${invoice ?? ''}</a>${
        given.charge_event_id !== null && html`, one charge`
      }`;
  if (token !== null) return html`charge of <a href="/staff/downloads/${token}">a download</a>`;
  return html`${charges} charges of <code>${stream ?? ''}</code>`;
}

/** @param areAlike whether all are in the same state, which the heading says */
function asked(rows: readonly ShownCorrection[], { session }: StaffVisit, { areAlike = false } = {}): Html {
  if (rows.length === 0) return empty(html`<p>No correction matches.</p>`);
  return wideTable(
    'Corrections',
    ['Asked', 'Account', 'What', numberHead('Amount'), ...(areAlike ? [] : ['State']), 'By', 'Reference and reason'],
    rows.map(
      (row) =>
        html`<tr>
          <td><a data-row href="/staff/corrections/${row.correction_id}">${time(row.asked_at)}</a></td>
          <td>${accountLink(row.account_id)}</td>
          <td>${whatOf(row)}</td>
          ${number(money(row.made_cents ?? row.cents))} ${!areAlike && html`<td>${correctionTag(row.status)}</td>`}
          <td>${who(row.asked_by, session.staffId)}</td>
          <td>
            ${row.reference}
            <div class="soft">${row.asked_by.reason}</div>
          </td>
        </tr>`,
    ),
  );
}

const typeNames = {
  ChargeWaived: 'waived',
  DownloadCreditReturned: 'credit returned',
  CreditNoteIssued: 'credit note',
} as const;

function givenBack(rows: Corrections['given_back'], { session }: StaffVisit): Html {
  if (rows.length === 0) return empty(html`<p>Nothing was given back.</p>`);
  return wideTable(
    'Given back',
    ['Time', 'Account', 'What', numberHead('Amount'), 'By', 'Approved by', 'Reference and reason'],
    rows.map(
      (row) =>
        html`<tr>
          <td><a data-row href="/staff/events/${row.event_id}">${time(row.time)}</a></td>
          <td>${accountLink(row.account_id)}</td>
          <td>
            ${typeNames[row.type]}${row.number !== null && ` ${String(row.number)}`}${
              row.token !== null && html`, <a href="/staff/downloads/${row.token}">download</a>`
            }
          </td>
          ${number(row.cents === 0 ? '1 credit' : money(row.cents))}
          <td>${who(row.by, session.staffId)}</td>
          <td>${approval(row, session.staffId)}</td>
          <td>
            ${row.reference ?? ''}
            <div class="soft">${row.by.reason}</div>
          </td>
        </tr>`,
    ),
  );
}

function approval(
  { correction_id: id, approved_by: approved }: Corrections['given_back'][number],
  ownId: string,
): Html | string {
  if (id === null) return '';
  const link = html`<a href="/staff/corrections/${id}">${approved ? 'approved' : 'within the limit'}</a>`;
  return approved ? html`${who(approved, ownId)}, ${link}` : link;
}
