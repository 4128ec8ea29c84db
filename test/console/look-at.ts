import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type BrowserOfFile,
  browserOfFile,
  type ColorScheme,
  colorSchemes,
  type Session,
  viewports,
} from '../support/browser.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { differencesOf, isAccepting } from './accepted-picture.ts';
import { findings } from './findings.ts';
import { inPage } from './in-page.ts';
import type { Weight } from './in-page/answers.ts';

/** Looks at the pages of a console: against the pictures that were accepted, and by rules that hold for all of them. */

/** What the pages show, and who looks at them. */
export interface Looking<By extends string> {
  /** Origin of the console. */
  url: string;
  /** Nobody is without one. */
  sessions: Readonly<Record<By, Session>>;
}

export interface LookedAt<By extends string, World> {
  name: string;
  by: By | 'nobody';
  status?: number;
  show: (page: Page, world: World) => Promise<unknown>;
}

/** Of a page with its scripts and styles, as they are transferred. */
const mostBytes = 150 * 1024;

/** By width and colours: `npm test` looks at each page once. */
const firstLook = 'wide-light';
/** The usual one of the others, which are for the long run and for those that accept pictures. */
const secondLook = 'phone-dark';
const isAmongOthers = (look: string) => look !== firstLook && (isAccepting || isLongProof || look === secondLook);

export type Looks = 'first' | 'others';

/** A test for each page. @param looks the first one, or those besides */
export function lookAtPages<By extends string, World extends Looking<By>>(
  pages: readonly LookedAt<By, World>[],
  looks: Looks,
  prepare: (browser: BrowserOfFile) => Promise<World>,
): void {
  const isWanted = looks === 'first' ? (look: string) => look === firstLook : isAmongOthers;
  const browser = browserOfFile();
  const weights = new Map<string, Weight>();
  let world: World;
  beforeAll(async () => {
    world = await prepare(browser);
  });
  afterAll(() => {
    const heaviest = Math.max(...[...weights.values()].map(({ bytes }) => bytes));
    const latest = Math.max(...[...weights.values()].map(({ firstPaintMs }) => firstPaintMs));
    console.log(
      `pages weigh ${(heaviest / 1024).toFixed(0)} KiB at most, first paint after ${latest.toFixed(0)} ms at most`,
    );
  });

  test.each(pages)('$name', async (looked) => {
    const found: string[] = [];
    const comparer = await browser.blank();
    await lookAt(looked, { browser, world, isWanted }, async (page, look) => {
      found.push(...(await differencesOf(page, look, comparer)).map((each) => `${look}: ${each}`));
      if (!weights.has(looked.name)) weights.set(looked.name, await inPage(page, 'weight'));
      const all = [...(await findings(page)), ...(await inPage(page, 'flaws'))];
      found.push(...all.map((each) => `${look}: ${each}`));
    });
    expect(found).toEqual([]);
    expect(weights.get(looked.name)?.bytes).toBeLessThanOrEqual(mostBytes);
  });
}

/** Looks at one of the pages in light and in dark, wide and on a phone. */
async function lookAt<By extends string, World extends Looking<By>>(
  { name, by, status = 200, show }: LookedAt<By, World>,
  { browser, world, isWanted }: { browser: BrowserOfFile; world: World; isWanted: (look: string) => boolean },
  look: (page: Page, look: string) => Promise<void>,
): Promise<void> {
  browser.expectStatus(status);
  const session = by === 'nobody' ? undefined : world.sessions[by];
  const page = await browser.open(world.url, { session });
  await show(page, world);
  for (const colorScheme of colorSchemes) {
    if (colorScheme !== colorSchemes[0]) await change(page, colorScheme, () => show(page, world));
    for (const [viewport, size] of Object.entries(viewports)) {
      if (!isWanted(`${viewport}-${colorScheme}`)) continue;
      await page.setViewportSize(size);
      await look(page, `${name}-${viewport}-${colorScheme}`);
    }
  }
  await page.close();
}

/** A page with a plot loads itself again for other colours, at a moment of its own: it is left before, and shown anew. */
async function change(page: Page, colorScheme: ColorScheme, show: () => Promise<unknown>): Promise<void> {
  const hasPlot = (await page.locator('[data-plot]').count()) > 0;
  if (hasPlot) await page.goto('about:blank');
  await page.emulateMedia({ colorScheme });
  if (hasPlot) await show();
}
