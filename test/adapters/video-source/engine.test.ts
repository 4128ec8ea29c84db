import { chmodSync, copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { EngineUnusable, locateEngine, verifyBundledEngine } from '../../../src/adapters/yt-dlp-engine.ts';
import { startTestPlatform } from '../../support/sample-platform.ts';
import type { TestPlatform } from '../../support/sample-platform.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform([], { isUnpacked: false });
});
afterAll(() => platform.close());

describe('finding the engine', () => {
  test('an explicit path wins', async () => {
    const path = join(temporaryDirectory(), 'my-yt-dlp');
    writeFileSync(path, '');
    chmodSync(path, 0o700);
    const found = await locateEngine({ ytDlpPath: path }, '');
    expect(found).toMatchObject({ ytDlpPath: path, ffmpegPath: platform.engine.ffmpegPath });
  });

  test('a path that is not executable is refused by the name of its setting', async () => {
    const path = join(temporaryDirectory(), 'ffprobe');
    writeFileSync(path, '', { mode: 0o600 });
    for (const ffprobePath of [path, dirname(path), '/nowhere/ffprobe']) {
      const message = `FFPROBE_PATH is ${ffprobePath}, which is not an executable file.`;
      await expect(locateEngine({ ffprobePath }, '')).rejects.toThrow(message);
    }
  });

  test('an engine that is not the pinned one is refused', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'yt-dlp.musl'), 'something else');
    await expect(verifyBundledEngine(directory)).rejects.toThrow(EngineUnusable);
    await expect(verifyBundledEngine(temporaryDirectory())).rejects.toThrow(/npm ci/);
  });
});

describe('starting the engine', () => {
  const signal = new AbortController().signal;

  test('the bundled one is unpacked once, and again when its files were damaged', { timeout: 120_000 }, async () => {
    const engineDirectory = join(platform.directory, 'work', 'engine');
    expect(await platform.source().probe(platform.reference('bars'), { signal })).toMatchObject({ ok: true });
    const [unpacked = '', ...others] = readdirSync(engineDirectory);
    expect(others).toEqual([]);
    copyFileSync('/etc/hostname', join(engineDirectory, unpacked, 'base_library.zip'));
    expect(await platform.source().probe(platform.reference('bars'), { signal })).toMatchObject({ ok: true });
    expect(readdirSync(engineDirectory)).toEqual([unpacked]);
  });

  test('another one is started as it is', async () => {
    const directory = join(temporaryDirectory(), 'bin');
    mkdirSync(directory);
    symlinkSync(platform.engine.ytDlpPath, join(directory, 'yt-dlp'));
    const source = platform.source({}, { ytDlpPath: join(directory, 'yt-dlp') });
    expect(await source.probe(platform.reference('bars'), { signal })).toMatchObject({ ok: true });
  });

  test('one that cannot be started is our own failure', async () => {
    const source = platform.source({}, { ytDlpPath: '/nowhere/yt-dlp' });
    const result = await source.probe(platform.reference('bars'), { signal });
    expect(result).toMatchObject({ ok: false, reason: 'internal_error' });
  });
});
