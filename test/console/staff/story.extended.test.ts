import { randomUUID } from 'node:crypto';
import { text as textOf } from 'node:stream/consumers';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatCents } from '../../../src/domain/cents.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { freePort } from '../../../src/embedded/free-port.ts';
import { browserOfFile, isWithoutBrowser, type Session } from '../../support/browser.ts';
import { clockOffset } from '../../support/clock-offset.ts';
import { queue } from '../../support/downloads.ts';
import type { ServiceProcess } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Browser as CookieBrowser } from '../browser.ts';
import { type Hands, keyboard, pointer } from '../hands.ts';
import { type Complaint, makeComplaint } from './complaint.ts';
import { startLiveDoor } from './live-door.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

/** The main jobs of staff in the console, against the whole running service. */

const staffPort = await freePort();
const door = await startLiveDoor(staffPort);
const service = await staffOfFile({ STAFF_PORT: String(staffPort), STAFF_URL: door.url });
const { installation } = service;
let worker: ServiceProcess;
let dispatcher: ServiceProcess;

const main = (page: Page) => page.getByRole('main');
const says = (page: Page, text: string | RegExp) => main(page).getByText(text).first().waitFor();
const row = (page: Page, text: string) => main(page).getByRole('row').filter({ hasText: text });

/** Cookies of a browser that has signed in, for a real one. */
function sessionOf({ cookies, origin }: CookieBrowser): Session {
  const place = { domain: new URL(origin).hostname, path: '/', expires: -1 };
  const attributes = { httpOnly: true, secure: false, sameSite: 'Lax' } as const;
  return { cookies: [...cookies].map(([name, value]) => ({ name, value, ...place, ...attributes })), origins: [] };
}

