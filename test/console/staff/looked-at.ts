import type { Page } from 'playwright-core';
import { waitFor } from '../../support/wait-for.ts';
import type { LookedAt } from '../look-at.ts';
import { type ExampleOfStaff, ownersEmail, today } from './example-of-staff.ts';

/** Every page of the staff console, as it is looked at. */

type By = 'support' | 'finance' | 'admin';

const at =
  (path: string | ((example: ExampleOfStaff) => string)) =>
  (page: Page, example: ExampleOfStaff): Promise<unknown> =>
    page.goto(typeof path === 'string' ? path : path(example));

export const lookedAt: readonly LookedAt<By, ExampleOfStaff>[] = [
  // First, as long as it runs.
  { name: 'staff-download-running', by: 'finance', show: watchDownload },
  { name: 'staff-sign-in', by: 'nobody', show: at('/staff/sign-in') },
  { name: 'staff-start', by: 'finance', show: verifiedAt('/staff') },
  { name: 'staff-found', by: 'finance', show: (page) => search(page, ownersEmail) },
  { name: 'staff-found-nothing', by: 'finance', show: (page) => search(page, 'CASE-9999') },
  { name: 'staff-account', by: 'finance', show: showAccount },
  {
    name: 'staff-history',
    by: 'finance',
    show: at(({ accountId }) => `/staff/accounts/${accountId}/history`),
  },
  {
    name: 'staff-account-downloads',
    by: 'finance',
    show: at(({ accountId }) => `/staff/accounts/${accountId}/downloads`),
  },
  {
    name: 'staff-invoice',
    by: 'finance',
    show: at(({ accountId }) => `/staff/accounts/${accountId}/invoices/2`),
  },
  {
    name: 'staff-credit-line',
    by: 'finance',
    show: at(({ accountId }) => `/staff/accounts/${accountId}/invoices/2/lines/1/credit`),
  },
  { name: 'staff-download-done', by: 'finance', show: at(({ tokens }) => `/staff/downloads/${tokens.done}`) },
  { name: 'staff-download-failed', by: 'finance', show: showFailed },
  { name: 'staff-download-replayed', by: 'finance', show: replay },
  { name: 'staff-event', by: 'finance', show: openEvent },
  { name: 'staff-give-back', by: 'finance', show: at(({ tokens }) => `/staff/downloads/${tokens.given}/correct`) },
  { name: 'staff-corrections', by: 'finance', show: at('/staff/corrections') },
  { name: 'staff-correction-waits', by: 'finance', show: at(({ corrections }) => corrections.waits) },
  { name: 'staff-correction-made', by: 'finance', show: at(({ corrections }) => corrections.made) },
  { name: 'staff-overage', by: 'finance', show: at('/staff/overage?overage=yes') },
  { name: 'staff-charges', by: 'finance', show: at(({ accountId }) => `/staff/overage/${accountId}/2027-02-20`) },
  { name: 'staff-give-back-many', by: 'finance', show: giveBackTicked },
  { name: 'staff-months', by: 'finance', show: verifiedAt('/staff/months') },
  { name: 'staff-month', by: 'finance', show: verifiedAt('/staff/months/2027-01') },
  { name: 'staff-sales-book', by: 'finance', show: showSalesBook },
  { name: 'staff-operation', by: 'admin', show: showBooks },
  { name: 'staff-work', by: 'admin', show: showWork },
  { name: 'staff-notices', by: 'admin', show: showNotices },
  { name: 'staff-people', by: 'admin', show: at('/staff/people') },
  { name: 'staff-person', by: 'admin', show: showPerson },
  { name: 'staff-docs', by: 'support', show: showDocs },
  { name: 'staff-refused', by: 'support', status: 403, show: approve },
  // Last, when its minute is over.
  { name: 'staff-outage', by: 'finance', show: showOutage },
];

/** Puts fixed texts, with as many lines, in place of what another machine or moment changes. */
async function fix(page: Page, texts: Readonly<Record<string, string>>): Promise<void> {
  for (const [selector, text] of Object.entries(texts))
    await page.evaluate(`for (const each of document.querySelectorAll(${JSON.stringify(selector)}))
      each.textContent = ${JSON.stringify(text)};`);
}

/** Invoices of one moment come in either order. */
async function showSalesBook(page: Page): Promise<void> {
  await page.goto('/staff/sales-book?issued=2027-02&state=open');
  await page.evaluate(`for (const body of document.querySelectorAll('tbody'))
    body.append(...[...body.rows].sort((one, other) => one.lastElementChild.textContent.localeCompare(other.lastElementChild.textContent)));`);
}

/**
 * The requests of the past hour are as many as the example took to wait for its downloads. One download reached two thresholds:
 * their warnings come in either order.
 */
async function showAccount(page: Page, { accountId }: ExampleOfStaff): Promise<void> {
  const areSent = async () => {
    await page.goto(`/staff/accounts/${accountId}`);
    return (await page.getByText('not sent yet').count()) === 0;
  };
  await waitFor(areSent, { what: 'the mails of the example to be sent' });
  await fix(page, {
    '.figure:last-child .value': '12 of 500',
    '#notices + .scroll td:nth-child(2) a': '80 % of downloads used',
  });
  await page.evaluate(`document.querySelector('.figure:last-child rect').setAttribute('width', '2.4%')`);
}

