import { buffer } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserOfFile, type ColorScheme, isWithoutBrowser, type Viewport } from '../../support/browser.ts';
import { call } from '../../support/client.ts';
import { ended, queue } from '../../support/downloads.ts';
import { mailedLink } from '../../support/mailed-links.ts';
import { type Hands, keyboard, pointer } from '../hands.ts';
import { consoleOfRun, openSmallAccount } from './owners.ts';

/** The main job in the console, from the mailed link to the printed invoice, against the whole running service. */
describe.skipIf(isWithoutBrowser)('an owner', () => {
  const service = consoleOfRun();
  const browser = browserOfFile();

  const main = (page: Page) => page.getByRole('main');
  /** A row of a table, by a text in it. */
  const row = (page: Page, text: string) => main(page).getByRole('row').filter({ hasText: text });

  /** What became of a form is in sight, and has the focus. */
  const seesAtOnce = async (page: Page, text: string) => {
    const told = page.locator(':focus').filter({ hasText: text });
    await told.waitFor();
    const { y, height } = (await told.boundingBox()) ?? { y: -1, height: 0 };
    expect([y >= 0, y + height <= (page.viewportSize()?.height ?? 0)], text).toEqual([true, true]);
  };

  interface Teller {
    name: string;
    viewport: Viewport;
    colorScheme: ColorScheme;
    handsOf: (page: Page) => Hands;
    /** A download that is long enough to be watched as it goes on takes its time. */
    item: string;
  }
  const tellers: readonly Teller[] = [
    { name: 'mouse', viewport: 'wide', colorScheme: 'light', handsOf: pointer, item: 'slow' },
    { name: 'keyboard', viewport: 'wide', colorScheme: 'dark', handsOf: keyboard, item: 'bars' },
    { name: 'phone', viewport: 'phone', colorScheme: 'light', handsOf: pointer, item: 'bars' },
  ];

  test.each(tellers)(
    'signs in, downloads with a new key, meets the cap and prints the invoice: $name',
    async ({ name, viewport, colorScheme, handsOf, item }) => {
      const { accountId, email } = await openSmallAccount(service, name);
      const page = await browser.open(service.url, { viewport, colorScheme });
      const hands = handsOf(page);
      const fits = async () => {
        if (viewport === 'phone') expect(await widthBeyond(page), page.url()).toBe(0);
      };

      await page.goto('/console');
      await hands.fill('E-mail address', email);
      await hands.press('Mail me a link');
      await main(page).getByText('a link is on its way').waitFor();
      await fits();
      await page.goto(await mailedLink(service.dataDirectory, email));
      await main(page).getByRole('heading', { name: 'Overview' }).waitFor();
      await fits();

      await hands.open('API keys');
      await hands.fill('Label, to tell it from the others', 'my program');
      await hands.press('Issue a key');
      const key = (await page.locator('#new-key').textContent()) ?? '';
      await fits();
      await queue(service.url, key, { url: service.sampleUrl(item) });

      await hands.open('Downloads');
      const inPlan = row(page, `sample ${item}`);
      // The list follows the log a moment later.
      while ((await inPlan.count()) === 0) await page.reload();
      await page.evaluate('globalThis.isTheSamePage = true');
      if (item === 'slow') await inPlan.getByRole('progressbar').waitFor();
      await inPlan.getByText('done', { exact: true }).waitFor();
      expect(await page.evaluate('globalThis.isTheSamePage')).toBe(true);
      await fits();
      await hands.follow(`sample ${item}`);
      await main(page).getByRole('heading', { name: 'What happened' }).waitFor();
      await fits();
      const saving = page.waitForEvent('download');
      await hands.follow('Save the file');
      const file = await (await saving).createReadStream();
      const bytes = await buffer(file);
      expect(bytes.subarray(4, 8).toString()).toBe('ftyp');

      const { request_token: beyond } = await queue(service.url, key, { url: service.sampleUrl('private') });
      await ended(service.url, key, beyond);
      await hands.open('Settings');
      await hands.fill('Cap in US dollars; empty for none', '0.25');
      await hands.press('Set the cap');
      await seesAtOnce(page, 'The cap is saved, and counts now.');
      await fits();
      const refused = await call(service.url, '/video/download', { key, body: { url: service.sampleUrl('bars') } });
      expect(refused).toMatchObject({ status: 402, code: 'overage_cap_reached' });
      await hands.open('Overview');
      await main(page).getByText('Cap $0.25: reached, downloads stop.').waitFor();
      await fits();

      await service.cli('invoices', 'issue-due');
      await hands.open('Invoices');
      await fits();
      await hands.follow('Invoice 1');
      await page.getByRole('heading', { name: 'Invoice' }).waitFor();
      await fits();
      await page.emulateMedia({ media: 'print' });
      expect(await page.locator('body').innerText()).toContain('$19.00');
      expect(await page.locator('body').innerText()).toContain(accountId);
      expect((await page.pdf()).subarray(0, 5).toString()).toBe('%PDF-');
    },
  );

  test('does everything without script', async () => {
    const { email } = await openSmallAccount(service, 'plain');
    const page = await browser.open(service.url, { hasScript: false });
    const hands = pointer(page);
    const says = (text: string) => main(page).getByText(text).first().waitFor();
    await page.goto('/console');
    await hands.fill('E-mail address', email);
    await hands.press('Mail me a link');
    await says('a link is on its way');
    await page.goto(await mailedLink(service.dataDirectory, email));
    await says('1 left');

    await hands.open('Try it');
    await hands.press('Look up title and length');
    await says('Colour bars');
    await hands.press('Download it');
    await says('What happened');

    await hands.open('Downloads');
    await main(page).getByLabel('Format').selectOption('audio');
    await hands.press('Filter');
    await says('No download matches.');
    await hands.follow('Show all downloads');
    await row(page, '/watch/bars').waitFor();
    await hands.fill('Search', service.sampleUrl('bars'));
    await hands.press('Filter');
    await page.waitForURL(/search=http/);
    await row(page, '/watch/bars').waitFor();

    await hands.open('API keys');
    await hands.press('Issue a key');
    await says('Your new API key');
    await hands.follow('I have copied it');
    await hands.follow('Revoke…');
    await hands.press('Revoke the key');
    await says('The key is revoked.');

    await hands.open('Settings');
    await hands.fill('Cap in US dollars; empty for none', '12.50');
    await hands.press('Set the cap');
    await seesAtOnce(page, 'The cap is saved, and counts now.');
    await row(page, 'Scale 2000').getByRole('link').click();
    await hands.press('Change the plan');
    await seesAtOnce(page, 'You are on Scale 2000 now.');
    await row(page, 'Dev 100').getByRole('link').click();
    await hands.press('Change the plan');
    await seesAtOnce(page, 'The change is saved: you are on Scale 2000 until');
    await hands.press('Keep Scale 2000');
    await seesAtOnce(page, 'You keep Scale 2000. No change is due.');
    browser.expectStatus(400);
    // Browsers let it through.
    await hands.fill('Cap in US dollars; empty for none', '99,999,999,999');
    await hands.press('Set the cap');
    await seesAtOnce(page, 'such as 25 or 12.50');
    expect(await page.getByLabel('Cap in US dollars').inputValue()).toBe('99,999,999,999');

    await hands.open('Invoices');
    await hands.follow('What the next invoice would say now');
    await says('Total so far');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await says('You are signed out.');
  });

  test('walks through rows and finds the keys by the keyboard', async () => {
    const page = await browser.open(service.url, { session: service.account.session });
    const { keyboard: keys } = page;
    const focused = page.locator(':focus');
    await page.goto('/console/downloads');
    await keys.press('Tab');
    expect(await focused.textContent()).toBe('Skip to the content');
    await keys.press('Enter');
    expect(await focused.getAttribute('id')).toBe('content');
    await keys.press('/');
    expect(await focused.getAttribute('name')).toBe('search');
    // In a field, letters are letters.
    await keys.type('g k j');
    expect(await focused.inputValue()).toBe('g k j');
    await page.reload();
    await keys.press('j');
    await keys.press('j');
    expect(await focused.textContent()).toBe('A steady tone');
    await keys.press('k');
    expect(await focused.textContent()).toBe('sample geo');
    await keys.press('Enter');
    await main(page).getByRole('heading', { name: 'sample geo' }).waitFor();
    await keys.press('?');
    await page.getByRole('dialog').waitFor();
    await keys.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await keys.press('/');
    await main(page).getByRole('searchbox', { name: 'Search' }).and(focused).waitFor();
  });
});

/** By how many CSS pixels a page can be scrolled to the side. */
const widthBeyond = (page: Page): Promise<unknown> =>
  page.evaluate('Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)');
