import { describe, expect, test } from 'vitest';
import { browserOfFile, isWithoutBrowser } from '../support/browser.ts';
import { inPage } from './in-page.ts';

describe.skipIf(isWithoutBrowser)('a page that is settled', () => {
  const browser = browserOfFile();

  test('has choices as wide as their longest option, however late its text came', async () => {
    const page = await browser.blank();
    const widthOf = async (parts: readonly string[]): Promise<unknown> => {
      await page.evaluate(`document.open()`);
      for (const part of parts)
        await page.evaluate(
          `document.write(${JSON.stringify(part)}); document.querySelector('select').getBoundingClientRect()`,
        );
      await page.evaluate(`document.close()`);
      await inPage(page, 'settle');
      return page.evaluate(`document.querySelector('select').getBoundingClientRect().width`);
    };
    // The parts of an answer, on a slow machine or line.
    const choice = '<select><option>one</option><option>';
    const rest = 'a much longer one</option></select>';
    expect(await widthOf([choice, rest])).toBe(await widthOf([choice + rest]));
  });
});