async function giveBackTicked(page: Page, { accountId }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/overage/${accountId}/2027-02-20?ticked=all`);
  await page.getByRole('button', { name: 'Give back the ticked charges' }).click();
  await page.getByRole('heading', { level: 1, name: 'Give back' }).waitFor();
}

/** What the verification says changes with each event and second. */
const verdict = {
  '.note p': 'All of the log up to position 150 was verified at 2027-02-24 10:15 UTC, 5 s ago.',
};

function verifiedAt(path: string) {
  return async (page: Page) => {
    await page.goto(path);
    await fix(page, verdict);
  };
}

/** Each look at a page is an event that is verified and projected. */
async function showBooks(page: Page): Promise<void> {
  await page.goto('/staff/operation');
  await fix(page, {
    ...verdict,
    '.figure:first-child .value': '150 events since it began',
    '.figure:first-child code': '150',
    'td:nth-child(2)': '150',
    'td:nth-child(3)': '0',
    'td .tag': 'up to date',
  });
  await page.evaluate(`for (const tag of document.querySelectorAll('td .tag')) tag.className = 'tag good'`);
  await page.evaluate(`document.querySelector('.figure rect').setAttribute('width', '100%')`);
}

/** The download that runs goes on under the picture: what it changes is a copy here. */
async function watchDownload(page: Page, { tokens }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/downloads/${tokens.slow}`);
  await page.getByRole('progressbar').waitFor();
  await page.evaluate(`for (const each of document.querySelectorAll('[data-renewed], [data-follow]')) {
    const copy = each.cloneNode(true);
    delete copy.dataset.renewed;
    each.replaceWith(copy);
  }`);
  // Progress may have come to the answer before the page was loaded, or not.
  await page.evaluate(`{
    document.querySelector('[data-state] progress').value = 40;
    const answer = document.querySelector('#answer code');
    answer.textContent = answer.textContent.replace(/,\\s+"progress": {[^}]*}/, '');
  }`);
  await fix(page, { '[data-state] .soft': ' 40 %, 25 kB/s, 0:15' });
}

/** The download that runs at the beginning has ended, and is counted, when all is as it stays. */
async function showWork(page: Page): Promise<void> {
  const open = async () => {
    await page.goto('/staff/operation/work');
    const text = await page.getByRole('main').innerText();
    return text.includes('0 of 4') && text.includes('28.6 %');
  };
  await waitFor(open, { what: 'the slow download to end', pollMs: 1_000 });
  await fix(page, {
    'th .soft': 'host',
    'tbody tr:first-child td:nth-child(4) div': 'guard',
    'tbody tr:first-child td:nth-child(5) div': 'program 1.0',
  });
}

/** The first characters of a token are drawn by chance. */
async function showPerson(page: Page, { supporterId }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/people/${supporterId}`);
  await fix(page, { '#tokens + .scroll td code': 'rts_xxxxxxxx…' });
}

/** All of the reference is longer than a picture should be: the first of its endpoints is like the others. */
async function showDocs(page: Page): Promise<void> {
  await page.goto('/staff/docs');
  await page.evaluate(`{
    const second = document.querySelectorAll('main h2')[1];
    while (second.nextSibling) second.nextSibling.remove();
    second.remove();
  }`);
}

async function showNotices(page: Page): Promise<void> {
  await page.goto('/staff/operation/notices');
  await fix(page, { 'td:nth-child(2)': '80 % of the downloads are used' });
}

async function search(page: Page, text: string): Promise<void> {
  await page.goto('/staff');
  await page.getByLabel('What do you know?').fill(text);
  await page.getByRole('main').getByRole('button', { name: 'Find' }).click();
  // Its own address, at which it is shown again.
  await page.waitForURL('**/staff/search?for=*');
}

/** The warnings of its account are mailed before or after it is charged: its neighbours are not the same. */
async function fixUsage(page: Page): Promise<void> {
  await fix(page, {
    '[data-key="["]': 'Before: UsageWarningMailed, event 8',
    '[data-key="]"]': 'After: OverageCharged, event 11',
  });
}

async function showFailed(page: Page, { tokens }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/downloads/${tokens.given}`);
  await fixUsage(page);
}

async function replay(page: Page, { tokens }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/downloads/${tokens.given}`);
  for (const link of ['Replay from the beginning', 'one step on', 'one step on'])
    await page.getByRole('link', { name: link }).click();
  await page.getByText('After step 3').waitFor();
  await fixUsage(page);
}

async function openEvent(page: Page, { tokens }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/downloads/${tokens.given}`);
  await page.getByRole('link', { name: 'Charged', exact: true }).click();
  await page.getByRole('heading', { name: 'OverageCharged', level: 1 }).waitFor();
  await fixUsage(page);
  await fix(page, { 'dl:first-of-type > dd:first-of-type > code:last-of-type': '91' });
}

/** An outage is given back when it is over, which is told to the minute. */
async function showOutage(page: Page, { now, failuresEnd }: ExampleOfStaff): Promise<void> {
  await waitFor(() => now() >= failuresEnd, { what: 'the end of the outage', pollMs: 1_000 });
  const to = new Date(failuresEnd).toISOString().slice(0, 16);
  const outage = new URLSearchParams({ platform: 'sample', failure: '', from: `${today}T09:00`, to });
  await page.goto(`/staff/corrections/outage?${outage.toString()}`);
  await page.evaluate(`document.querySelector('input[type=datetime-local][name=to]').value = '${today}T10:15'`);
}

/** Somebody of support who has got the form of somebody of finance. */
async function approve(page: Page, { corrections }: ExampleOfStaff): Promise<void> {
  await page.goto(corrections.waits);
  await page.getByLabel('Reason').fill('it is right');
  await page.evaluate(
    `document.querySelector('button[formaction]').setAttribute('formaction', '${corrections.waits}/approve')`,
  );
  await page.getByRole('button', { name: 'Take it back' }).click();
  await page.getByRole('heading', { name: 'Not for your role' }).waitFor();
}
