import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Film } from '../../support/lossy-films.ts';
import type { SoundFilm } from './recipes.ts';

/** Makes the files of a film in a folder, which is fresh. */
export function makeFilm(film: SoundFilm, folder: string, ffmpegPath: string): Film {
  mkdirSync(folder, { recursive: true });
  for (const run of film.runs) {
    execFileSync(ffmpegPath, ['-nostdin', '-y', '-loglevel', 'error', ...run], { cwd: folder, stdio: 'pipe' });
  }
  const files = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
  film.change?.(files);
  const said = { title: film.title ?? 'A film', durationSeconds: film.seconds };
  return { files, description: (base) => ({ ...said, ...film.describe(base) }) };
}
