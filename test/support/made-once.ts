/** What is the same for every test file and takes seconds to make: made by the first that needs it, for the whole run. */

import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { startKeeper } from '../../src/adapters/contained-process-keeper.ts';
import { locateEngine } from '../../src/adapters/yt-dlp-engine.ts';
import { prepareYtDlp } from '../../src/adapters/yt-dlp-unpacked.ts';
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
 * links to the sample films, and the unpacked engine. Both are looked for only when a download needs them.
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
  await prepareEngine(join(dataDirectory, 'work'));
}

const finishedSets = (films: string): string[] =>
  existsSync(films) ? readdirSync(films).filter((name) => !name.includes('-making-')) : [];

async function makeFilms(directory: string): Promise<void> {
  const { ffmpegPath } = await locateEngine({}, process.env['PATH'] ?? '');
  await createSampleMedia({ cacheDirectory: directory, ffmpegPath }).directoryOf('wide');
}

/** Puts a copy of the unpacked engine into a work directory that has none. A copy, because some tests damage theirs. */
export async function prepareEngine(workDirectory: string): Promise<void> {
  const directory = directoryOfRun();
  if (directory === undefined) return;
  const [engines, own] = [join(directory, 'engine'), join(workDirectory, 'engine')];
  mkdirSync(engines, { recursive: true, mode: 0o700 });
  const finished = () => readdirSync(engines).find((name) => /^yt-dlp-[0-9a-f]+$/.test(name));
  if (finished() === undefined) await unpackEngine(engines);
  const name = finished();
  if (name === undefined || existsSync(join(own, name))) return;
  mkdirSync(own, { recursive: true, mode: 0o700 });
  cpSync(join(engines, name), join(own, name), { recursive: true, verbatimSymlinks: true });
}

async function unpackEngine(directory: string): Promise<void> {
  const { ytDlpPath } = await locateEngine({}, process.env['PATH'] ?? '');
  const keeper = startKeeper();
  try {
    // Where it cannot be unpacked, each test's own engine says so.
    await prepareYtDlp({ ytDlpPath, directory, keeper, onProblem: () => undefined });
  } finally {
    keeper.close();
  }
}
