import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  bundlePackageDirectory,
  type DownloaderPrograms,
  DownloaderUnusable,
  installDownloader,
  locateDownloader,
} from '../../../src/downloader/yt-dlp/programs.ts';
import { platformOfFile } from '../../support/sample-platform.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const platform = platformOfFile([], { isUnpacked: false });

function changeOneByte(path: string): void {
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  // Under the same name, and not in the file that others link to.
  unlinkSync(path);
  writeFileSync(path, bytes, { mode: 0o755 });
}

describe('finding the engine', () => {
  test('an explicit path wins', async () => {
    const path = join(temporaryDirectory(), 'my-yt-dlp');
    writeFileSync(path, '');
    chmodSync(path, 0o700);
    const found = await locateDownloader({ ytDlpPath: path }, '');
    expect(found).toMatchObject({ ytDlpPath: path, ffmpegPath: platform.engine.ffmpegPath });
  });

  test('a path that is not executable is refused by the name of its setting', async () => {
    const path = join(temporaryDirectory(), 'ffprobe');
    writeFileSync(path, '', { mode: 0o600 });
    for (const ffprobePath of [path, dirname(path), '/nowhere/ffprobe']) {
      const message = `FFPROBE_PATH is ${ffprobePath}, which is not an executable file.`;
      await expect(locateDownloader({ ffprobePath }, '')).rejects.toThrow(message);
    }
  });
});

describe('installing the engine', () => {
  const packageDirectory = bundlePackageDirectory() ?? '';

  /** The package again, as links to its files, which take no room. */
  function packageToDamage(): { packageDirectory: string; located: DownloaderPrograms } {
    const copy = join(temporaryDirectory(), 'package');
    execFileSync('cp', ['-al', packageDirectory, copy]);
    // What is changed in its place is a file of the copy's own.
    execFileSync('cp', ['--remove-destination', platform.engine.ffmpegPath, join(copy, 'bin', 'ffmpeg')]);
    const inCopy = (path: string) => path.replace(packageDirectory, copy);
    const { ytDlpPath, ffmpegPath, ffprobePath } = platform.engine;
    const located = {
      ytDlpPath: inCopy(ytDlpPath),
      ffmpegPath: inCopy(ffmpegPath),
      ffprobePath: inCopy(ffprobePath),
    };
    return { packageDirectory: copy, located };
  }

  test('one changed byte is refused, and nothing of it stays', async () => {
    const { packageDirectory: damaged, located } = packageToDamage();
    changeOneByte(join(damaged, 'runtime/glibc/libz.so.1'));
    const directory = join(temporaryDirectory(), 'engine');
    const installing = installDownloader(located, { directory, packageDirectory: damaged });
    await expect(installing).rejects.toThrow(DownloaderUnusable);
    await expect(installing).rejects.toThrow(
      /^The package n8n-\S+ is not the one .* Run "npm ci" again, or set YTDLP_PATH/,
    );
    expect(readdirSync(directory)).toEqual([]);
  });

  test('what runs is the copy that was hashed, whatever becomes of the package', async () => {
    const directory = join(temporaryDirectory(), 'engine');
    const given = packageToDamage();
    const { packageDirectory: source, located } = given;
    const installed = await installDownloader(located, { directory, packageDirectory: source });
    expect(Object.values(installed).every((path: string) => path.startsWith(`${directory}/bundle-`))).toBe(true);
    // Between its hash and its run a file is changed in its place, and then all are gone.
    writeFileSync(located.ffmpegPath, '#!/bin/sh');
    rmSync(source, { recursive: true });
    expect(execFileSync(installed.ffmpegPath, ['-version'], { encoding: 'utf8' })).toMatch(/^ffmpeg version /);
    // What is installed is checked by the next process, and was good.
    expect(await installDownloader(located, { directory, packageDirectory: source })).toEqual(installed);
  });

  test('programs from elsewhere stay where they are', async () => {
    const own = { ytDlpPath: '/opt/yt-dlp', ffmpegPath: '/opt/ffmpeg', ffprobePath: '/opt/ffprobe' };
    expect(await installDownloader(own, { directory: '/nowhere' })).toEqual(own);
  });
});

describe('starting the engine', () => {
  const signal = new AbortController().signal;

  test('the bundled one is unpacked once, and again when its files were damaged', async () => {
    const engineDirectory = join(platform.directory, 'work', 'engine');
    expect(await platform.source().probe(platform.reference('bars'), { signal })).toMatchObject({ ok: true });
    const [unpacked = '', ...others] = readdirSync(engineDirectory);
    expect(others).toEqual([]);
    changeOneByte(join(engineDirectory, unpacked, 'base_library.zip'));
    writeFileSync(join(engineDirectory, unpacked, 'sitecustomize.py'), 'import nothing');
    expect(await platform.source().probe(platform.reference('bars'), { signal })).toMatchObject({ ok: true });
    expect(readdirSync(engineDirectory)).toEqual([unpacked]);
    expect(existsSync(join(engineDirectory, unpacked, 'sitecustomize.py'))).toBe(false);
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
