import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserOfFile, isWithoutBrowser } from '../../support/browser.ts';
import { mailedLink } from '../../support/mailed-links.ts';
import { consoleOfRun, openSmallAccount, sessionOf, type SmallAccount } from './owners.ts';

/** What people do with a browser beside what its pages expect: sessions end meanwhile, tabs stay open, they go back. */

describe.skipIf(isWithoutBrowser)('the console, as people use a browser', () => {
  const service = consoleOfRun();
  const browser = browserOfFile();

  async function signedIn(owner: string): Promise<{ page: Page; account: SmallAccount }> {
    const account = await openSmallAccount(service, owner);
    return {
      page: await browser.open(service.url, { session: await sessionOf(browser, service, account.email) }),
      account,
    };
  }

  async function askForLink(page: Page, email: string): Promise<string> {
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'Mail me a link' }).click();
    await page.getByText('a link is on its way').waitFor();
    return await mailedLink(service.dataDirectory, email);
  }

  test('a form that was sent after the session ended is there again after signing in, as it was typed', async () => {
    const { page, account } = await signedIn('typed');
    await page.goto('/console/settings?done=cap');
    await page.getByText('Billing details', { exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Müller & Söhne');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('was not sent, because you were signed out').waitFor();
    const link = await askForLink(page, account.email);
    const other = await page.context().newPage();
    await other.goto(link);
    await other.getByText('It is as you typed it').waitFor();
    expect(new URL(other.url()).pathname + new URL(other.url()).search).toBe('/console/settings');
    expect(await other.getByLabel('Name', { exact: true }).inputValue()).toBe('Müller & Söhne');
    await other.getByRole('button', { name: 'Save' }).click();
    await other.reload();
    expect(await other.getByText('It is as you typed it').count()).toBe(0);
    await page.goto('/console/settings');
    expect(await page.getByText('It is as you typed it').count()).toBe(0);
  });

  test('a form of a session before this one is there again too', async () => {
    const { page, account } = await signedIn('anew');
    await page.goto('/console/keys');
    await page.getByLabel('Label, to tell it from the others').fill('nightly');
    const anew = await sessionOf(browser, service, account.email);
    await page.context().clearCookies();
    await page.context().addCookies(anew.cookies);
    browser.expectStatus(403);
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByRole('link', { name: 'Open the page again' }).click();
    await page.getByText('It is as you typed it').waitFor();
    expect(await page.getByLabel('Label, to tell it from the others').inputValue()).toBe('nightly');
  });

  test('a deep link leads through the sign-in to its page, in whichever browser the mail is opened', async () => {
    const account = await openSmallAccount(service, 'deep');
    const asking = await browser.open(service.url);
    await asking.goto('/console/settings#billing');
    const link = await askForLink(asking, account.email);
    const here = await browser.open(service.url);
    await here.goto(link);
    await here.getByRole('button', { name: 'Sign in' }).click();
    await here.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    expect(new URL(here.url()).hash).toBe('#billing');
  });

  test('a tab of another account says so, as soon as somebody signs in to a second one', async () => {
    const { page } = await signedIn('first');
    await page.goto('/console/keys');
    const second = await openSmallAccount(service, 'second');
    const tab = await page.context().newPage();
    await tab.goto('/console/sign-in');
    await tab.goto(await askForLink(tab, second.email));
    await tab.getByRole('navigation', { name: 'Console' }).waitFor();
    const dialog = page.getByRole('dialog', { name: 'Another account is signed in' });
    await dialog.waitFor();
    await dialog.getByRole('link').click();
    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Overview' }).waitFor();
    expect(await page.locator('.who').textContent()).toContain(second.accountId);
  });

  test('going back to the answer to a form shows the page with the form', async () => {
    const { page } = await signedIn('back');
    await page.goto('/console/keys');
    await page.getByLabel('Label, to tell it from the others').fill('shown once');
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.locator('#new-key').waitFor();
    await page.getByRole('link', { name: 'Invoices' }).click();
    await page.getByRole('heading', { level: 1, name: 'Invoices' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    expect(await page.getByText('shown once').count()).toBe(1);
    await page.goto('/console/try/metadata');
    expect(new URL(page.url()).pathname).toBe('/console/try');
  });
});
