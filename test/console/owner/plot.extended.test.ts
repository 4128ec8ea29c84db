import { describe, expect, test } from 'vitest';
import { browserOfFile, isWithoutBrowser } from '../../support/browser.ts';
import { consoleOfRun } from './owners.ts';

describe.skipIf(isWithoutBrowser)('a plot', () => {
  const service = consoleOfRun();
  const browser = browserOfFile();

  /** The numbers that label the axis of a plot of these values. */
  async function labelsOf(values: readonly (number | null)[]): Promise<Set<string>> {
    const page = await browser.open(service.url);
    await page.addInitScript(`globalThis.written = [];
      const fillText = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        globalThis.written.push(text);
        return fillText.call(this, text, ...rest);
      };`);
    await page.route('**/console/design', async (route) => {
      const answer = await route.fetch();
      const body = (await answer.text()).replace(/(?<=&quot;values&quot;:)\[[^\]]+\]/, JSON.stringify(values));
      await route.fulfill({ response: answer, body });
    });
    await page.goto('/console/design');
    await page.waitForFunction('globalThis.written.length > 0');
    const written = await page.evaluate<string[]>('globalThis.written');
    return new Set(written.filter((text) => /^[\d.,]+$/.test(text)));
  }

  test.each([
    { values: [0, 1, null, 0, 0, 0, 1], labels: ['0', '1'] },
    { values: [0, 3, 0, 0, 0, 0, 1], labels: ['0', '1', '2', '3'] },
  ])('of counts has whole numbers at its axis', async ({ values, labels }) => {
    expect(await labelsOf(values)).toEqual(new Set(labels));
  });

  test('of dollars has parts of them', async () => {
    expect(await labelsOf([0, 0.25, 0, 0, 0, 0, 0.5])).toContain('0.2');
  });
});
