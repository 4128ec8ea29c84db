import { beforeAll, describe, expect, test } from 'vitest';
import type { Output } from '../../../src/domain/download-options.ts';
import { Random } from '../../audit/random.ts';
import { type Film, makeFilms, type Packaging, packagings } from '../../support/lossy-films.ts';
import { type Fault, type FaultyFile, lossyPlatformOfFile } from '../../support/lossy-platform.ts';
import { isLongProof, scaled } from '../../support/proof-scale.ts';
import { downloadFrom } from '../../support/sample-platform.ts';
import { aFewAtATime } from '../a-few-at-a-time.ts';

/** What is lost on the way must never be taken for a finished file: nobody can be charged for it. */

const seed = Number(process.env['PROOF_SEED'] ?? 1);
const started = lossyPlatformOfFile();
let films: ReadonlyMap<Packaging, Film>;
beforeAll(() => {
  films = makeFilms(`${started.platform.directory}/films`, started.platform.engine.ffmpegPath);
});

function filmOf(packaging: Packaging): Film {
  const film = films.get(packaging);
  if (!film) throw new Error(`no film as ${packaging}`);
  return film;
}

interface Case {
  packaging: Packaging;
  output: Output;
  faulty: FaultyFile | undefined;
  /** Default: the platform tells how long the film is. */
  announces?: boolean;
}

async function attempt({ packaging, output, faulty, announces }: Case): Promise<string> {
  const result = await downloadFrom(
    started.platform.usualSource,
    started.lossy.reference(filmOf(packaging), faulty, announces),
    { output },
  );
  return result.ok ? 'accepted' : `${result.reason}: ${result.detail}`;
}

/** Runs all cases, a few at a time. @returns those that were accepted, and how many were refused with which words */
async function run(cases: readonly Case[]): Promise<{ accepted: string[]; refused: Record<string, number> }> {
  const accepted: string[] = [];
  const refused: Record<string, number> = {};
  await aFewAtATime(cases, async (each) => {
    const answer = await attempt(each);
    const words = answer.replaceAll(/\[[^\]]*\] |'[^']*'|case-\d+|[\d.]+/g, '').slice(0, 60);
    if (answer === 'accepted') accepted.push(JSON.stringify(each));
    else refused[words] = (refused[words] ?? 0) + 1;
  });
  return { accepted, refused };
}

function report(what: string, cases: readonly Case[], { accepted, refused }: Awaited<ReturnType<typeof run>>): void {
  if (!isLongProof) return;
  console.log(
    `seed ${seed}: ${cases.length} ${what}, ${accepted.length} accepted; ${JSON.stringify(refused, null, 1)}`,
  );
}

const outputs: readonly Output[] = ['mp4', 'mp4', 'mp3', 'm4a'];

describe('a piece of a stream that is lost', () => {
  const kinds = ['404', '410', '503', 'empty', 'short', 'other', 'closed'] as const;

  function lossOf(random: Random, kind: (typeof kinds)[number]): Case {
    const packaging = random.pick(['hls', 'dash'] as const);
    const output = random.pick(outputs);
    const { files } = filmOf(packaging);
    // Where only the sound is wanted, nobody asks for pieces of the picture.
    // A fifth piece of sound, of a few milliseconds, is not in the manifest.
    const [video, audio] = [/^piece0\./, /^piece1\.[1-4]\./];
    const asked = packaging === 'hls' ? /\.ts$/ : output === 'mp4' ? random.pick([video, audio]) : audio;
    const names = [...files.keys()].filter((name) => asked.test(name)).sort();
    const name = random.pick(names);
    const sizeBytes = files.get(name)?.length ?? 0;
    const atByte = 1 + random.below(sizeBytes - 1);
    const faults: Record<typeof kind, Fault> = {
      '404': { kind: 'status', status: 404 },
      '410': { kind: 'status', status: 410 },
      '503': { kind: 'status', status: 503 },
      empty: { kind: 'cut', atByte: 0 },
      short: { kind: 'cut', atByte },
      other: { kind: 'other', name: random.pick(names.filter((each) => each !== name)) },
      closed: { kind: 'closed', atByte },
    };
    return { packaging, output, faulty: { name, fault: faults[kind] } };
  }

  test('is never taken for a film', async () => {
    const random = new Random(seed);
    const cases = Array.from({ length: scaled(7, 200) }, (_, index) =>
      lossOf(random, kinds[index % kinds.length] ?? '404'),
    );
    const outcome = await run(cases);
    report('lost pieces', cases, outcome);
    expect(outcome.accepted).toEqual([]);
  });
});

describe('a file that is cut short or damaged', () => {
  const kinds = ['cut', 'closed', 'resumed wrongly'] as const;
  const exact = ['file', 'file with its index last', 'tracks', 'webm'] as const;
  const allKinds = [...exact, 'webm without lengths', 'ogg'] as const;

  function damageOf(random: Random, kind: (typeof kinds)[number]): Case {
    // Where bytes of another place look like those that are missing, only what they hold tells: see docs/failures.md.
    const packaging = random.pick(kind === 'resumed wrongly' ? exact : allKinds);
    const output = random.pick(packaging === 'ogg' ? (['mp3', 'm4a'] as const) : outputs);
    const { files } = filmOf(packaging);
    const isPicture = packaging === 'tracks' && output === 'mp4';
    const name = packaging === 'tracks' && !isPicture ? 'sound.m4a' : random.pick([...files.keys()]);
    const sizeBytes = files.get(name)?.length ?? 0;
    const atByte = 1 + random.below(sizeBytes - 1);
    // From a place that is far enough away to hold other bytes.
    const fromByte = (atByte + Math.floor(sizeBytes / 3) + 1) % sizeBytes;
    const fault: Fault = kind === 'resumed wrongly' ? { kind, atByte, fromByte } : { kind, atByte };
    return { packaging, output, faulty: { name, fault }, announces: random.pick([true, false]) };
  }

  test('is never taken for a film', async () => {
    const random = new Random(seed + 1);
    const cases = Array.from({ length: scaled(3, 200) }, (_, index) =>
      damageOf(random, kinds[index % kinds.length] ?? 'cut'),
    );
    const outcome = await run(cases);
    report('damaged files', cases, outcome);
    expect(outcome.accepted).toEqual([]);
  });
});

test('the same films without a fault are all taken', async () => {
  const cases = packagings.map((packaging, index): Case => {
    const output = packaging === 'ogg' ? 'mp3' : (outputs[index % outputs.length] ?? 'mp4');
    return { packaging, output, faulty: undefined, announces: packaging !== 'hls with a piece that comes twice' };
  });
  const { accepted, refused } = await run(cases);
  expect(refused).toEqual({});
  expect(accepted).toHaveLength(cases.length);
});
