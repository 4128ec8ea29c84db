import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Random } from '../../audit/random.ts';
import type { Film } from '../../support/lossy-films.ts';
import { type Fault, lossyPlatformOfFile } from '../../support/lossy-platform.ts';
import { isLongProof } from '../../support/proof-scale.ts';
import { downloadFrom } from '../../support/sample-platform.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { aFewAtATime } from '../a-few-at-a-time.ts';
import { makeFilm } from './make-film.ts';
import { twoMakes } from './odd-streams.ts';
import type { SoundFilm } from './recipes.ts';
import { soundFilms } from './sound-films.ts';

/** Transfers that lost something of a film that is sound: none of them may be taken for the film. */

const seed = Number(process.env['PROOF_SEED'] ?? 1);

const started = lossyPlatformOfFile();

interface Broken {
  film: string;
  file: string;
  what: string;
  fault: (files: ReadonlyMap<string, Buffer>) => Fault;
}

const page = Buffer.from('<!doctype html><title>Gone</title><p>This piece has expired.</p>');
const json = Buffer.from('{"error":"expired"}');
const lengthOf = (files: ReadonlyMap<string, Buffer>, file: string) => files.get(file)?.length ?? 0;
const at = (share: number, file: string) => (files: ReadonlyMap<string, Buffer>) =>
  Math.max(1, Math.floor(lengthOf(files, file) * share));

/** Bytes turned over where the container or a decoder can notice. */
function flipped(files: ReadonlyMap<string, Buffer>, file: string, share: number, count: number): Fault {
  const bytes = Buffer.from(files.get(file) ?? Buffer.alloc(0));
  const from = Math.floor(bytes.length * share);
  for (let index = from; index < Math.min(from + count, bytes.length); index += 1)
    bytes[index] = ~(bytes[index] ?? 0) & 0xff;
  return { kind: 'bytes', bytes };
}

function onFile(film: string, file: string): Broken[] {
  const cuts = [0.02, 0.5, 0.9, 0.99].map((share): Broken => ({
    film,
    file,
    what: `cut at ${share}`,
    fault: (files) => ({ kind: 'cut', atByte: at(share, file)(files) }),
  }));
  return [
    ...cuts,
    { film, file, what: 'closed at 0.6', fault: (files) => ({ kind: 'closed', atByte: at(0.6, file)(files) }) },
    {
      film,
      file,
      what: 'without a length, closed at 0.7',
      fault: (files) => ({ kind: 'unannounced', atByte: at(0.7, file)(files) }),
    },
    {
      film,
      file,
      what: 'in chunks, ended at 0.7',
      fault: (files) => ({ kind: 'chunked', atByte: at(0.7, file)(files) }),
    },
    { film, file, what: 'empty', fault: () => ({ kind: 'cut', atByte: 0 }) },
    { film, file, what: 'a page', fault: () => ({ kind: 'bytes', bytes: page, type: 'text/html' }) },
    { film, file, what: '404', fault: () => ({ kind: 'status', status: 404 }) },
  ];
}

/** Between two fragments, of which each is whole, about so far into the file. */
const betweenFragments = (share: number, file: string) => (files: ReadonlyMap<string, Buffer>) =>
  (files.get(file)?.lastIndexOf('moof', at(share, file)(files)) ?? 0) - 4;

/** Of kinds that may end anywhere: less than was announced, half of the film, or an end that nothing proves. */
const onLooseFile = (film: string, file: string) =>
  onFile(film, file).filter(({ what }) => !['cut at 0.9', 'cut at 0.99'].includes(what));

function onPiece(film: string, file: string, other: string): Broken[] {
  return [
    ...(['404', '410', '503'] as const).map((status): Broken => ({
      film,
      file,
      what: status,
      fault: () => ({ kind: 'status', status: Number(status) }),
    })),
    { film, file, what: 'cut', fault: (files) => ({ kind: 'cut', atByte: at(0.63, file)(files) }) },
    { film, file, what: 'closed', fault: (files) => ({ kind: 'closed', atByte: at(0.3, file)(files) }) },
    { film, file, what: 'empty', fault: () => ({ kind: 'cut', atByte: 0 }) },
    { film, file, what: 'another piece', fault: () => ({ kind: 'other', name: other }) },
    { film, file, what: 'swapped', fault: () => ({ kind: 'swapped', name: other }) },
    { film, file, what: 'a page', fault: () => ({ kind: 'bytes', bytes: page, type: 'text/html' }) },
    { film, file, what: 'a page that is called a film', fault: () => ({ kind: 'bytes', bytes: page }) },
    { film, file, what: 'a message', fault: () => ({ kind: 'bytes', bytes: json }) },
  ];
}

const flips = (film: string, file: string): Broken[] =>
  (
    [
      [0.3, 400],
      [0.6, 2000],
      [0.7, 6000],
    ] as const
  ).map(([share, count]) => ({
    film,
    file,
    what: `${count} bytes turned over at ${share}`,
    fault: (files) => flipped(files, file, share, count),
  }));

