import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pagePath, sampleItems } from '../../src/embedded/sample-platform/items.ts';
import { startSamplePlatform } from '../../src/embedded/sample-platform/sample-platform.ts';
import { itemsOfPlatformFaults, refusedItems, undownloadableItems } from '../support/failing-items.ts';
import { platformOfFile } from '../support/sample-platform.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const platform = platformOfFile();

async function fetchText(path: string): Promise<{ status: number; type: string; text: string }> {
  const response = await fetch(platform.url + path);
  return { status: response.status, type: response.headers.get('content-type') ?? '', text: await response.text() };
}

test('the index page lists every item with its kind and address', async () => {
  const { text, type } = await fetchText('/');
  expect(type).toBe('text/html; charset=utf-8');
  for (const [id, item] of Object.entries(sampleItems)) {
    expect(text).toContain(`href="${platform.url}${pagePath(id, item)}"`);
    expect(text).toContain(item.kind);
  }
});

test('the index page says of each item that fails why, and what is charged', async () => {
  const { text } = await fetchText('/');
  const reasons = new Map<string, string>([...refusedItems, ...undownloadableItems, ...itemsOfPlatformFaults]);
  for (const [id, item] of Object.entries(sampleItems)) {
    const reason = reasons.get(id);
    const told = reason === undefined ? 'a file' : `fails: <code>${reason}</code>`;
    const row = text.split('<tr>').find((each) => each.includes(`href="${platform.url}${pagePath(id, item)}"`));
    expect([id, row]).toEqual([id, expect.stringContaining(told)]);
    expect(row?.includes('stays charged')).toBe(reason !== undefined);
    expect((await fetchText(pagePath(id, item))).text).toContain(told);
  }
});

test('every item has a page and a still', async () => {
  for (const [id, item] of Object.entries(sampleItems)) {
    expect((await fetchText(pagePath(id, item))).status).toBe(200);
    const still = await fetchText(`/thumbnails/${id}.svg`);
    expect(still).toMatchObject({ status: 200, type: 'image/svg+xml' });
    expect(still.text).toMatch(/^<svg /);
  }
});

test.each([
  '/watch/nonesuch',
  '/watch/stills',
  '/photo/bars',
  '/media/stills/still9.jpg',
  '/media/dash/piece0.x.m4s',
  '/watch/__proto__',
  '/media/bars/../../items.ts',
  '/media/private/360p.mp4',
  '/api/items',
  '/x',
])('%s is not there', async (path) => {
  expect((await fetchText(path)).status).toBe(404);
});

test('media can be read in ranges', async () => {
  const url = `${platform.url}/media/tracks/sound.m4a`;
  const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
  const ranged = async (range: string) => {
    const response = await fetch(url, { headers: { range } });
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  };
  expect(await ranged('bytes=4-7')).toEqual({ status: 206, body: Buffer.from('ftyp') });
  expect(await ranged('bytes=-5')).toEqual({ status: 206, body: whole.subarray(-5) });
  expect(await ranged(`bytes=${whole.length}-`)).toMatchObject({ status: 416 });
});

test('two platforms share a cache, and neither leaves anything unfinished there', async () => {
  const cacheDirectory = join(temporaryDirectory(), 'media');
  const { ffmpegPath } = platform.engine;
  const both = await Promise.all([
    startSamplePlatform({ cacheDirectory, ffmpegPath }),
    startSamplePlatform({ cacheDirectory, ffmpegPath }),
  ]);
  const answers = await Promise.all(both.map(({ url }) => fetch(`${url}/media/hls/360p.m3u8`)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  await Promise.all(both.map((each) => each.close()));
  expect(readdirSync(cacheDirectory)).toEqual(['segments-v2']);
});

test('a platform that is closed while it makes films ends, and leaves nothing behind', async () => {
  const cacheDirectory = join(temporaryDirectory(), 'media');
  const closing = await startSamplePlatform({ cacheDirectory, ffmpegPath: platform.engine.ffmpegPath });
  const answer = fetch(`${closing.url}/media/bars/1080p.mp4`).catch(() => undefined);
  await waitFor(() => existsSync(cacheDirectory) && readdirSync(cacheDirectory).length > 0, { what: 'ffmpeg at work' });
  await closing.close();
  await answer;
  expect(readdirSync(cacheDirectory, { recursive: true })).toEqual([]);
});
