import { z } from 'zod';
import { periodMoney } from '../../../../projections/period-money.ts';
import { readAuditState } from '../../../../projections/queries/audit-state.ts';
import { listWorkerNotices } from '../../../../projections/queries/operation.ts';
import { readWhatWaits, type WhatWaits } from '../../../../projections/queries/what-waits.ts';
import { type Html, html } from '../../../documents/html.ts';
import { failureReasons } from '../../../domain/failure-reasons.ts';
import { formTokenField } from '../../form-fields.ts';
import { actorText, amountCell, day, listTable, time } from '../../parts.ts';
import { partsAtFault } from '../../parts-of-service.ts';
import { summedTable } from '../../summed-table.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, chargesPath, correctionPath, downloadPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { verdictNote, type Verification, verificationOf } from '../verification.ts';
import { seeAs, type View } from '../view.ts';
import { readParts } from '../views/parts.ts';
import { findable } from './search-by-id-or-number.ts';

/** Where staff begin: one box for everything that they are told, and what waits for them. */

const shown = 10;

const view: View<object, { waiting: WhatWaits; verification: Verification }> = {
  input: z.object({}),
  read: async (dependencies) => {
    const { pool, now, closingGraceSeconds } = dependencies;
    const endedBefore = new Date(Date.parse(now()) - closingGraceSeconds * 1_000).toISOString();
    const waiting = await readWhatWaits(pool, { endedBefore, limit: shown });
    const { state, reached } = await readAuditState(pool, periodMoney.name);
    return { waiting, verification: await verificationOf(dependencies, state, { reached }) };
  },
  named: ({ waiting: { corrections, periods, failures: failed } }) => [...corrections, ...periods, ...failed],
};

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { waiting, verification } = await seeAs(visit, view, dependencies);
  const parts = await readParts(dependencies, await listWorkerNotices(dependencies.pool));
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
      ${partsAtFault(parts)} ${verdictNote(verification)} ${whatWaits(waiting)}
      <h2>Newest failures</h2>
      ${failures(waiting.failures)}`,
  });
}

function whatWaits({ corrections, periods }: WhatWaits): Html {
  if (corrections.length === 0 && periods.length === 0)
    return html`<p>No correction waits for a second person, and all books that should be closed are.</p>`;
  return html`${corrections.length > 0 && html`<h3>Corrections that wait for a second person</h3>`}
  ${summedTable(
    { name: 'Corrections that wait for a second person', none: html`` },
    corrections,
    {
      Asked: (row) => time(row.asked_at),
      Account: (row) => accountLink(row),
      Reference: (row) => html`<a data-row href="${correctionPath(row.correction_id)}">${row.reference}</a>`,
      By: ({ asked_by: by }) =>
        html`${actorText(by)}${by.type === 'staff' && html`<div class="soft">${by.reason}</div>`}`,
      Amount: amountCell((row) => row.cents),
    },
    { isWhole: corrections.length < shown },
  )}
  ${
    periods.length > 0 &&
    html`<h3>Books that should be closed</h3>
      ${listTable('Books that should be closed', periods, {
        Period: (row) => html`<a data-row href="${chargesPath(row)}">${day(row.period_start)}</a>`,
        Ended: (row) => time(row.ended_at),
        Account: (row) => accountLink(row),
      })}`
  }`;
}

/** Without the videos: what somebody downloads is looked at on the page of the download. */
const failures = (newest: WhatWaits['failures']): Html =>
  listTable({ name: 'Newest failures', none: html`<p>None that is known here.</p>` }, newest, {
    Failed: (row) => time(row.finished_at),
    Platform: (row) => row.platform,
    Reason: ({ token, failure_reason: reason }) =>
      html`<a data-row href="${downloadPath(token)}">${failureReasons[reason].message}</a>`,
    Account: (row) => accountLink(row),
  });