const files: readonly (readonly [string, string])[] = [
  ['H.264 and AAC', 'a.mp4'],
  ['an index at the end', 'a.mp4'],
  ['HEVC', 'a.mp4'],
  ['VP9 and Opus', 'a.webm'],
  ['VP8 and Vorbis', 'a.webm'],
  ['H.264 in Matroska', 'a.mkv'],
  ['tracks of their own', 's.m4a'],
  ['tracks of their own', 'p.mp4'],
  ['AAC in MP4 as M4A', 'a.m4a'],
  ['MP3 as MP3', 'a.mp3'],
  ['Opus in Ogg as MP3', 'a.opus'],
  ['AAC without a container as M4A', 'a.aac'],
];
const looseFiles: readonly (readonly [string, string])[] = [
  ['a transport stream', 'a.ts'],
  ['a transport stream that ends in a packet', 'a.ts'],
  ['H.264 in Flash', 'a.flv'],
  ['WAV as MP3', 'a.wav'],
  ['FLAC as MP3', 'a.flac'],
  ['MP3 with the lengths of a longer file', 'a.mp3'],
  ['Opus in Ogg without an end mark', 'a.opus'],
  ['AAC with an APE tag behind it', 'a.aac'],
  ['fragments', 'a.mp4'],
  ['Xvid', 'a.avi'],
  ['Windows Media', 'a.wmv'],
  ['a program stream', 'a.mpg'],
];
const cases: readonly Broken[] = [
  ...files.flatMap(([film, file]) => onFile(film, file)),
  ...looseFiles.flatMap(([film, file]) => onLooseFile(film, file)),
  {
    film: 'fragments',
    file: 'a.mp4',
    what: 'in chunks, ended between two fragments',
    fault: (files) => ({ kind: 'chunked', atByte: betweenFragments(0.7, 'a.mp4')(files) }),
  },
  ...onPiece('HLS', 'film1.ts', 'film0.ts'),
  ...onPiece('HLS in fragments of MP4', 'film1.m4s', 'film2.m4s'),
  ...onPiece('HLS with another head of the same make', 'two1.m4s', 'two0.m4s'),
  ...onPiece('DASH of two periods', 'two-0-2.m4s', 'two-0-1.m4s'),
  ...onPiece('HLS of packed AAC with times', 'piece1.aac', 'piece2.aac'),
  ...onPiece('HLS of sound', 'film1.ts', 'film2.ts'),
  ...onPiece('DASH with a timeline', 'chunk-stream0-00002.m4s', 'chunk-stream0-00003.m4s'),
  ...onPiece('DASH with a timeline', 'chunk-stream1-00002.m4s', 'chunk-stream1-00003.m4s'),
  ...flips('H.264 and AAC', 'a.mp4'),
  ...flips('HEVC', 'a.mp4'),
  ...flips('HLS', 'film1.ts'),
  ...flips('tracks of their own', 'p.mp4'),
  ...onFile('a still: JPEG', 'a.jpg'),
  ...onFile('a still: PNG', 'a.png'),
];

const random = new Random(seed);
const chosen = isLongProof ? cases : Array.from({ length: 18 }, () => random.pick(cases));

function filmNamed(name: string): SoundFilm {
  const film = soundFilms.find((each) => each.name === name);
  if (!film) throw new Error(`no film is called ${name}`);
  return film;
}

test('a transfer that lost something is never taken for the film', async () => {
  const folder = temporaryDirectory();
  const made = new Map<string, Film>();
  const filmOf = (name: string) => {
    const film =
      made.get(name) ??
      makeFilm(filmNamed(name), mkdtempSync(join(folder, 'film-')), started.platform.engine.ffmpegPath);
    made.set(name, film);
    return film;
  };
  const accepted: string[] = [];
  const evidence: Record<string, number> = {};
  await aFewAtATime(chosen, async ({ film: name, file, what, fault }) => {
    const [film, { output }] = [filmOf(name), filmNamed(name)];
    if (!film.files.has(file)) throw new Error(`${name} has no ${file}, but ${[...film.files.keys()].join()}`);
    const attempt = mkdtempSync(join(folder, 'attempt-'));
    mkdirSync(attempt, { recursive: true });
    const reference = started.lossy.reference(film, { name: file, fault: fault(film.files) });
    const result = await downloadFrom(started.platform.usualSource, reference, { output }, attempt);
    if (result.ok) accepted.push(`${name}, ${file}: ${what}`);
    else {
      const words = result.detail.replaceAll(/\[[^\]]*\] |'[^']*'|case-\d+|[\d.]+/g, '').slice(0, 60);
      evidence[words] = (evidence[words] ?? 0) + 1;
    }
  });
  if (isLongProof)
    console.log(
      `seed ${seed}: ${chosen.length} broken transfers, ${accepted.length} taken; ${JSON.stringify(evidence, null, 1)}`,
    );
  expect(accepted).toEqual([]);
});

test.each(twoMakes.map((film) => [film.name, film] as const))(
  'half of a film is not delivered: %s',
  async (_name, film) => {
    const folder = temporaryDirectory();
    const made = makeFilm(film, join(folder, 'film'), started.platform.engine.ffmpegPath);
    const result = await downloadFrom(started.platform.usualSource, started.lossy.reference(made, undefined));
    expect(result).toMatchObject({ ok: false, reason: 'platform_error', fault: 'service' });
  },
);
