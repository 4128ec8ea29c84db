import { appendFileSync, chmodSync, copyFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bundlePackageDirectory } from '../../src/downloader/yt-dlp/programs.ts';
import { linkEngine, prepareDataDirectory } from '../support/films-and-engine-of-run.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { expectRefusal, runIn } from './command-line.ts';

const packed = join(bundlePackageDirectory() ?? '', 'bin', 'yt-dlp.musl');

interface Shown {
  programs: { path: string; version: string; sha256: string; expected_sha256: string }[];
}

/** A data folder, and commands that use the engine of npm there, as on a machine without settings. */
async function fresh() {
  const directory = temporaryDirectory();
  await prepareDataDirectory(directory);
  // An engine of its own: what is installed there is for nobody else.
  linkEngine(directory);
  const own = { REELTALLY_DATA: directory, ENGINE_DIRECTORY: join(directory, 'engine') };
  const run = runIn(own);
  const shown = async () => {
    const { stdout } = await run('engine', 'show', '--json');
    const [ytDlp] = (JSON.parse(stdout) as Shown).programs;
    return ytDlp;
  };
  return { run, shown, directory, own };
}

it.skipIf(!existsSync(packed))(
  'a newer yt-dlp serves once it has passed its tests, and goes with one command',
  async () => {
    const { run, shown, directory } = await fresh();
    const tested = await shown();
    // Another build, as far as anything here can tell: its hash is another one.
    const newer = join(directory, 'yt-dlp-of-tomorrow');
    copyFileSync(packed, newer);
    appendFileSync(newer, '\0');
    const installed = await run('engine', 'install', newer, '--json');
    expect({ code: installed.code, stderr: installed.stderr }).toEqual({ code: 0, stderr: '' });
    const answer = JSON.parse(installed.stdout) as { path: string; sha256: string; passed: string[] };
    expect(answer.passed).toEqual(['metadata', 'MP4', 'MP3', 'HLS', 'a refusal']);
    expect(await shown()).toMatchObject({
      path: answer.path,
      version: tested?.version,
      sha256: answer.sha256,
      expected_sha256: answer.sha256,
    });
    // A broken one changes nothing.
    const broken = join(directory, 'broken');
    writeFileSync(broken, '#!/bin/sh\necho 2027.01.01\n');
    expectRefusal(await run('engine', 'install', broken), /does not serve, and nothing was changed:\n {2}metadata: /);
    expect((await shown())?.path).toBe(answer.path);
    // One that is changed in its place is not used.
    const place = join(answer.path, '..', 'yt-dlp.musl');
    chmodSync(place, 0o755);
    appendFileSync(place, 'changed');
    expectRefusal(await run('engine', 'show'), /is not the one that was installed there/);
    expect(await run('engine', 'restore')).toMatchObject({ code: 0 });
    expect(await shown()).toEqual(tested);
    expect(JSON.parse((await run('engine', 'restore', '--json')).stdout)).toEqual({ restored: false });
  },
);

it.skipIf(!existsSync(packed))('what is no newer yt-dlp is refused', async () => {
  const { run, directory, own } = await fresh();
  expectRefusal(await run('engine', 'install', packed), /this is the yt-dlp that npm brings/);
  expectRefusal(await run('engine', 'install', join(directory, 'nowhere')), /nowhere cannot be installed: ENOENT/);
  const named = runIn({ ...own, YTDLP_PATH: packed });
  expectRefusal(await named('engine', 'install', packed), /YTDLP_PATH is set/);
  expect(readdirSync(join(directory, 'engine')).filter((name) => name.startsWith('making-'))).toEqual([]);
});
