import type { Page } from 'playwright-core';
import type { LookedAt } from '../look-at.ts';
import type { ExampleOfStaff } from './example-of-staff.ts';

/** Every page of the staff console, as it is looked at. */

type By = 'support' | 'finance' | 'admin';

const at =
  (path: string | ((example: ExampleOfStaff) => string)) =>
  (page: Page, example: ExampleOfStaff): Promise<unknown> =>
    page.goto(typeof path === 'string' ? path : path(example));

const ofOutage = new URLSearchParams({
  ...{ platform: 'sample', failure: '', from: '2027-01-20T09:00', to: '2027-02-20T09:00' },
}).toString();

export const lookedAt: readonly LookedAt<By, ExampleOfStaff>[] = [
  { name: 'staff-sign-in', by: 'nobody', show: at('/staff/sign-in') },
  { name: 'staff-start', by: 'finance', show: at('/staff') },
  { name: 'staff-found', by: 'finance', show: (page) => search(page, 'example@example.com') },
  { name: 'staff-found-nothing', by: 'finance', show: (page) => search(page, 'CASE-9999') },
  { name: 'staff-account', by: 'finance', show: at(({ accountId }) => `/staff/accounts/${accountId}`) },
  {
    name: 'staff-account-downloads',
    by: 'finance',
    show: at(({ accountId }) => `/staff/accounts/${accountId}/downloads`),
  },
  { name: 'staff-download-done', by: 'finance', show: at(({ tokens }) => `/staff/downloads/${tokens.done}`) },
  { name: 'staff-download-failed', by: 'finance', show: at(({ tokens }) => `/staff/downloads/${tokens.given}`) },
  { name: 'staff-download-replayed', by: 'finance', show: replay },
  { name: 'staff-event', by: 'finance', show: openEvent },
  { name: 'staff-give-back', by: 'finance', show: at(({ tokens }) => `/staff/downloads/${tokens.given}/correct`) },
  { name: 'staff-corrections', by: 'finance', show: at('/staff/corrections') },
  { name: 'staff-correction-waits', by: 'finance', show: at(({ corrections }) => corrections.waits) },
  { name: 'staff-correction-made', by: 'finance', show: at(({ corrections }) => corrections.made) },
  { name: 'staff-outage', by: 'finance', show: at(`/staff/corrections/outage?${ofOutage}`) },
  { name: 'staff-overage', by: 'finance', show: at('/staff/overage') },
  { name: 'staff-overage-all', by: 'finance', show: at('/staff/overage?month=all&overage=yes&sort=account&order=asc') },
  { name: 'staff-charges', by: 'finance', show: at(({ accountId }) => `/staff/overage/${accountId}/2027-02-20`) },
  { name: 'staff-months', by: 'finance', show: at('/staff/months') },
  { name: 'staff-month', by: 'finance', show: at('/staff/months/2027-01') },
  { name: 'staff-operation', by: 'admin', show: at('/staff/operation') },
  { name: 'staff-work', by: 'admin', show: at('/staff/operation/work') },
  { name: 'staff-notices', by: 'admin', show: at('/staff/operation/notices') },
  { name: 'staff-reference', by: 'nobody', show: at('/staff/docs') },
  { name: 'staff-refused', by: 'support', status: 403, show: approve },
];

async function search(page: Page, text: string): Promise<void> {
  await page.goto('/staff');
  await page.getByRole('main').getByRole('searchbox').fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Search', level: 1 }).waitFor();
}

async function replay(page: Page, { tokens }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/downloads/${tokens.given}`);
  for (const link of ['Replay from the beginning', 'one step on →', 'one step on →'])
    await page.getByRole('link', { name: link }).click();
}

async function openEvent(page: Page, { tokens }: ExampleOfStaff): Promise<void> {
  await page.goto(`/staff/downloads/${tokens.given}`);
  await page.getByRole('link', { name: 'Charged' }).click();
  await page.getByRole('heading', { name: 'OverageCharged', level: 1 }).waitFor();
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
