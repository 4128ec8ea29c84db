import { describe, expect, test } from 'vitest';
import { browserOfFile, isWithoutBrowser } from '../../support/browser.ts';
import { findings } from '../findings.ts';
import { consoleOfRun } from '../owner/owners.ts';
import { inviteStaff, openLink, sessionOfStaff } from './staff-in-browser.ts';

describe.skipIf(isWithoutBrowser)('the staff console in a browser', () => {
  const service = consoleOfRun();
  const browser = browserOfFile();
  const open = (session?: Awaited<ReturnType<typeof sessionOfStaff>>) =>
    browser.open(service.staffUrl ?? '', { session });

  test('signs in by a printed link, with the keyboard alone, and out again', async () => {
    const page = await open();
    await page.goto(await inviteStaff(service, 'support'));
    await page.keyboard.press('Tab');
    for (let tab = 0; tab < 5 && !(await page.locator('button:focus').count()); tab += 1)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Staff console' }).waitFor();
    await page.keyboard.press('/');
    expect(await page.locator(':focus').getAttribute('name')).toBe('search');
    await page.keyboard.press('Escape');
    await page.locator('h1').click();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('heading', { level: 1, name: 'Operation' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
  });

  test('shows each role its part of the menu', async () => {
    const names = ['Search', 'Corrections', 'Overage', 'Months', 'Operation'];
    for (const [role, more] of [
      ['support', []],
      ['finance', []],
      ['admin', ['People']],
    ] as const) {
      const page = await open(await sessionOfStaff(browser, service, role));
      await page.goto('/staff/operation');
      const menu = page.getByRole('navigation', { name: 'Staff console' });
      expect(await menu.getByRole('link').allTextContents()).toEqual([...names, ...more]);
    }
  });

  test('can be used without script', async () => {
    const page = await browser.open(service.staffUrl ?? '', { hasScript: false });
    await openLink(page, await inviteStaff(service, 'finance'));
    await page.getByRole('link', { name: 'Operation' }).click();
    await page.getByRole('heading', { level: 1, name: 'Operation' }).waitFor();
  });

  test.each(['/staff/sign-in', '/staff/operation', '/staff/docs'])('%s can be used by everybody', async (path) => {
    for (const viewport of ['wide', 'phone'] as const) {
      const session = path.endsWith('sign-in') ? undefined : await sessionOfStaff(browser, service, 'admin');
      const page = await browser.open(service.staffUrl ?? '', { session, viewport });
      await page.goto(path);
      expect(await findings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
  });
});
