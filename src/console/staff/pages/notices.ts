import { html } from '../../../documents/html.ts';
import { empty, time, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import { type Notices, notices } from '../views/notices.ts';
import { parts } from './operation.ts';

/** What owners of accounts are told by mail: warnings, reached caps, documents. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { notices: shown, next } = await see(notices, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: 'Warnings and mails',
    section: 'operation',
    content: html`${parts('notices')}
    ${
      shown.length === 0
        ? empty(html`<p>Nobody was told anything yet.</p>`)
        : wideTable(
            'Warnings and mails',
            ['Time', 'What', 'Account', 'Mails'],
            shown.map(
              (notice) =>
                html`<tr>
                  <td><a data-row href="/staff/events/${notice.event_id}">${time(notice.time)}</a></td>
                  <td>${whatOf(notice)}</td>
                  <td>${accountLink(notice.account_id)}</td>
                  <td>
                    <span class="tag ${notice.waiting === 0 ? 'good' : 'warn'}"
                      >${notice.waiting === 0 ? 'sent' : `${String(notice.waiting)} not sent yet`}</span
                    >
                  </td>
                </tr>`,
            ),
          )
    }
    ${
      next !== null &&
      html`<p class="pages">
        <a rel="next" href="/staff/operation/notices?before=${encodeURIComponent(next)}">Older</a>
      </p>`
    }`,
  });
}

function whatOf({ kind, pool, threshold_percent: percent }: Notices['notices'][number]): string {
  if (kind === 'document') return 'invoice or credit note';
  if (kind === 'overage_cap') return 'the overage cap is reached';
  return `${String(percent)} % of the ${pool ?? ''} are used`;
}
