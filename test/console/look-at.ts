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

/** Of a window, in CSS pixels: what tables show is measured at each. */
const measuredWidths = [1280, 768, 390];

/** By width and colours: `npm test` looks at each page once. */
const firstLook = 'wide-light';
/** The usual one of the others, which are for the long run and for those that accept pictures. */
const secondLook = 'phone-dark';
const isAmongOthers = (look: string) => look !== firstLook && (isAccepting || isLongProof || look === secondLook);

export type Looks = 'first' | 'others';

/**
 * A test for each page.
 *
 * @param looks the first one, by its picture; or those besides, and for all of them the rules of WCAG, which take as long as
 *   everything else together
 */
export function lookAtPages<By extends string, World extends Looking<By>>(
  pages: readonly LookedAt<By, World>[],
  looks: Looks,
  prepare: (browser: BrowserOfFile) => Promise<World>,
): void {
  const isPictured = looks === 'first' ? (look: string) => look === firstLook : isAmongOthers;
  const isSeen = (look: string) => look === firstLook || isPictured(look);
  const browser = browserOfFile();
  const weights = new Map<string, Weight>();
  const opened = new Map<By | 'nobody', Page>();
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

  /** One page for each person, as they would have it, wide and in light. */
  const pageOf = async (by: By | 'nobody'): Promise<Page> => {
    const session = by === 'nobody' ? undefined : world.sessions[by];
    const page = opened.get(by) ?? (await browser.openForFile(world.url, { session }));
    opened.set(by, page);
    await page.goto('about:blank');
    await page.setViewportSize(viewports.wide);
    await page.emulateMedia({ colorScheme: 'light' });
    return page;
  };

  test.each(pages)('$name', async ({ name, by, status = 200, show }) => {
    const found: string[] = [];
    const comparer = await browser.blank();
    browser.expectStatus(status);
    const page = await pageOf(by);
    await lookAt(page, { show: () => show(page, world), isSeen }, async (look) => {
      const all: string[] = [];
      if (isPictured(look)) {
        all.push(...(await differencesOf(page, `${name}-${look}`, comparer)));
        if (!weights.has(name)) weights.set(name, await inPage(page, 'weight'));
        all.push(...(await inPage(page, 'flaws')));
      }
      if (looks === 'others') all.push(...(await findings(page)));
      found.push(...all.map((each) => `${look}: ${each}`));
    });
    if (looks === 'first') found.push(...(await cutColumns(page)));
    expect(found).toEqual([]);
    expect(weights.get(name)?.bytes).toBeLessThanOrEqual(mostBytes);
  });
}

/** A sentence for each column of a table that is cut at one of the widths. */
async function cutColumns(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of measuredWidths) {
    await page.setViewportSize({ ...viewports.wide, width });
    for (const { table, column, cells, text } of await inPage(page, 'cuts'))
      found.push(`${String(width)} px: ${table}, ${column}: ${String(cells)} cut, such as "${text}"`);
  }
  return found;
}

/** Looks at a page in light and in dark, wide and on a phone. */
async function lookAt(
  page: Page,
  { show, isSeen }: { show: () => Promise<unknown>; isSeen: (look: string) => boolean },
  look: (look: string) => Promise<void>,
): Promise<void> {
  await show();
  for (const colorScheme of colorSchemes) {
    const seen = Object.entries(viewports).filter(([viewport]) => isSeen(`${viewport}-${colorScheme}`));
    if (seen.length === 0) continue;
    if (colorScheme !== colorSchemes[0]) await change(page, colorScheme, show);
    for (const [viewport, size] of seen) {
      await page.setViewportSize(size);
      await look(`${viewport}-${colorScheme}`);
    }
  }
}

/** A page with a plot loads itself again for other colours, at a moment of its own: it is left before, and shown anew. */
async function change(page: Page, colorScheme: ColorScheme, show: () => Promise<unknown>): Promise<void> {
  const hasPlot = (await page.locator('[data-plot]').count()) > 0;
  if (hasPlot) await page.goto('about:blank');
  await page.emulateMedia({ colorScheme });
  if (hasPlot) await show();
}
