import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DownloadProgress, VideoSource, WantedFile } from '../../src/ports/videos.ts';
import { listProcesses, readProcessFile } from '../../src/system/processes.ts';
import { itemsOfPlatformFaults, refusedItems, undownloadableItems } from '../support/failing-items.ts';
import { processesNaming } from '../support/processes-naming.ts';
import { atMostMs, isLongProof } from '../support/proof-scale.ts';
import { downloadFrom, platformOfFile } from '../support/sample-platform.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const platform = platformOfFile();

const never = new AbortController().signal;

function probe(id: string) {
  return platform.usualSource.probe(platform.reference(id), { signal: never });
}

interface Attempt {
  from?: VideoSource;
  directory?: string;
  signal?: AbortSignal;
  onProgress?: (progress: DownloadProgress) => void;
}

const smallest: WantedFile = { output: 'mp4', quality: '360', item: 1 };
const best: WantedFile = { ...smallest, quality: 'best' };

function download(id: string, wanted: WantedFile = smallest, attempt: Attempt = {}) {
  const {
    from = platform.usualSource,
    directory = temporaryDirectory(),
    signal = never,
    onProgress = () => undefined,
  } = attempt;
  return from.download(platform.reference(id), wanted, { directory, signal, onProgress });
}

test('metadata is what the platform announces', async () => {
  const thumbnail = `${platform.url}/thumbnails/bars.svg`;
  expect(await probe('bars')).toEqual({
    ok: true,
    metadata: { title: 'Colour bars', durationSeconds: 10, thumbnail, downloadRefusal: null },
  });
  const known = { live: 'live_stream', long: 'too_long', large: 'too_large', drm: 'drm_protected' };
  for (const [item, downloadRefusal] of Object.entries(known))
    expect(await probe(item)).toMatchObject({ ok: true, metadata: { downloadRefusal } });
  expect(await probe('long')).toMatchObject({ ok: true, metadata: { durationSeconds: 172_800 } });
});

/** A probe meets the same words of the engine on the same way as a download: here of one item that is shown, and one that is not. */
const isProbed = (id: string) => (isLongProof && id !== 'drm') || ['private', 'busy', 'nonesuch'].includes(id);

describe('an item that cannot be had', () => {
  test.each([...refusedItems, ...itemsOfPlatformFaults, ['nonesuch', 'video_unavailable']])(
    '%s fails as %s',
    async (id, reason) => {
      // The page of the platform says that such a download stays charged.
      expect(await download(id)).toMatchObject({ ok: false, reason, fault: 'video' });
      if (isProbed(id)) expect(await probe(id)).toMatchObject({ ok: false, reason });
    },
  );

  test.each(undownloadableItems)('%s is refused for download as %s', async (id, reason) => {
    expect(await download(id)).toMatchObject({ ok: false, reason, fault: 'video' });
  });

  test('flaky fails at first and then works', async () => {
    expect(await download('flaky')).toMatchObject({ ok: false, reason: 'platform_error' });
    expect(await download('flaky')).toMatchObject({ ok: true });
  });

  test('of an unknown platform is refused without being fetched', async () => {
    const video = { ...platform.reference('bars'), platform: 'constructor' };
    expect(await platform.usualSource.probe(video, { signal: never })).toMatchObject({
      ok: false,
      reason: 'unsupported_media',
    });
  });

  test('whose address is an option, or belongs to another extractor, is refused', async () => {
    for (const canonicalUrl of ['--exec=touch /tmp/x', 'file:///etc/hostname', `${platform.url}/media/bars/360p.mp4`]) {
      const video = { ...platform.reference('bars'), canonicalUrl };
      expect(await platform.usualSource.probe(video, { signal: never })).toMatchObject({
        ok: false,
        reason: 'unsupported_media',
      });
    }
  });

  test('whose platform cannot be reached fails as platform_error, and soon', async () => {
    // A proxy that is not there: the same on machines with and without the internet.
    const video = {
      platform: 'youtube',
      videoId: 'aqz-KE-bpKQ',
      canonicalUrl: 'https://www.youtube.com/watch?v=aqz-KE-bpKQ',
    };
    const cutOff = platform.source({}, { proxyUrl: 'http://127.0.0.1:1' });
    const startedMs = performance.now();
    expect(await cutOff.probe(video, { signal: never })).toMatchObject({ ok: false, reason: 'platform_error' });
    expect(await downloadFrom(cutOff, video)).toMatchObject({ ok: false, reason: 'platform_error' });
    expect(performance.now() - startedMs).toBeLessThan(40_000);
  });
});

