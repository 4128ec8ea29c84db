import { formatDays } from '../../../documents/days.ts';
import { type Html, html } from '../../../documents/html.ts';
import { failureReasons } from '../../../domain/failure-reasons.ts';
import { maxKeysOf, type Terms } from '../../../domain/plans.ts';
import { costText } from '../../download-list.ts';
import {
  actorText,
  bar,
  count,
  day,
  empty,
  facts,
  type Figure,
  figures,
  money,
  number,
  numberHead,
  statusTag,
  time,
  wideTable,
} from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountPath, correctionPath, documentPath, downloadPath, eventPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import { account as accountView, type AccountShown } from '../views/account.ts';
import { momentField } from './account-downloads.ts';
import { correctionTag } from './corrections.ts';

/** One account: what it has bought and used, who belongs to it, and what was given back. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const account = await see(accountView, viewerOf(visit), dependencies, inputOf(visit));
  const [owner] = account.people.filter(({ removed }) => !removed);
  return page({
    title: account.billing.name ?? owner?.email ?? account.account_id,
    section: 'search',
    content: content(account),
  });
}

const partNames = {
  downloads: 'Downloads',
  periods: 'Billing periods',
  terms: 'Terms',
  keys: 'API keys',
  people: 'People',
  documents: 'Invoices and credit notes',
  corrections: 'Corrections',
  notices: 'Warnings and mails',
  looks: 'Looked at by staff',
} as const;

const head = (part: keyof typeof partNames): Html => html`<h2 id="${part}">${partNames[part]}</h2>`;

function content(account: AccountShown): Html {
  const { account_id: id, billing } = account;
  const { name, address_lines: lines, country, tax_id: taxId } = billing;
  const billedTo = [name ?? '', ...lines, country ?? '', taxId ?? ''].filter((line) => line !== '').join(', ');
  return html`${facts([
      ['Account', html`<code>${id}</code>, opened ${time(account.opened_at)}`],
      name !== null && ['Billed to', billedTo],
    ])}
    ${figures(usageFigures(account))}
    <nav class="pages" aria-label="Parts of this page">
      ${Object.entries(partNames).map(([part, name]) => html`<a href="#${part}">${name}</a>`)}
    </nav>
    ${head('downloads')}
    <form method="get" action="${accountPath(id)}/downloads" class="filters">
      ${momentField('')} <button class="second">Show around this time</button>
      <a href="${accountPath(id)}/downloads">All downloads</a>
    </form>
    ${downloads(account)} ${head('periods')} ${periods(account)} ${head('terms')} ${termsHistory(account)}
    ${head('keys')} ${keys(account)} ${head('people')} ${people(account)} ${head('documents')} ${documents(account)}
    ${head('corrections')} ${corrections(account)} ${head('notices')} ${notices(account)} ${head('looks')}
    ${accessRecords(account)}`;
}

function usageFigures({ terms, usage, keys: all }: AccountShown): Figure[] {
  if (!terms || !usage) return [{ name: 'Usage', value: 'not known yet', details: ['The read model is behind.'] }];
  const { downloads: pool, metadata, overage_cents: cents, overage_downloads: beyond } = usage;
  const cap = terms.overage_cap_cents;
  const busiest = all.reduce((most, key) => Math.max(most, key.used_in_past_hour), 0);
  return [
    {
      name: `Downloads, ${formatDays(usage.period_start, usage.period_end)}`,
      value: count(pool.used),
      of: `of ${count(pool.limit)}`,
      bar: bar('Downloads of the plan', pool.used, pool.limit),
      details: [`Plan ${terms.plan}`],
    },
    {
      name: 'Overage',
      value: money(cents),
      of: `for ${count(beyond)} ${beyond === 1 ? 'download' : 'downloads'}`,
      ...(cap !== null && { bar: bar('Overage cap, in cents', cents, cap) }),
      details: [cap === null ? 'No cap is set' : `Cap ${money(cap)}${cents >= cap ? ', reached' : ''}`],
    },
    {
      name: 'Metadata requests',
      value: count(metadata.used),
      of: `of ${count(metadata.limit)}`,
      bar: bar('Metadata requests', metadata.used, metadata.limit),
    },
    {
      name: 'Requests in the past hour',
      value: count(busiest),
      of: `of ${count(terms.hourly_limit)}`,
      bar: bar('Requests of the busiest key', busiest, terms.hourly_limit),
      details: ['By the busiest of its keys: each has an hour of its own'],
    },
  ];
}

function downloads({ downloads: newest }: AccountShown): Html {
  if (newest.length === 0) return empty(html`<p>No download yet.</p>`);
  const rows = newest.map((job) => {
    return html`<tr>
      <td>${time(job.queued_at)}</td>
      <td>
        <a data-row href="${downloadPath(job.token)}">${job.platform} ${job.video_id}</a>
        ${job.failure_reason !== null && html`<div class="soft">${failureReasons[job.failure_reason].message}</div>`}
      </td>
      <td>${statusTag(job.status)}</td>
      ${number(costText(job))}
    </tr>`;
  });
  return wideTable('Newest downloads', ['Queued', 'Video', 'State', numberHead('Cost')], rows);
}

function periods({ account_id: id, periods: newest }: AccountShown): Html {
  if (newest.length === 0) return html`<p class="soft">None that the read model knows yet.</p>`;
  const rows = newest.map(
    (period) =>
      html`<tr>
        <th scope="row">
          <a data-row href="/staff/overage/${id}/${period.period_start.slice(0, 10)}">${day(period.period_start)}</a>
        </th>
        <td>${period.plan}</td>
        <td>${period.phase}</td>
        ${number(count(period.charges))} ${number(money(period.charged_cents))}
        ${number(money(-period.voided_cents - period.waived_cents))} ${number(money(-period.credited_overage_cents))}
        ${number(money(period.invoiced_overage_cents))} ${number(money(period.difference_cents))}
        ${number(money(period.fee_cents + period.fee_difference_cents))}
      </tr>`,
  );
  const heads = [
    ...['From', 'Plan', 'Books'],
    ...['Overage downloads', 'Charged', 'Voided, waived', 'Credited', 'Invoiced', 'Not invoiced', 'Fees'].map(
      numberHead,
    ),
  ];
  return wideTable('Billing periods', heads, rows);
}

function termsHistory({ terms_history: history }: AccountShown): Html {
  const rows = history.map(
    ({ from, terms }) =>
      html`<tr>
        <th scope="row">${day(from)}</th>
        <td>${terms.plan}</td>
        ${number(count(terms.downloads_limit))}
        ${number(terms.overage_cents === null ? 'refused' : money(terms.overage_cents))}
        <td>${terms.rate_version}</td>
        ${number(capText(terms))} ${number(count(terms.metadata_limit))} ${number(money(terms.fee_cents))}
        ${number(count(terms.hourly_limit))} ${number(count(maxKeysOf(terms)))}
      </tr>`,
  );
  const heads = [
    ...['From the period', 'Plan'],
    numberHead('Downloads'),
    numberHead('Overage price'),
    'Price list',
    ...['Cap', 'Metadata requests', 'Monthly fee', 'Requests an hour', 'Keys'].map(numberHead),
  ];
  return wideTable('Terms', heads, rows);
}

const capText = ({ overage_cap_cents: cap }: Terms) => (cap === null ? 'none' : money(cap));

const shownKeys = 20;

function keys({ keys: all, terms }: AccountShown): Html {
  const inForce = all.filter(({ revoked_at: revokedAt }) => revokedAt === null);
  const revoked = all.filter(({ revoked_at: revokedAt }) => revokedAt !== null).toReversed();
  const row = (key: AccountShown['keys'][number]) =>
    html`<tr id="${key.key_id}">
      <th scope="row">${key.label === '' ? html`<span class="soft">no label</span>` : key.label}</th>
      <td><code>${key.key_prefix}…</code></td>
      <td><code>${key.key_id}</code></td>
      <td>${time(key.created_at)}</td>
      <td>${key.last_used_at === null ? html`<span class="soft">never</span>` : time(key.last_used_at)}</td>
      ${
        key.revoked_at === null
          ? number(`${count(key.used_in_past_hour)}${terms ? ` of ${count(terms.hourly_limit)}` : ''}`)
          : html`<td>${time(key.revoked_at)}</td>`
      }
    </tr>`;
  const heads = ['Label', 'Key', 'Id', 'Issued', 'Newest request'];
  const table = (name: string, last: string | Html, listed: typeof all) =>
    html`${wideTable(name, [...heads, last], listed.slice(0, shownKeys).map(row))}
    ${
      listed.length > shownKeys &&
      html`<details>
        <summary>${count(listed.length - shownKeys)} more</summary>
        ${wideTable(`More: ${name}`, [...heads, last], listed.slice(shownKeys).map(row))}
      </details>`
    }`;
  return html`${inForce.length === 0 ? html`<p class="soft">No key is in force.</p>` : table('Keys in force', numberHead('Requests in the past hour'), inForce)}
  ${
    revoked.length > 0 &&
    html`<details>
      <summary>Revoked keys (${count(revoked.length)})</summary>
      ${table('Revoked keys', 'Revoked', revoked)}
    </details>`
  }`;
}

function people({ people: all }: AccountShown): Html {
  const rows = all.map(
    ({ person_id: id, email, since, removed }) =>
      html`<tr>
        <th scope="row">${email}</th>
        <td><code>${id}</code></td>
        <td>${time(since)}</td>
        <td>${removed && html`<span class="tag">removed</span>`}</td>
      </tr>`,
  );
  return wideTable('People', ['E-mail address', 'Id', 'Since', ''], rows);
}

function documents({ account_id: accountId, documents: newest }: AccountShown): Html {
  if (newest.length === 0) return html`<p class="soft">None was issued yet.</p>`;
  const rows = newest.map(
    (document) =>
      html`<tr>
        <td>${time(document.time)}</td>
        <th scope="row">
          <a data-row href="${documentPath(document.type, { accountId, number: document.number })}"
            >${document.document_number}</a
          >
        </th>
        <td>
          ${
            document.type === 'InvoiceIssued'
              ? document.period_start !== null && html`for the period from ${day(document.period_start)}`
              : html`of invoice ${document.invoice_number ?? ''} under ${document.reference ?? ''}, by
                ${actorText(document.actor)}`
          }
        </td>
        ${number(money(document.type === 'InvoiceIssued' ? document.total_cents : -document.total_cents))}
      </tr>`,
  );
  return wideTable('Invoices and credit notes', ['Issued', 'Number', 'About', numberHead('Amount')], rows);
}

function corrections({ account_id: id, corrections: newest }: AccountShown): Html {
  const all = html`<p><a href="/staff/corrections?account=${id}">All that was given back to this account</a></p>`;
  if (newest.length === 0)
    return html`<p class="soft">Nobody has asked to give anything back in the console.</p>
      ${all}`;
  const rows = newest.map(
    (each) =>
      html`<tr>
        <td>${time(each.asked_at)}</td>
        <td><a data-row href="${correctionPath(each.correction_id)}">${each.reference}</a></td>
        <td>${correctionTag(each.status)}</td>
        <td>${actorText(each.asked_by)}</td>
        ${number(money(each.made_cents ?? each.cents))}
      </tr>`,
  );
  return html`${wideTable('Corrections', ['Asked', 'Reference', 'State', 'By', numberHead('Amount')], rows)} ${all}`;
}

function notices({ notices: newest }: AccountShown): Html {
  if (newest.length === 0) return html`<p class="soft">None yet.</p>`;
  const rows = newest.map(
    (notice) =>
      html`<tr>
        <td>${time(notice.time)}</td>
        <td><a data-row href="${eventPath(notice.event_id)}">${noticeText(notice)}</a></td>
        <td>
          ${
            notice.waiting === 0
              ? html`<span class="tag good">sent</span>`
              : html`<span class="tag warn">${count(notice.waiting)} not sent yet</span>`
          }
        </td>
      </tr>`,
  );
  return wideTable('Warnings and mails', ['Time', 'What', 'Mails'], rows);
}

function noticeText({ kind, pool, threshold_percent: percent }: AccountShown['notices'][number]): string {
  if (kind === 'overage_cap') return 'The overage cap was reached';
  return kind === 'document' ? 'Invoice or credit note' : `${String(percent ?? 0)} % of ${pool ?? ''} used`;
}

function accessRecords({ looks: newest }: AccountShown): Html {
  if (newest.length === 0) return html`<p class="soft">Nobody, that the read model knows of yet.</p>`;
  const rows = newest.map(
    ({ time: at, staff_id: staffId, token, page: seen }) =>
      html`<tr>
        <td>${time(at)}</td>
        <td><code>${staffId}</code></td>
        <td>${token === null ? seen : html`<a data-row href="${downloadPath(token)}">${seen} ${token}</a>`}</td>
      </tr>`,
  );
  return wideTable('Looked at by staff', ['Time', 'Member', 'Page'], rows);
}