describe.skipIf(isWithoutBrowser)('staff', () => {
  const browser = browserOfFile();
  beforeAll(async () => {
    dispatcher = await installation.startRole('dispatcher');
    worker = await installation.startRole('worker');
  });
  afterAll(() => door.close());

  const pageOf = async (person: StaffMember) =>
    browser.open(service.staffUrl, { session: sessionOf(await service.newStaffSession(person)) });

  test('finance goes from the largest overage to its charges, one event, and the file of what is shown', async () => {
    const accounts = [await overageAccount(1), await overageAccount(4), await overageAccount(2)];
    const page = await pageOf(await service.invite('finance'));
    const hands = pointer(page);
    await page.goto('/staff');
    await hands.open('Overage');
    await hands.follow('Charges');
    await page.waitForURL(/sort=charges&order=desc/);
    const table = main(page).getByRole('region', { name: 'Overage by account' });
    const shown = await cellsOf(table, [0, 3, 4]);
    expect(shown[0]).toEqual([`owner@example.com ${accounts[1] ?? ''}`, '4', '$1.00']);
    const ofFile = await csvOf(page, ['customer', 'account_id', 'charges', 'charged_cents']);
    expect(ofFile.map(([customer, id, ...amounts]) => [`${customer ?? ''} ${id ?? ''}`, ...amounts])).toEqual(shown);

    await row(page, accounts[1] ?? '')
      .getByRole('link', { name: 'owner@example.com' })
      .click();
    await page.getByRole('heading', { name: 'Charges and corrections' }).waitFor();
    const charges = main(page).getByRole('region', { name: 'Charges and corrections' });
    await charges.locator('a[data-row]').nth(2).click();
    await page.getByRole('heading', { level: 1, name: 'OverageCharged' }).waitFor();
    const eventId = page.url().split('/').at(-1) ?? '';
    await says(page, eventId);
    await says(page, 'follows');
    await page.goBack();
    const listed = await cellsOf(charges, [3, 4]);
    expect(listed.at(-1)).toEqual(['$0.25', '$1.00']);
    expect(await csvOf(page, ['cents', 'running_cents'])).toEqual(listed);
    expect(await csvOf(page, ['event_id'])).toContainEqual([eventId]);
  });

  test('support watches a download from the queue to its end', async () => {
    await worker.stop();
    const { key } = await installation.openAccount('enterprise');
    const { request_token: token } = await queue(service.api.url, key, { url: installation.sampleUrl('slow') });
    const page = await pageOf(await service.invite('support'));
    const isKnown = async () => (await service.sql('select from jobs where token = $1', [token])).length === 1;
    await waitFor(isKnown, { what: 'the download in the read model' });
    await page.goto(`/staff/downloads/${token}`);
    await says(page, 'It has waited for a worker');
    await page.evaluate('globalThis.isTheSamePage = true');
    await page.locator('#steps').scrollIntoViewIfNeeded();
    await page.keyboard.press('j');
    const walkedTo = await page.evaluate('document.activeElement.href');
    const scrolledTo = await page.evaluate('scrollY');

    worker = await installation.startRole('worker');
    const steps = page.locator('[data-step]');
    for (const title of ['Taken by a worker:', 'Started']) await steps.filter({ hasText: title }).waitFor();
    await main(page).getByRole('progressbar').waitFor();

    // What happens meanwhile is told when the browser is back.
    door.cut();
    const [started] = await service.sql<{ position: string }>(
      "select position from job_timeline where token = $1 and type = 'JobStarted'",
      [token],
    );
    await waitFor(
      async () => (await service.sql("select from jobs where token = $1 and status = 'done'", [token])).length === 1,
      { what: 'the end of the download' },
    );
    expect(await steps.filter({ hasText: 'Finished:' }).count()).toBe(0);
    door.open();
    await steps.filter({ hasText: 'Finished:' }).waitFor();
    expect(door.resumedAfter()).toBe(started?.position);
    await main(page).getByText('done', { exact: true }).waitFor();
    await says(page, /in all/);
    await says(page, '"status": "done"');
    expect(await page.evaluate('[globalThis.isTheSamePage, document.activeElement.href, scrollY]')).toEqual([
      ...[true, walkedTo, scrolledTo],
    ]);
    const items = await steps.all();
    const ids = (await Promise.all(items.map((item) => item.getAttribute('id')))).filter((id) => id !== null);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('support reads every page of the way without script', async () => {
    const complaint = await makeComplaint(service);
    const page = await browser.open(service.staffUrl, { hasScript: false });
    const hands = pointer(page);
    await page.goto(await service.printedPath(await service.invite('finance')));
    await hands.press('Sign in');
    await says(page, 'What do you know?');
    await hands.fill('What do you know?', complaint.email);
    await hands.press('Find');
    await says(page, complaint.email);
    await hands.fill('At about (UTC)', await minuteOf(complaint));
    await hands.press('Show around this time');
    await row(page, 'The video is private.').getByRole('link').click();
    await says(page, 'Failed:');
    await hands.follow('Money');
    await says(page, /^Waived$/);
    await hands.follow('All');
    await hands.follow('Replay from the beginning');
    await says(page, /After step 1 of/);
    await hands.follow('one step on');
    await says(page, /After step 2 of/);
    await hands.follow('End the replay');
    await hands.follow('Before: ');
    await says(page, 'Cause and effect');
    await page.goBack();
    await hands.follow('Give back');
    await hands.fill('Amount in US dollars', '0.10');
    await hands.fill('Reference', 'STORY-7');
    await hands.fill('Reason', 'the film was cut');
    await hands.press('Give it back');
    await says(page, '$0.10 is given back.');
    await main(page).locator('a[data-row]').click();
    await says(page, 'ChargeWaived');

    const open = async (section: string, text: string | RegExp) => {
      await hands.open(section);
      await says(page, text);
    };
    await open('Corrections', 'STORY-7');
    await row(page, 'STORY-7').getByRole('link', { name: 'within the limit' }).click();
    await says(page, '$0.10 is given back.');
    await open('Overage', 'Overage of 20');
    await main(page).getByLabel('only with overage').check();
    await hands.press('Show');
    await hands.follow(complaint.email);
    await main(page).getByLabel('What is listed').selectOption('corrections');
    await hands.press('Show');
    await says(page, 'STORY-7');
    await open('Months', /20\d\d-\d\d/);
    await hands.follow(/20\d\d-\d\d/);
    await says(page, 'Waive');
    await open('Operation', 'Verification');
    await hands.follow('Queue and workers');
    await says(page, 'The video is private.');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await says(page, 'You are signed out.');
  });

  test('a complaint is found, understood and given back with the keyboard alone', async () => {
    const complaint = await makeComplaint(service);
    await settle(complaint, { handsOf: keyboard, search: searchByKey, fillTime: typeTime });
    await expectDraft(complaint);
  });

  test('twelve disputed charges take at most 20 actions in all, of support and of finance', async () => {
    const { accountId, email } = await disputedAccount();
    let actions = 0;
    const counted = (page: Page): Hands => {
      const hands = clicking(page);
      const count =
        <Given extends unknown[]>(act: (...given: Given) => Promise<void>) =>
        (...given: Given) => {
          actions += 1;
          return act(...given);
        };
      return {
        open: count(hands.open),
        fill: count(hands.fill),
        press: count(hands.press),
        follow: count(hands.follow),
      };
    };
    const support = await pageOf(await service.invite('support'));
    const hands = counted(support);
    await support.goto('/staff');
    await hands.fill('What do you know?', email);
    await hands.press('Find');
    await support.waitForURL(/\/staff\/accounts\//);
    await hands.follow(/^\w{3} 20\d\d-\d\d-\d\d$/);
    await support.getByRole('heading', { name: 'Charges and corrections' }).waitFor();
    await hands.fill('Address, video id or token', installation.sampleUrl('private'));
    await hands.press('Show');
    await hands.follow('Tick all that are shown');
    expect(await main(support).getByRole('checkbox').count()).toBe(12);
    await hands.press('Give back the ticked charges');
    await says(support, '$3.00');
    await hands.fill('Reference', 'STORY-12');
    await hands.fill('Reason', 'The video is private: nothing was delivered.');
    await hands.press('Ask to give back $3.00');
    await says(support, 'it waits for another person, of finance');

    const finance = await pageOf(await service.invite('finance'));
    const second = counted(finance);
    await finance.goto('/staff');
    await second.follow('STORY-12');
    expect(await main(finance).getByRole('region', { name: 'Charges', exact: true }).locator('tbody tr').count()).toBe(
      12,
    );
    await second.fill('Reason', 'checked');
    await second.press('Approve and give back $3.00');
    await says(finance, '$3.00 is given back.');
    expect(actions).toBe(13);
    const waived = (await installation.readLog(`usage-${accountId}`)).filter(({ type }) => type === 'ChargeWaived');
    expect(waived).toHaveLength(12);
  });

  // The last one: its dispatcher ends the month of every account.
  test('a complaint takes six clicks, and is on the next invoice', async () => {
    const complaint = await makeComplaint(service);
    const clicks = await settle(complaint, { handsOf: clicking, search: searchByClick, fillTime });
    expect(clicks).toBe(6);
    await expectDraft(complaint);

    await dispatcher.stop();
    await installation.allowShiftedClock();
    await installation.startRole('dispatcher', {
      ...clockOffset(32 * 86_400),
      CLOSING_GRACE_SECONDS: '0',
    });
    const { accountId } = complaint;
    const isIssued = async () =>
      (await service.sql('select from invoices where account_id = $1 and covers = $2', [accountId, 'period'])).length >
      0;
    await waitFor(isIssued, { what: 'the invoice of the month' });
    const owner = await ownersPage(complaint);
    await owner.goto('/console/invoices/2');
    await row(owner, 'Charges waived').getByText('-$0.25').waitFor();
    await row(owner, 'STORY-8').filter({ hasText: 'nothing was delivered' }).getByText('-$0.20').waitFor();
    await says(owner, '$19.00');
  });

  interface Teller {
    handsOf: (page: Page) => Hands;
    search: (page: Page, text: string) => Promise<void>;
    fillTime: (page: Page, minute: string) => Promise<void>;
  }

  /** From an e-mail address and a time to the money that is given back. @returns clicks of the person of support */
  async function settle(complaint: Complaint, { handsOf, search, fillTime: fillIn }: Teller): Promise<number> {
    const support = await pageOf(await service.invite('support'));
    await support.addInitScript(countClicks);
    const hands = handsOf(support);
    await support.goto('/staff');
    await search(support, complaint.email);
    await support.waitForURL(/\/staff\/accounts\//);
    await fillIn(support, await minuteOf(complaint));
    await support.keyboard.press('Enter');
    await support.waitForURL(/\/downloads\?at=/);
    await says(support, 'The video is private.');
    await hands.follow('sample private');
    await says(support, 'The video is private.');
    await says(support, 'Failed:');
    await says(support, '$0.25');
    await hands.follow('Give back');
    await hands.fill('Reference', 'STORY-8');
    await support.keyboard.press('Tab');
    await support.keyboard.type('The video is private: nothing was delivered.');
    await hands.press('Ask to give it back');
    await says(support, 'it waits for another person, of finance');
    const clicks = Number(await support.evaluate("sessionStorage.getItem('clicks')"));

    const finance = await pageOf(await service.invite('finance'));
    const second = handsOf(finance);
    await finance.goto('/staff');
    await second.follow('STORY-8');
    await second.fill('Reason', 'checked');
    await second.press('Approve and give back $0.20');
    await says(finance, '$0.20 is given back.');
    await support.reload();
    await says(support, '$0.20 is given back.');
    return clicks;
  }

  const ownersPage = async ({ accountId }: Complaint) => {
    const owner = await service.newSession({ accountId, personId: openerOf(accountId) });
    return browser.open(service.api.url, { session: sessionOf(owner) });
  };

  /** Twenty-five cents were charged, and nothing is left of them. */
  async function expectDraft(complaint: Complaint): Promise<void> {
    const owner = await ownersPage(complaint);
    await owner.goto('/console/invoices/draft');
    await row(owner, 'less what was waived').getByText('$0.00').waitFor();
    await row(owner, 'Total so far').getByText('$19.00').waitFor();
  }
});

/** One more download than are charged: the first is in the plan. @returns the account's id */
async function overageAccount(charged: number): Promise<string> {
  const { cli, openAccount, sampleUrl } = installation;
  const { accountId, key } = await openAccount('dev_100');
  await cli(['accounts', 'terms', accountId, '--downloads', '1', '--hourly', '500']);
  for (let count = 0; count <= charged; count += 1) await queue(service.api.url, key, { url: sampleUrl('private') });
  const isKnown = async () =>
    (await service.sql('select from period_money where account_id = $1 and charges = $2', [accountId, charged]))
      .length === 1;
  await waitFor(isKnown, { what: 'the charges in the read model' });
  return accountId;
}

/** Twelve downloads of one video failed, and each was charged; two of another video were charged too. */
async function disputedAccount(): Promise<{ accountId: string; email: string }> {
  const { cli, sampleUrl } = installation;
  const email = `disputed-${randomUUID().slice(0, 8)}@example.com`;
  const accountId = await service.openAccount(email, 'dev_100');
  await cli(['accounts', 'terms', accountId, '--downloads', '0', '--hourly', '500']);
  const { key } = await cli<{ key: string }>(['keys', 'issue', accountId]);
  const videos = ['bars', ...Array<string>(12).fill('private'), 'bars'];
  for (const video of videos) await queue(service.api.url, key, { url: sampleUrl(video) });
  const areCharged = async () =>
    (await service.sql('select from period_money where account_id = $1 and charges = 14', [accountId])).length === 1;
  await waitFor(areCharged, { what: 'the charges in the read model' });
  return { accountId, email };
}

/** The minute of the failed download, as somebody names it who complains. */
async function minuteOf({ failed }: Complaint): Promise<string> {
  const [job] = await service.sql<{ minute: string }>(
    `select to_char(queued_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI') as minute from jobs where token = $1`,
    [failed],
  );
  return job?.minute ?? '';
}

/** Cells of a table's rows, by their columns. */
async function cellsOf(table: Locator, columns: readonly number[]): Promise<string[][]> {
  const rows = await table.locator('tbody tr').all();
  return await Promise.all(
    rows.map(async (each) => {
      const cells = await each.locator('td, th').allInnerTexts();
      return columns.map((column) => cells[column]?.trim() ?? '');
    }),
  );
}

/** Saves what the page shows. @returns columns of the file, with amounts as pages show them */
async function csvOf(page: Page, columns: readonly string[]): Promise<string[][]> {
  const saving = page.waitForEvent('download');
  await main(page).getByRole('link', { name: 'CSV', exact: true }).click();
  const [head = '', ...lines] = (await textOf(await (await saving).createReadStream())).trim().split('\n');
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    return columns.map((name) => {
      const cell = cells[names.indexOf(name)] ?? '';
      return name.endsWith('_cents') || name === 'cents' ? formatCents(Number(cell)) : cell;
    });
  });
}

const countClicks = `addEventListener('mousedown', () =>
  sessionStorage.setItem('clicks', String(Number(sessionStorage.getItem('clicks')) + 1)), true)`;

/** Like the pointer's, but a field is clicked before it is filled in. */
const clicking = (page: Page): Hands => ({
  ...pointer(page),
  fill: (label, text) => typeInto(page, page.getByRole('main').getByLabel(label), text),
});

async function typeInto(page: Page, field: Locator, text: string): Promise<void> {
  await field.click();
  await page.keyboard.type(text);
}

async function searchByClick(page: Page, text: string): Promise<void> {
  await typeInto(page, page.getByRole('searchbox', { name: 'Search' }), text);
  await page.keyboard.press('Enter');
}

async function searchByKey(page: Page, text: string): Promise<void> {
  await page.keyboard.press('/');
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
}

const timeField = (page: Page) => main(page).getByLabel('At about (UTC)');

async function fillTime(page: Page, minute: string): Promise<void> {
  await timeField(page).click();
  await timeField(page).fill(minute);
}

/** Part by part, as the browser's own field takes it: 11/24/2026, 10:15 AM. */
async function typeTime(page: Page, minute: string): Promise<void> {
  const [year = '', month = '', day = '', hour = '', minutes = ''] = minute.split(/\D/);
  await keyboard(page).fill('At about (UTC)', '');
  const half = Number(hour) < 12 ? 'AM' : 'PM';
  const hourOfHalf = String(Number(hour) % 12 || 12).padStart(2, '0');
  for (const part of [month, day, year]) await page.keyboard.type(part);
  await page.keyboard.press('ArrowRight');
  for (const part of [hourOfHalf, minutes, half]) await page.keyboard.type(part);
  expect(await timeField(page).inputValue()).toBe(minute);
}
