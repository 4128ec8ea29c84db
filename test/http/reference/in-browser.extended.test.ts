import { describe, expect, test } from 'vitest';
import { findings } from '../../console/findings.ts';
import { browserOfFile, colorSchemes, isWithoutBrowser } from '../../support/browser.ts';
import { noDownloads, shareService } from '../shared-service.ts';

const service = shareService(noDownloads);

/** Columns and listings that reach beyond their place. The search reads what is folded, so all of it is unfolded. */
const cutOff = `(() => {
  for (const part of document.querySelectorAll('details')) part.open = true;
  const wide = [...document.querySelectorAll('main td, main th, main pre, main p, main table')]
    .filter((element) => element.getBoundingClientRect().right > innerWidth || element.scrollWidth > element.clientWidth + 1);
  return wide.map((element) => element.tagName + ' ' + element.textContent.trim().slice(0, 60));
})()`;

describe.skipIf(isWithoutBrowser)('pages for people without an account, in a browser', () => {
  const browser = browserOfFile();

  test.each(['/', '/docs'])('%s can be used by everybody, and cuts nothing off', async (path) => {
    for (const [index, viewport] of (['wide', 'phone'] as const).entries()) {
      const page = await browser.open(service.url, { viewport, colorScheme: colorSchemes[index] ?? 'light' });
      await page.goto(path);
      expect([viewport, await page.evaluate(cutOff)]).toEqual([viewport, []]);
      expect(await findings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
  });

  test('/docs fills the key of its reader in, and nothing that a shell would run', async () => {
    const page = await browser.open(service.url);
    await page.goto('/docs');
    const lines = page.locator('pre').first();
    await page.getByLabel('Your API key').fill('rtk_abcDEF0123');
    expect(await lines.textContent()).toContain('export REELTALLY_KEY=rtk_abcDEF0123\n');
    await page.reload();
    expect(await lines.textContent()).toContain('export REELTALLY_KEY=rtk_abcDEF0123\n');
    await page.getByLabel('Your API key').fill('rtk_a; rm -r .');
    expect(await lines.textContent()).toContain('export REELTALLY_KEY=rtk_…\n');
  });
});
