import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
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

/** As if the window showed another tab: without a window, all tabs of a browser are seen. */
async function show(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
    document.dispatchEvent(new Event('visibilitychange'))`);
}
