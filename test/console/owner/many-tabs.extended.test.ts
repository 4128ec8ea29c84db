import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { median } from '../../bench/figures.ts';
import { browserOfFile, isWithoutBrowser } from '../../support/browser.ts';
import { queue, underWay } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import { consoleOfRun, openSmallAccount, sessionOf } from './owners.ts';

/** A browser opens six connections to one host (RFC 9112, section 9.4, leaves the number to it). */
const tabs = 12;

describe.skipIf(isWithoutBrowser)('many tabs of live pages in one browser', () => {
  const service = consoleOfRun();
  const browser = browserOfFile();

  /** Tabs of one browser that all show the list with a running download, and the number of streams that are open at most. */
  async function openTabs(): Promise<{ pages: Page[]; streams: () => number; token: string; key: string }> {
    const { accountId, email } = await openSmallAccount(service, 'tabs');
    const { key } = await service.cli<{ key: string }>('keys', 'issue', accountId);
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('slow') });
    await underWay(service.url, key, token);
    const first = await browser.open(service.url, { session: await sessionOf(browser, service, email) });
    const context = first.context();
    const open = new Set<unknown>();
    context.on('request', (request) => {
      if (request.url().includes('/live')) open.add(request);
    });
    const end = (request: unknown) => void open.delete(request);
    context.on('requestfinished', end);
    context.on('requestfailed', end);
    const pages = [first];
    for (let tab = 1; tab < tabs; tab += 1) pages.push(await context.newPage());
    for (const page of pages) {
      await page.goto('/console/downloads');
      await page.getByRole('heading', { name: 'Downloads' }).waitFor();
    }
    return { pages, streams: () => open.size, token, key };
  }

  test('all load, and a link opens in each of them', async () => {
    const { pages, streams } = await openTabs();
    await waitFor(() => streams() > 0, { what: 'a stream' });
    expect(streams()).toBeLessThan(6);
    for (const page of pages) {
      await page.getByRole('link', { name: 'API keys' }).click();
      await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    }
    await waitFor(() => streams() === 0, { what: 'the streams of pages that are left to end' });
  });

  test('a click takes as long as without them, because a connection is free for it', async () => {
    const { pages, streams } = await openTabs();
    await waitFor(() => streams() > 0, { what: 'a stream' });
    const [clicked, ...others] = pages;
    const beside = await clickThrough(clicked!, streams);
    // What the tabs themselves cost on a machine of few cores, without a stream in any of them.
    for (const page of others) await page.goto('/console/keys');
    const still = await clickThrough(clicked!, streams);
    for (const page of others) await page.close();
    const alone = await clickThrough(clicked!, streams);
    const ms = ({ tookMs }: { tookMs: number[] }) => median(tookMs);
    console.log(
      `a click with ${String(tabs)} live tabs ${ms(beside).toFixed(0)} ms, with as many that are not live ${ms(still).toFixed(0)} ms, alone ${ms(alone).toFixed(0)} ms: ${(ms(beside) / ms(still)).toFixed(2)} and ${(ms(beside) / ms(alone)).toFixed(2)} times; at most ${String(beside.streams)} streams at once`,
    );
    // How long it takes says what else the machine does; a browser whose six connections are all taken would not load it at all.
    expect(beside.streams).toBeGreaterThan(1);
    expect(beside.streams).toBeLessThan(6);
  });

  test('a hidden one lets go of its stream, and goes on where it is seen again', async () => {
    const { pages, streams } = await openTabs();
    await waitFor(() => streams() > 0, { what: 'a stream' });
    await Promise.all(pages.map((page) => show(page, 'hidden')));
    await waitFor(() => streams() === 0, { what: 'the streams of hidden tabs to end' });
    const [, , seen] = pages;
    await show(seen!, 'visible');
    await waitFor(() => streams() === 1, { what: 'the stream of the tab that is seen' });
  });
});

const clicks = 12;

/** From the list with the running download to another page and back. @returns how long each took, and the streams at most */
async function clickThrough(page: Page, streams: () => number): Promise<{ tookMs: number[]; streams: number }> {
  const tookMs: number[] = [];
  let most = 0;
  const click = async (name: string) => {
    most = Math.max(most, streams());
    const beganMs = performance.now();
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    tookMs.push(performance.now() - beganMs);
  };
  for (let round = 0; round < clicks; round += 1) {
    await click('API keys');
    await click('Downloads');
  }
  return { tookMs, streams: most };
}

/** As if the window showed another tab: without a window, all tabs of a browser are seen. */
async function show(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
    document.dispatchEvent(new Event('visibilitychange'))`);
}
