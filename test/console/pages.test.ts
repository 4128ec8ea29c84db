import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserOfFile, isWithoutBrowser } from '../support/browser.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { differencesOf, isAccepting } from './accepted-picture.ts';
import { findings } from './findings.ts';
import { inPage } from './in-page.ts';
import type { Weight } from './in-page/answers.ts';
import { lookAt, lookedAt, prepareLookers } from './looked-at.ts';
import type { Lookers } from './looked-at.ts';
import { consoleOfFile } from './owners.ts';

/**
 * Every page: how it looks, and whether people who use it differently can: by the rules of WCAG 2.2 A and AA, with the keyboard,
 * on a narrow screen, and over a slow line.
 */

/** Of a page with its scripts and styles, as they are transferred. */
const mostBytes = 150 * 1024;

describe.skipIf(isWithoutBrowser)('looks as it was accepted, and everybody can use', () => {
  const service = consoleOfFile();
  const browser = browserOfFile();
  const weights = new Map<string, Weight>();
  let lookers: Lookers;
  beforeAll(async () => {
    lookers = await prepareLookers(browser, service, 'pages');
  });
  afterAll(() => {
    const heaviest = Math.max(...[...weights.values()].map(({ bytes }) => bytes));
    const latest = Math.max(...[...weights.values()].map(({ firstPaintMs }) => firstPaintMs));
    console.log(
      `pages weigh ${(heaviest / 1024).toFixed(0)} KiB at most, first paint after ${latest.toFixed(0)} ms at most`,
    );
  });

  test.each(lookedAt)('$name', { timeout: 60_000 }, async (looked) => {
    const found: string[] = [];
    const comparer = await browser.open(service.url);
    await lookAt(looked, { browser, lookers, areAll: isAccepting || isLongProof }, async (page, look) => {
      found.push(...(await differencesOf(page, look, comparer)).map((each) => `${look}: ${each}`));
      if (!weights.has(looked.name)) weights.set(looked.name, await inPage(page, 'weight'));
      const all = [...(await findings(page)), ...(await inPage(page, 'flaws'))];
      found.push(...all.map((each) => `${look}: ${each}`));
    });
    expect(found).toEqual([]);
    expect(weights.get(looked.name)?.bytes).toBeLessThanOrEqual(mostBytes);
  });
});
