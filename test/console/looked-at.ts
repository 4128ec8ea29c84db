import type { Page } from 'playwright-core';
import { colorSchemes, viewports } from '../support/browser.ts';
import type { BrowserOfFile, Session } from '../support/browser.ts';
import { pollEveryMs, queue, statusOf } from '../support/downloads.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { waitFor } from '../support/wait-for.ts';
import { openSmallAccount, sessionOf } from './owners.ts';
import type { Console } from './owners.ts';

/** Every page of the console, as it is looked at. */

/** Owners of pages that change something, or that last only for a moment: each file that looks has one of its own. */
export interface Lookers {
  console: Console;
  /** Of an account with one running download. */
  busy: { session: Session; token: string };
}

interface LookedAt {
  name: string;
  /** Who sees it. Default: the owner of the example account. */
  by?: 'example' | 'nobody' | 'busy';
  status?: number;
  show: (page: Page, lookers: Lookers) => Promise<unknown>;
}

const at = (path: string) => (page: Page) => page.goto(path);

export const lookedAt: readonly LookedAt[] = [
  // First, as long as it runs.
  { name: 'download-running', by: 'busy', show: watchDownload },
  { name: 'sign-in', by: 'nobody', show: at('/console/sign-in') },
  { name: 'mail-sent', by: 'nobody', show: askForLink },
  { name: 'expired-link', by: 'nobody', status: 404, show: at('/console/sign-in/wrong') },
  { name: 'overview', show: at('/console') },
  { name: 'earlier-period', show: at('/console?period=2027-01-20') },
  { name: 'downloads', show: at('/console/downloads') },
  { name: 'downloads-filtered', show: at('/console/downloads?status=done') },
  { name: 'downloads-empty', show: at('/console/downloads?platform=vimeo') },
  { name: 'download-done', show: (page, { console }) => page.goto(pathOf(console, 'done')) },
  { name: 'download-failed', show: (page, { console }) => page.goto(pathOf(console, 'failed')) },
  { name: 'try-it', show: at('/console/try') },
  { name: 'try-it-result', by: 'busy', show: lookUp },
  { name: 'keys', show: at('/console/keys') },
  { name: 'new-key', by: 'busy', show: issueKey },
  { name: 'revoke', show: (page, { console }) => page.goto(`/console/keys/${console.account.keyId}/revoke`) },
  { name: 'invoices', show: at('/console/invoices') },
  { name: 'draft', show: at('/console/invoices/draft') },
  { name: 'invoice', show: at('/console/invoices/2') },
  { name: 'settings', show: at('/console/settings') },
  { name: 'plan-change', show: at('/console/settings/plan/scale_2000') },
  { name: 'design', by: 'nobody', show: at('/console/design') },
  { name: 'not-found', status: 404, show: at('/console/nothing') },
  { name: 'keys-of-the-keyboard', show: openHelp },
];

const pathOf = ({ account }: Console, which: 'done' | 'failed') => `/console/downloads/${account.tokens[which]}`;

async function watchDownload(page: Page, { busy }: Lookers): Promise<void> {
  await page.goto(`/console/downloads/${busy.token}`);
  await page.getByText('running', { exact: true }).waitFor({ timeout: 20_000 });
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
  const isRunning = async () => (await statusOf(console.url, key, token)).data['status'] === 'running';
  await waitFor(isRunning, { what: 'the slow download to run', timeoutMs: 20_000, pollMs: pollEveryMs });
  return { console, busy: { session, token } };
}

/** The usual runs look at each page wide in light, and on a phone in dark; long ones, and those that accept, at all four. */
const usualLooks: readonly string[] = ['wide-light', 'phone-dark'];

/** Looks at one of the pages in light and in dark, wide and on a phone. */
export async function lookAt(
  { name, by = 'example', status = 200, show }: LookedAt,
  { browser, lookers, areAll = isLongProof }: { browser: BrowserOfFile; lookers: Lookers; areAll?: boolean },
  look: (page: Page, look: string) => Promise<void>,
): Promise<void> {
  const sessions = { example: lookers.console.account.session, busy: lookers.busy.session, nobody: undefined };
  browser.expectStatus(status);
  for (const colorScheme of colorSchemes) {
    const page = await browser.open(lookers.console.url, { colorScheme, session: sessions[by] });
    await show(page, lookers);
    for (const [viewport, size] of Object.entries(viewports)) {
      if (!areAll && !usualLooks.includes(`${viewport}-${colorScheme}`)) continue;
      await page.setViewportSize(size);
      await look(page, `${name}-${viewport}-${colorScheme}`);
    }
    await page.close();
  }
}
