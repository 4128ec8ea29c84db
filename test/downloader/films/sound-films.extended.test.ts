import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lossyPlatformOfFile } from '../../support/lossy-platform.ts';
import { isLongProof } from '../../support/proof-scale.ts';
import { downloadFrom } from '../../support/sample-platform.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { aFewAtATime } from '../a-few-at-a-time.ts';
import { makeFilm } from './make-film.ts';
import type { SoundFilm } from './recipes.ts';
import { soundFilms } from './sound-films.ts';

const started = lossyPlatformOfFile();

function codecsOf(path: string): string {
  const shown = ['-v', 'error', '-show_streams', '-of', 'json', path];
  const { streams } = JSON.parse(execFileSync(started.platform.engine.ffprobePath, shown, { encoding: 'utf8' })) as {
    streams: { codec_type: string; codec_name: string }[];
  };
  const named = (kind: string) => streams.filter((each) => each.codec_type === kind).map((each) => each.codec_name);
  return [...named('video'), ...named('audio')].join('+');
}

/** The quick choice takes some of each part of the table. */
const every = isLongProof ? 1 : 8;
const chosen = soundFilms.filter((_, index) => index % every === 0);

/** @returns what is wrong with what was delivered; undefined if nothing is */
async function wrongDelivery(film: SoundFilm, folder: string): Promise<string | undefined> {
  const made = makeFilm(film, join(folder, 'film'), started.platform.engine.ffmpegPath);
  const attempt = join(folder, 'attempt');
  mkdirSync(attempt);
  const result = await downloadFrom(
    started.platform.usualSource,
    started.lossy.reference(made, undefined),
    film,
    attempt,
  );
  if (!result.ok) return `${result.reason}: ${result.detail}`;
  const codecs = codecsOf(result.path);
  if (codecs !== film.gives) return `has ${codecs} instead of ${film.gives}`;
  const isAsItCame = film.output === 'jpg' && made.files.get('a.jpg')?.equals(readFileSync(result.path)) === false;
  return isAsItCame ? 'the bytes of the still were changed' : undefined;
}

test('what plays everywhere is delivered', async () => {
  const wrong: Record<string, string> = {};
  const folder = temporaryDirectory();
  await aFewAtATime(chosen, async (film) => {
    const said = await wrongDelivery(film, mkdtempSync(join(folder, 'film-'))).catch(String);
    if (said !== undefined) wrong[film.name] = said;
  });
  if (isLongProof) console.log(`${chosen.length} sound films and stills`);
  expect(wrong).toEqual({});
});