describe('a download under way', () => {
  test('tells its progress, and is ended with every child when it is aborted', async () => {
    const directory = temporaryDirectory();
    const abort = new AbortController();
    const progress: DownloadProgress[] = [];
    const onProgress = (step: DownloadProgress) => progress.push(step);
    const result = download('slow', best, { directory, signal: abort.signal, onProgress });
    await waitFor(() => progress.length >= 3, { what: 'three reports of progress' });
    expect(processesNaming(directory).length).toBeGreaterThan(0);
    const abortedMs = performance.now();
    abort.abort();
    expect(await result).toMatchObject({ ok: false, reason: 'internal_error' });
    expect(performance.now() - abortedMs).toBeLessThan(atMostMs(2_000));
    expect(processesNaming(directory)).toEqual([]);
    const percents = progress.map(({ percent }) => percent ?? -1);
    expect(percents).toEqual(percents.toSorted((left, right) => left - right));
    expect(percents.every((percent) => percent >= 0 && percent <= 100)).toBe(true);
    expect(progress.at(-1)).toMatchObject({
      etaSeconds: expect.any(Number) as number,
      bytesPerSecond: expect.any(Number) as number,
    });
  });

  test('is ended at its time limit', async () => {
    const impatient = platform.source({ attemptTimeoutMs: 2500 });
    expect(await download('slow', best, { from: impatient })).toMatchObject({ reason: 'timed_out' });
  });

  test('is ended when it brings more bytes than allowed without having announced them', async () => {
    const small = platform.source({ maxFileSizeBytes: 600_000 });
    expect(await download('hls', { ...best, quality: '720' }, { from: small })).toMatchObject({
      ok: false,
      reason: 'too_large',
    });
  });

  test('does not begin in a directory that holds something', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'media'));
    writeFileSync(join(directory, 'media', 'media.mp4'), 'left by an earlier attempt');
    expect(await download('bars', smallest, { directory })).toMatchObject({
      ok: false,
      reason: 'internal_error',
    });
  });

  test('is not begun when it was aborted before', async () => {
    const result = await download('bars', smallest, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ ok: false, reason: 'internal_error' });
  });
});

test('a process to fork from that cannot be tried is ended, and downloads go on without it', async ({ skip }) => {
  if (!platform.canFork) return skip('children are not forked here');
  const ours = () =>
    listProcesses()
      .filter(
        ({ pid, parent }) => parent === process.pid && readProcessFile(pid, 'cmdline')?.includes('reeltally:warm'),
      )
      .map(({ pid }) => pid);
  const before = ours();
  const workDirectory = join(temporaryDirectory(), 'a-file');
  writeFileSync(workDirectory, 'in the place of the folder');
  const warned: string[] = [];
  const logger = { warn: (_details: object, message: string) => void warned.push(message) };
  const from = platform.source({}, { workDirectory, logger });
  expect(await download('bars', smallest, { from })).toMatchObject({ ok: true });
  expect(warned).toEqual(['yt-dlp is started anew for each download, which is slower']);
  const isLeft = (pid: number) => !before.includes(pid);
  await waitFor(() => !ours().some(isLeft), { what: 'the end of the process to fork from' });
});
