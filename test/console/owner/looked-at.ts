import type { Page } from 'playwright-core';
import type { BrowserOfFile } from '../../support/browser.ts';
import { queue, underWay } from '../../support/downloads.ts';
import type { LookedAt, Looking } from '../look-at.ts';
import { type Console, openSmallAccount, sessionOf } from './owners.ts';

/** Every page of the owners' console, as it is looked at. */

/**
 * `busy`: an owner of pages that change something, or that last only for a moment, with one running download; each file that looks
 * has one of its own.
 */
interface Lookers extends Looking<'example' | 'busy'> {
  console: Console;
  /** Of the running download. */
  token: string;
}

const at = (path: string) => (page: Page) => page.goto(path);

export const lookedAt: readonly LookedAt<'example' | 'busy', Lookers>[] = [
  // First, as long as it runs.
  { name: 'download-running', by: 'busy', show: watchDownload },
  { name: 'sign-in', by: 'nobody', show: at('/console/sign-in') },
  { name: 'mail-sent', by: 'nobody', show: askForLink },
  { name: 'expired-link', by: 'nobody', status: 404, show: at('/console/sign-in/wrong') },
  { name: 'overview', by: 'example', show: at('/console') },
  { name: 'earlier-period', by: 'example', show: at('/console?period=2027-01-20') },
  { name: 'downloads', by: 'example', show: at('/console/downloads') },
  { name: 'downloads-filtered', by: 'example', show: at('/console/downloads?status=done') },
  { name: 'downloads-empty', by: 'example', show: at('/console/downloads?platform=vimeo') },
  { name: 'download-done', by: 'example', show: (page, { console }) => page.goto(pathOf(console, 'done')) },
  { name: 'download-failed', by: 'example', show: (page, { console }) => page.goto(pathOf(console, 'failed')) },
  { name: 'try-it', by: 'example', show: at('/console/try') },
  { name: 'try-it-result', by: 'busy', show: lookUp },
  { name: 'keys', by: 'example', show: at('/console/keys') },
  { name: 'new-key', by: 'busy', show: issueKey },
  {
    name: 'revoke',
    by: 'example',
    show: (page, { console }) => page.goto(`/console/keys/${console.account.keyId}/revoke`),
  },
  {
    name: 'key-limit',
    by: 'example',
    show: (page, { console }) => page.goto(`/console/keys/${console.account.keyId}/limit`),
  },
  { name: 'key-usage', by: 'example', show: at('/console/keys/usage?period=2027-01-20') },
  { name: 'invoices', by: 'example', show: at('/console/invoices') },
  { name: 'draft', by: 'example', show: at('/console/invoices/draft') },
  { name: 'invoice', by: 'example', show: at('/console/invoices/2') },
  { name: 'invoice-print', by: 'example', show: at('/console/invoices/2?as=print') },
  { name: 'history', by: 'example', show: at('/console/history') },
  { name: 'settings', by: 'example', show: at('/console/settings') },
  { name: 'plan-change', by: 'example', show: at('/console/settings/plan/scale_2000') },
  { name: 'design', by: 'nobody', show: at('/console/design') },
  { name: 'not-found', by: 'example', status: 404, show: at('/console/nothing') },
  { name: 'keys-of-the-keyboard', by: 'example', show: openHelp },
];

const pathOf = ({ account }: Console, which: 'done' | 'failed') => `/console/downloads/${account.tokens[which]}`;

async function watchDownload(page: Page, { token }: Lookers): Promise<void> {
  await page.goto(`/console/downloads/${token}`);
  await page.getByText('running', { exact: true }).waitFor();
}

async function askForLink(page: Page): Promise<void> {
  await page.goto('/console/sign-in');
  await page.getByLabel('E-mail address').fill('nobody@example.com');
  await page.getByRole('button', { name: 'Mail me a link' }).click();
  await page.getByText('a link is on its way').waitFor();
}

async function lookUp(page: Page): Promise<void> {
  await page.goto('/console/try');
  await page.getByRole('button', { name: 'Look up title and length' }).click();
  await page.getByText('Colour bars', { exact: true }).waitFor();
}

async function issueKey(page: Page): Promise<void> {
  await page.goto('/console/keys');
  await page.getByLabel('Label, to tell it from the others').fill('my program');
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await page.locator('#new-key').waitFor();
}

async function openHelp(page: Page): Promise<void> {
  await page.goto('/console/keys');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
}

/** @param file whose account the busy one is */
export async function prepareLookers(browser: BrowserOfFile, console: Console, file: string): Promise<Lookers> {
  const { accountId, email } = await openSmallAccount(console, file);
  const { key } = await console.cli<{ key: string }>('keys', 'issue', accountId);
  const session = await sessionOf(browser, console, email);
  const { request_token: token } = await queue(console.url, key, { url: console.sampleUrl('slow') });
  await underWay(console.url, key, token);
  return { url: console.url, sessions: { example: console.account.session, busy: session }, console, token };
}
