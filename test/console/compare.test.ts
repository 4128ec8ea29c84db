import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { browserOfFile, isWithoutBrowser } from '../support/browser.ts';
import { inPage } from './in-page.ts';

describe.skipIf(isWithoutBrowser)('pictures of a large page', () => {
  const browser = browserOfFile();
  let page: Page;
  const rows = (change: (row: number) => string) =>
    Array.from({ length: 60 }, (_, row) => `<tr><td>Downloads</td><td>$556.7${change(row)}</td></tr>`).join('');
  const shotOf = async (table: string, more = ''): Promise<string> => {
    await page.setContent(`<body style="font: 15px sans-serif"><table>${table}</table>${more}`);
    return (await page.screenshot({ fullPage: true })).toString('base64');
  };

  beforeAll(async () => {
    page = await browser.blank();
    await page.setViewportSize({ width: 400, height: 300 });
  });

  test('are different once one digit is another', async () => {
    const kept = await shotOf(rows(() => '5'));
    for (const digit of ['3', '6', '8']) {
      const shot = await shotOf(rows((row) => (row === 40 ? digit : '5')));
      expect(await inPage(page, 'compare', { shot, kept }), digit).toHaveProperty('difference');
    }
  });

  test('are the same with a few pixels otherwise in many places', async () => {
    const table = rows(() => '5');
    const dot = (row: number) =>
      `<i style="position: absolute; left: 300px; top: ${String(row * 20)}px; width: 2px; height: 2px; background: red"></i>`;
    const dots = Array.from({ length: 60 }, (_, row) => dot(row)).join('');
    expect(
      await inPage(page, 'compare', { shot: await shotOf(table, dots), kept: await shotOf(table) }),
    ).toBeUndefined();
  });
});
