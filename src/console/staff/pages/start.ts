import { periodMoney } from '../../../../projections/period-money.ts';
import { readAuditState } from '../../../../projections/queries/audit-state.ts';
import { readWhatWaits, type WhatWaits } from '../../../../projections/queries/what-waits.ts';
import { type Html, html } from '../../../documents/html.ts';
import { failureReasons } from '../../../domain/failure-reasons.ts';
import { formTokenField } from '../../form-fields.ts';
import { actorText, day, money, number, numberHead, time, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, correctionPath, downloadPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { verdictNote, verificationOf } from '../verification.ts';
import { findable } from './search-by-id-or-number.ts';

/** Where staff begin: one box for everything that they are told, and what waits for them. */

const shown = 10;

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { pool, now, closingGraceSeconds } = dependencies;
  const endedBefore = new Date(Date.parse(now()) - closingGraceSeconds * 1_000).toISOString();
  const waiting = await readWhatWaits(pool, { endedBefore, limit: shown });
  const { state, reached } = await readAuditState(pool, periodMoney.name);
  const verification = await verificationOf(dependencies, state, { reached });
  return page({
    title: 'Search',
    section: 'search',
    content: html`<form method="post" action="/staff/search" class="stack">
        ${formTokenField(visit.session)}
        <label
          >What do you know?
          <input type="text" name="search" maxlength="2048" autocomplete="off" required />
          <span class="hint">${findable}</span>
        </label>
        <button>Find</button>
      </form>
      <h2>Needs attention</h2>
      ${verdictNote(verification)} ${whatWaits(waiting)}
      <h2>Newest failures</h2>
      ${failures(waiting.failures)}`,
  });
}

function whatWaits({ corrections, periods }: WhatWaits): Html {
  if (corrections.length === 0 && periods.length === 0)
    return html`<p>No correction waits for a second person, and all books that should be closed are.</p>`;
  return html`${corrections.length > 0 && wideTable('Corrections that wait for a second person', ['Asked', 'Reference', 'By', numberHead('Amount')], corrections.map(correctionRow))}
  ${
    periods.length > 0 &&
    html`<h3>Books that should be closed</h3>
      ${wideTable('Books that should be closed', ['Period', 'Ended', 'Account'], periods.map(periodRow))}`
  }`;
}

const correctionRow = (row: WhatWaits['corrections'][number]): Html =>
  html`<tr>
    <td>${time(row.asked_at)}</td>
    <td><a data-row href="${correctionPath(row.correction_id)}">${row.reference}</a></td>
    <td>
      ${actorText(row.asked_by)}${row.asked_by.type === 'staff' && html`<div class="soft">${row.asked_by.reason}</div>`}
    </td>
    ${number(money(row.cents))}
  </tr>`;

const periodRow = ({ account_id: account, period_start: start, period_end: end }: WhatWaits['periods'][number]): Html =>
  html`<tr>
    <td><a data-row href="/staff/overage/${account}/${start.slice(0, 10)}">${day(start)}</a></td>
    <td>${time(end)}</td>
    <td>${accountLink(account)}</td>
  </tr>`;

/** Without the videos: what somebody downloads is looked at on the page of the download. */
function failures(newest: WhatWaits['failures']): Html {
  if (newest.length === 0) return html`<p>None that is known here.</p>`;
  const rows = newest.map(
    ({ token, account_id: account, platform, failure_reason: reason, finished_at: at }) =>
      html`<tr>
        <td>${time(at)}</td>
        <td>${platform}</td>
        <td>
          <div class="reason"><a data-row href="${downloadPath(token)}">${failureReasons[reason].message}</a></div>
        </td>
        <td>${accountLink(account)}</td>
      </tr>`,
  );
  return wideTable('Newest failures', ['Failed', 'Platform', 'Reason', 'Account'], rows);
}
