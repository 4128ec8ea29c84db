/** What is the same for every test file and takes seconds to make: made by the first that needs it, for the whole run. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startReaper } from '../../src/downloader/sandbox/child-reaper.ts';
import { installedAt } from '../../src/downloader/yt-dlp/installed-tree.ts';
import { bundlePackageDirectory, bundleSha256, locateDownloader } from '../../src/downloader/yt-dlp/programs.ts';
import { prepareYtDlp } from '../../src/downloader/yt-dlp/unpack.ts';
import { createSampleMedia } from '../../src/embedded/sample-platform/media.ts';

/** The folder of the run, made and removed by global-setup.ts; none outside vitest. */
const directoryOfRun = (): string | undefined => process.env['TEST_MADE_ONCE'];

/** The sample films of the run. A set appears there by one rename, so that several files may make it. */
export function filmsOfRun(): string | undefined {
  const directory = directoryOfRun();
  return directory === undefined ? undefined : join(directory, 'films');
}

/**
 * Puts into the data directory of a service that has just started what downloads of an earlier start would have left there:
 * links to the sample films. The engine of the run is unpacked. Both are looked for only when a download needs them.
 */
export async function prepareDataDirectory(dataDirectory: string): Promise<void> {
  const films = filmsOfRun();
  if (films === undefined) return;
  const cache = join(dataDirectory, 'sample-platform');
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  // The films that nearly every test asks for are made if need be; of the others, whatever there is by now.
  if (!finishedSets(films).some((name) => name.startsWith('wide-'))) await makeFilms(films);
  for (const name of finishedSets(films)) {
    if (!existsSync(join(cache, name))) symlinkSync(join(films, name), join(cache, name));
  }
  await prepareEngine();
}

const finishedSets = (films: string): string[] =>
  existsSync(films) ? readdirSync(films).filter((name) => !name.includes('-making-')) : [];

async function makeFilms(directory: string): Promise<void> {
  const { ffmpegPath } = await locateDownloader({}, process.env['PATH'] ?? '');
  await createSampleMedia({ cacheDirectory: directory, ffmpegPath }).directoryOf('wide');
}

/** Where all processes of the run have the engine, copied, checked and unpacked once; undefined outside vitest. */
export function engineDirectoryOfRun(): string | undefined {
  const directory = directoryOfRun();
  return directory === undefined ? undefined : join(directory, 'engine');
}

/**
 * Settings of processes that use the engine of the run. Its programs are named one by one, so that they are taken as they are: to
 * hash them is a fifth of a service's start.
 */
export function engineOfRun(): Record<string, string> {
  const directory = engineDirectoryOfRun();
  if (directory === undefined) return {};
  const bin = join(installedAt({ directory, name: 'bundle', sha256: bundleSha256 }), 'bin');
  const programs = {
    YTDLP_PATH: join(bin, 'yt-dlp'),
    FFMPEG_PATH: join(bin, 'ffmpeg'),
    FFPROBE_PATH: join(bin, 'ffprobe'),
  };
  return { ENGINE_DIRECTORY: directory, ...(existsSync(bin) && programs) };
}

/**
 * Installs the engine of the run as links to the files of the package, which take no time: several services that start at once
 * would each copy it. Where links are not to be had, they do.
 */
export function linkEngine(directory: string): void {
  const packageDirectory = bundlePackageDirectory();
  if (packageDirectory === undefined) return;
  const target = installedAt({ directory: join(directory, 'engine'), name: 'bundle', sha256: bundleSha256 });
  // Children of root, who are other users, pass through it.
  mkdirSync(dirname(target), { recursive: true, mode: 0o711 });
  const { status } = spawnSync('cp', ['-al', packageDirectory, target], { stdio: 'ignore' });
  if (status !== 0) rmSync(target, { recursive: true, force: true });
}

let preparing: Promise<void> | undefined;

/** Unpacks the engine of the run, unless that is done already, so that no download waits for it. Each process looks once. */
export function prepareEngine(): Promise<void> {
  preparing ??= unpackEngine();
  return preparing;
}

async function unpackEngine(): Promise<void> {
  const directory = engineDirectoryOfRun();
  if (directory === undefined) return;
  const { ytDlpPath } = await locateDownloader({}, process.env['PATH'] ?? '');
  const reaper = startReaper();
  try {
    // Where it cannot be unpacked, each test's own engine says so.
    const onProblem = () => undefined;
    await prepareYtDlp({ ytDlpPath, directory, reaper, onProblem });
  } finally {
    reaper.close();
  }
}
