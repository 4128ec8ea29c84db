import { recordLimits } from '../../../../projections/queries/account-record.ts';
import { formatDays } from '../../../documents/days.ts';
import { type Html, html, numberCell } from '../../../documents/html.ts';
import { limitParts } from '../../../domain/key-limits.ts';
import { maxKeysOf, planName, type PlanNames } from '../../../domain/plans.ts';
import { costText, videoCell } from '../../download-list.ts';
import { folded } from '../../form-fields.ts';
import {
  actorText,
  amountCell,
  bar,
  count,
  countCell,
  day,
  empty,
  facts,
  type Figure,
  figures,
  listTable,
  money,
  rowName,
  statusTag,
  tag,
  time,
  usedFigure,
} from '../../parts.ts';
import { summedTable } from '../../summed-table.ts';
import type { StaffVisit } from '../../visit.ts';
import { accountPath, correctionPath, documentPath, downloadPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { viewPage } from '../view.ts';
import { account as accountView, type AccountShown } from '../views/account.ts';
import { momentField } from './account-downloads.ts';
import { accountLife } from './account-life.ts';
import { correctionTag } from './corrections.ts';
import { mailsTag, noticePath, noticeText } from './notices.ts';

/** One account: what it has bought and used, who belongs to it, and what was given back. */

export const show = viewPage(accountView, {
  title: ({ billing, people, account_id: id }) => billing.name ?? people.find(({ removed }) => !removed)?.email ?? id,
  section: 'search',
  content,
});

const partNames = {
  downloads: 'Downloads',
  periods: 'Billing periods',
  terms: 'Terms',
  life: 'Suspension and closing',
  keys: 'API keys',
  people: 'People',
  documents: 'Invoices and credit notes',
  corrections: 'Corrections',
  notices: 'Warnings and mails',
  looks: 'Looked at by staff',
} as const;

const head = (part: keyof typeof partNames): Html => html`<h2 id="${part}">${partNames[part]}</h2>`;

function content(account: AccountShown, visit: StaffVisit, { planNames }: StaffDependencies): Html {
  const { account_id: id, billing } = account;
  const { name, address_lines: lines, country, tax_id: taxId } = billing;
  const found = visit.query.get('found');
  const billedTo = [name ?? '', ...lines, country ?? '', taxId ?? ''].filter((line) => line !== '').join(', ');
  return html`${facts([
      ['Account', html`<code>${id}</code>, opened ${time(account.opened_at)}`],
      name !== null && ['Billed to', billedTo],
      account.coming !== null && [
        'Coming',
        html`From ${day(account.coming.from)} on: ${planName(account.coming.terms.plan, planNames)},
        ${money(account.coming.terms.fee_cents)} a month, ${count(account.coming.terms.downloads_limit)} downloads, cap
        ${moneyOr(account.coming.terms.overage_cap_cents, 'none')}`,
      ],
    ])}
    ${figures(usageFigures(account, planNames))}
    <p class="pages"><a href="${accountPath(id)}/history">History: who changed what</a></p>
    <nav class="pages" aria-label="Parts of this page">
      ${Object.entries(partNames).map(([part, name]) => html`<a href="#${part}">${name}</a>`)}
    </nav>
    ${head('downloads')}
    <form method="get" action="${accountPath(id)}/downloads" class="filters">
      ${momentField('')} <button class="second">Show around this time</button>
      <a href="${accountPath(id)}/downloads">All downloads</a>
    </form>
    ${downloads(account)} ${head('periods')} ${periods(account, planNames)} ${head('terms')}
    ${termsHistory(account, planNames)} ${head('life')} ${accountLife(account, visit)} ${head('keys')}
    ${keys(account, found)} ${head('people')} ${people(account, found)} ${head('documents')} ${documents(account)}
    ${head('corrections')} ${corrections(account)} ${head('notices')} ${notices(account)} ${head('looks')}
    ${accessRecords(account)}`;
}

function usageFigures({ terms, usage, keys: all }: AccountShown, planNames: PlanNames): Figure[] {
  if (!terms || !usage) return [{ name: 'Usage', value: 'not known yet', details: ['The read model is behind.'] }];
  const { downloads: pool, metadata, overage_cents: cents, overage_downloads: beyond } = usage;
  const cap = terms.overage_cap_cents;
  const busiest = all.reduce((most, key) => Math.max(most, key.used_in_past_hour), 0);
  return [
    usedFigure(`Downloads, ${formatDays(usage.period_start, usage.period_end)}`, pool, {
      label: 'Downloads of the plan',
      details: [`Plan ${planName(terms.plan, planNames)}`],
    }),
    {
      name: 'Overage',
      value: money(cents),
      of: `for ${count(beyond)} ${beyond === 1 ? 'download' : 'downloads'}`,
      bar: cap !== null && bar('Overage cap, in cents', cents, cap),
      details: [cap === null ? 'No cap is set' : `Cap ${money(cap)}${cents >= cap ? ', reached' : ''}`],
    },
    usedFigure('Metadata requests', metadata),
    usedFigure(
      'Requests in the past hour',
      { used: busiest, limit: terms.hourly_limit },
      {
        label: 'Requests of the busiest key',
        details: ['By the busiest of its keys: each has an hour of its own'],
      },
    ),
  ];
}

const downloads = ({ downloads: newest }: AccountShown): Html =>
  listTable({ name: 'Newest downloads', none: empty(html`<p>No download yet.</p>`) }, newest, {
    Queued: (job) => time(job.queued_at),
    Video: (job) =>
      html`${videoCell(job, downloadPath(job.token))}
      ${job.title !== null && html`<div class="soft">${job.platform} ${job.video_id}</div>`}`,
    State: (job) => statusTag(job.status),
    Cost: numberCell(costText),
  });

const periods = ({ account_id: id, periods: newest }: AccountShown, planNames: PlanNames): Html =>
  summedTable(
    { name: 'Billing periods', none: html`<p class="soft">None that the read model knows yet.</p>` },
    newest,
    {
      From: rowName(
        (row) =>
          html`<a data-row href="/staff/overage/${id}/${row.period_start.slice(0, 10)}">${day(row.period_start)}</a>`,
      ),
      Plan: (row) => planName(row.plan, planNames),
      Books: (row) => row.phase,
      'Overage downloads': countCell((row) => row.charges),
      Charged: amountCell((row) => row.charged_cents),
      'Voided, waived': amountCell((row) => -row.voided_cents - row.waived_cents),
      Credited: amountCell((row) => -row.credited_overage_cents),
      Invoiced: amountCell((row) => row.invoiced_overage_cents),
      'Not invoiced': amountCell((row) => row.difference_cents),
      Fees: amountCell((row) => row.fee_cents + row.fee_difference_cents),
    },
    { isWhole: newest.length < recordLimits.periods },
  );

const termsHistory = ({ terms_history: history }: AccountShown, planNames: PlanNames): Html =>
  listTable('Terms', history, {
    'From the period': rowName(({ from }) => day(from)),
    Plan: ({ terms }) => planName(terms.plan, planNames),
    Downloads: countCell(({ terms }) => terms.downloads_limit),
    'Overage price': numberCell(({ terms }) => moneyOr(terms.overage_cents, 'refused')),
    'Price list': ({ terms }) => terms.rate_version,
    Cap: numberCell(({ terms }) => moneyOr(terms.overage_cap_cents, 'none')),
    'Metadata requests': countCell(({ terms }) => terms.metadata_limit),
    'Monthly fee': amountCell(({ terms }) => terms.fee_cents),
    'Requests an hour': countCell(({ terms }) => terms.hourly_limit),
    Keys: countCell(({ terms }) => maxKeysOf(terms)),
  });

const moneyOr = (cents: number | null, none: string) => (cents === null ? none : money(cents));

const shownKeys = 20;

/** What a search has found on this page. */
const marked = (id: string, text: string, found: string | null): Html =>
  id === found ? html`<mark>${text}</mark>` : html`${text}`;

/** @param found the key that a search has found */
function keys({ keys: all, terms }: AccountShown, found: string | null): Html {
  const inForce = all.filter(({ revoked_at: revokedAt }) => revokedAt === null);
  const revoked = all.filter(({ revoked_at: revokedAt }) => revokedAt !== null).toReversed();
  const limit = terms ? ` of ${count(terms.hourly_limit)}` : '';
  const table = (name: string, listed: typeof all) =>
    listTable(name, listed, {
      Label: rowName(({ label }) => (label === '' ? html`<span class="soft">no label</span>` : label)),
      Key: (key) => html`<code>${marked(key.key_id, `${key.key_prefix}…`, found)}</code>`,
      Id: ({ key_id: id }) => html`<code id="${id}">${id}</code>`,
      Limit: listed[0]?.revoked_at === null && (({ limit }) => limit !== null && limitParts(limit).join(', ')),
      Issued: (key) => time(key.created_at),
      'Newest request': ({ last_used_at: at }) => (at === null ? html`<span class="soft">never</span>` : time(at)),
      'Requests in the past hour':
        listed[0]?.revoked_at === null && numberCell((key) => `${count(key.used_in_past_hour)}${limit}`),
      Revoked: listed[0]?.revoked_at !== null && (({ revoked_at: at }) => at !== null && time(at)),
    });
  const tables = (name: string, listed: typeof all) =>
    html`${table(name, listed.slice(0, shownKeys))}
    ${
      listed.length > shownKeys &&
      folded(`${count(listed.length - shownKeys)} more`, table(`More: ${name}`, listed.slice(shownKeys)))
    }`;
  return html`${inForce.length === 0 ? html`<p class="soft">No key is in force.</p>` : tables('Keys in force', inForce)}
  ${revoked.length > 0 && folded(`Revoked keys (${count(revoked.length)})`, tables('Revoked keys', revoked))}`;
}

/** @param found the person whom a search has found */
const people = ({ people: all }: AccountShown, found: string | null): Html =>
  listTable('People', all, {
    'E-mail address': rowName(({ person_id: id, email }) => marked(id, email ?? '(erased)', found)),
    Id: ({ person_id: id }) => html`<code id="${id}">${id}</code>`,
    Since: ({ since }) => time(since),
    '': ({ removed }) => removed && tag('removed'),
  });

type Document = AccountShown['documents'][number];

const documents = ({ account_id: accountId, documents: newest }: AccountShown): Html =>
  summedTable(
    { name: 'Invoices and credit notes', none: html`<p class="soft">None was issued yet.</p>` },
    newest,
    {
      Issued: (document) => time(document.time),
      Number: rowName(
        ({ type, number, document_number: name }) =>
          html`<a data-row href="${documentPath(type, { accountId, number })}">${name}</a>`,
      ),
      About: aboutOf,
      Amount: amountCell(({ type, total_cents: cents }) => (type === 'InvoiceIssued' ? cents : -cents)),
    },
    { isWhole: newest.length < recordLimits.documents },
  );

const aboutOf = ({ type, period_start: start, invoice_number: invoice, reference, actor }: Document): Html | false =>
  type === 'InvoiceIssued'
    ? start !== null && html`for the period from ${day(start)}`
    : html`of invoice ${invoice ?? ''} under ${reference ?? ''}, by ${actorText(actor)}`;

const corrections = ({ account_id: id, corrections: newest }: AccountShown): Html =>
  html`${summedTable(
      { name: 'Corrections', none: html`<p class="soft">Nobody has asked to give anything back in the console.</p>` },
      newest,
      {
        Asked: (each) => time(each.asked_at),
        Reference: (each) => html`<a data-row href="${correctionPath(each.correction_id)}">${each.reference}</a>`,
        State: (each) => correctionTag(each.status),
        By: (each) => actorText(each.asked_by),
        Amount: amountCell((each) => each.made_cents ?? each.cents),
      },
      { isWhole: newest.length < recordLimits.corrections },
    )}
    <p><a href="/staff/corrections?account=${id}">All that was given back to this account</a></p>`;

const notices = ({ account_id: id, notices: newest, keys: all }: AccountShown): Html =>
  listTable({ name: 'Warnings and mails', none: html`<p class="soft">None yet.</p>` }, newest, {
    Time: (notice) => time(notice.time),
    What: (notice) =>
      html`<a data-row href="${noticePath({ ...notice, account_id: id })}"
        >${noticeText(notice, keyOf(notice, all))}</a
      >`,
    Mails: mailsTag,
  });

/** As the list of keys names it. */
function keyOf({ limited_key_id: id }: AccountShown['notices'][number], keys: AccountShown['keys']): string | null {
  const key = keys.find(({ key_id: keyId }) => keyId === id);
  return key ? [key.label, `${key.key_prefix}…`].filter((part) => part !== '').join(' ') : id;
}

const accessRecords = ({ looks: newest }: AccountShown): Html =>
  listTable(
    { name: 'Looked at by staff', none: html`<p class="soft">Nobody, that the read model knows of yet.</p>` },
    newest,
    {
      Time: (look) => time(look.time),
      Member: (look) => html`<code>${look.staff_id}</code>`,
      Page: ({ token, page }) =>
        token === null ? page : html`<a data-row href="${downloadPath(token)}">${page} ${token}</a>`,
    },
  );
