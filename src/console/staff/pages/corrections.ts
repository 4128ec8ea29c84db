import { type Html, html, numberCell } from '../../../documents/html.ts';
import type { CorrectionStatus } from '../../../domain/correction-requests.ts';
import { choiceField } from '../../form-fields.ts';
import { amountCell, count, empty, money, tag, time } from '../../parts.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import type { StaffVisit } from '../../visit.ts';
import { accountLink, correctionPath, eventPath, fileLinks, olderLink, withQuery } from '../addresses.ts';
import { exportHandlers, viewPage } from '../view.ts';
import {
  type Corrections,
  corrections,
  exportCorrections,
  isOfAsked,
  type ShownActor,
  type ShownCorrection,
} from '../views/corrections.ts';
import type { WaitingCorrection } from '../views/waiting-corrections.ts';

/** Who gave what back, why and with whose approval; and what waits for somebody. */

export const show = viewPage(corrections, {
  title: 'Corrections',
  section: 'corrections',
  filters,
  content: (shown, visit, _dependencies, { before, ...given }) => {
    const isWhole = shown.next === null && before === undefined;
    const ofAsked = isOfAsked(given);
    return html`<p>
        Did a platform or the service fail for many?
        <a href="/staff/corrections/outage">Give back the charges of an outage</a>
      </p>
      ${waiting(shown, visit)}
      <h2>${ofAsked ? 'Asked for here' : 'Given back'}</h2>
      ${filters(visit)} ${fileLinks('rows', (as) => withQuery(`/staff/corrections${as}`, given))}
      ${ofAsked ? asked(shown.asked, visit, { isWhole }) : givenBack(shown.given_back, visit, { isWhole })}
      ${olderLink('/staff/corrections', visit.query, shown.next)}`;
  },
});

export const files = exportHandlers(exportCorrections);

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

function filters({ query }: StaffVisit): Html {
  return html`<form method="get" action="/staff/corrections" class="filters">
    ${choiceField('Show', 'list', query.get('list'), [
      ['', 'what was given back'],
      ['asked', 'what was asked for here'],
    ])}
    <label
      >Account <input name="account" value="${query.get('account') ?? ''}" maxlength="60" placeholder="acc_…"
    /></label>
    ${choiceField('State', 'status', query.get('status'), [['', 'any'], ...Object.entries(statusNames)])}
    <label>Asked by <input name="by" value="${query.get('by') ?? ''}" maxlength="60" placeholder="stf_…" /></label>
    <label>Reference <input name="reference" value="${query.get('reference') ?? ''}" maxlength="100" /></label>
    <button class="second">Filter</button>
    ${[...query.values()].some((value) => value !== '') && html`<a href="/staff/corrections">All</a>`}
  </form>`;
}

/** In the order of a correction's life. */
const statusNames: Readonly<Record<CorrectionStatus, string>> = {
  asked: 'waits for approval',
  permitted: 'being given back',
  refused: 'refused',
  made: 'given back',
  failed: 'not possible',
};

const statusKinds = { asked: 'warn', permitted: 'info', refused: 'bad', made: 'good', failed: 'bad' } as const;

export const correctionTag = (status: CorrectionStatus): Html => tag(statusNames[status], statusKinds[status]);

/** What of charges is asked back already: beside what asks it back. */
export const waitingNote = (waiting: readonly WaitingCorrection[]): Html | false =>
  waiting.length > 0 &&
  html`<ul class="plain">
    ${waiting.map(
      ({ correction_id: id, cents, reference }) =>
        html`<li>
          ${tag('asked back', 'warn')} A correction of ${money(cents)}
          <a href="${correctionPath(id)}">waits for approval</a> (${reference})
        </li>`,
    )}
  </ul>`;

/** @param ownId of the reader */
export const who = ({ id, role, reason: _reason }: ShownActor, ownId: string): Html =>
  html`${id.startsWith('stf_') ? html`<a href="/staff/corrections?by=${id}"><code>${id}</code></a>` : html`<code>${id}</code>`}
    <span class="soft">${role}${id === ownId && ', you'}</span>`;

/** What a correction is about, in a few words with links. */
export function whatOf(given: ShownCorrection): Html {
  const { kind, account_id: accountId, token, charges, stream, invoice_number: invoice, line } = given;
  if (kind === 'credit_line')
    return html`line ${line ?? ''} of
      <a href="/staff/accounts/${accountId}/invoices/${invoice ?? ''}">invoice ${invoice ?? ''}</a>`;
  if (token !== null) return html`charge of <a href="/staff/downloads/${token}">a download</a>`;
  return html`${charges} charges of <code>${stream ?? ''}</code>`;
}

/** @param areAlike whether all are in the same state, which the heading says */
const asked = (
  rows: readonly ShownCorrection[],
  { session }: StaffVisit,
  { areAlike = false, isWhole = true } = {},
): Html =>
  summedTable(
    { name: 'Corrections', none: empty(html`<p>No correction matches.</p>`) },
    rows,
    {
      Asked: (row) => html`<a data-row href="${correctionPath(row.correction_id)}">${time(row.asked_at)}</a>`,
      Account: (row) => accountLink(row),
      What: whatOf,
      Amount: amountCell((row) => row.made_cents ?? row.cents),
      State: !areAlike && ((row) => correctionTag(row.status)),
      By: (row) => who(row.asked_by, session.staffId),
      'Reference and reason': ({ reference, asked_by: by }) => referenceAndReason(reference, by),
    },
    { isWhole },
  );

const referenceAndReason = (reference: string | null, { reason }: ShownActor): Html =>
  html`<span class="typed">${reference ?? ''}</span>
    <div class="soft">${reason}</div>`;

const typeNames = {
  ChargeWaived: 'waived',
  DownloadCreditReturned: 'credit returned',
  CreditNoteIssued: 'credit note',
} as const;

const givenBack = (rows: Corrections['given_back'], { session }: StaffVisit, { isWhole }: { isWhole: boolean }): Html =>
  summedTable(
    { name: 'Given back', none: empty(html`<p>Nothing was given back.</p>`) },
    rows,
    {
      Time: (row) => html`<a data-row href="${eventPath(row.event_id)}">${time(row.time)}</a>`,
      Account: (row) => accountLink(row),
      What: ({ type, number, token, charges }) =>
        html`${typeNames[type]}${number !== null && ` ${String(number)}`}${
          token !== null && html`, <a href="/staff/downloads/${token}">download</a>`
        }${charges > 1 && `, ${count(charges)} charges`}`,
      Amount: numberCell(({ cents }) => (cents === 0 ? '1 credit' : money(cents))),
      By: (row) => who(row.by, session.staffId),
      'Approved by': (row) => approval(row, session.staffId),
      'Reference and reason': ({ reference, by }) => referenceAndReason(reference, by),
    },
    { isWhole, sums: { Amount: money(sumOf(rows, ({ cents }) => cents)) } },
  );

function approval(
  { correction_id: id, approved_by: approved }: Corrections['given_back'][number],
  ownId: string,
): Html | string {
  if (id === null) return '';
  const link = html`<a href="/staff/corrections/${id}">${approved ? 'approved' : 'within the limit'}</a>`;
  return approved ? html`${who(approved, ownId)}, ${link}` : link;
}
