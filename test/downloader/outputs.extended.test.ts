import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Output, qualities, type Quality } from '../../src/domain/download-options.ts';
import { mediaSets, type Rendition, sampleItems } from '../../src/embedded/sample-platform/items.ts';
import type { DownloadedFile, WantedFile } from '../../src/ports/videos.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { downloadFrom, platformOfFile } from '../support/sample-platform.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const platform = platformOfFile();

async function download(id: string, wanted: Partial<WantedFile>, from = platform.usualSource) {
  const directory = temporaryDirectory();
  const result = await downloadFrom(from, platform.reference(id), { quality: '360', ...wanted }, directory);
  return { result, directory };
}

/** Downloads, checks all that is said of the file against the file, and has ffprobe say what it is. */
async function factsOf(
  id: string,
  wanted: Partial<WantedFile>,
  mime: string,
  from = platform.usualSource,
): Promise<string> {
  const { result, directory } = await download(id, wanted, from);
  expect(result).toMatchObject({ ok: true });
  const file = result as DownloadedFile;
  const name = `media.${wanted.output ?? 'mp4'}`;
  const bytes = readFileSync(file.path);
  expect(file).toEqual({
    ok: true,
    path: join(directory, 'media', name),
    name,
    mime,
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    durationSeconds: wanted.output === 'jpg' ? 0 : 10,
    title: expect.stringMatching(/^(?:Colour bars|Tall|Large|Silent|A steady|Three)/) as string,
    detail: expect.stringMatching(/http|m3u8/) as string,
  });
  expect([readdirSync(directory), readdirSync(join(directory, 'media'))]).toEqual([['media'], [name]]);
  const shown = ['-show_entries', 'stream=codec_name,width,height', '-of', 'csv=p=0'];
  const printed = execFileSync(platform.engine.ffprobePath, ['-v', 'error', ...shown, file.path], { encoding: 'utf8' });
  return printed.trim().split('\n').sort().reverse().join(' ');
}

/** The rule of docs/http-api.md: the size asked for, else the next smaller, else the smallest. */
function expectedRendition(renditions: readonly Rendition[], quality: Quality): Rendition | undefined {
  const side = ({ width, height }: Rendition) => Math.min(width, height);
  const asked = quality === 'best' ? 2160 : Number(quality);
  const bySide = renditions.toSorted((one, other) => side(one) - side(other));
  return bySide.findLast((each) => side(each) <= asked) ?? bySide[0];
}

const films = ['bars', 'cinema', 'vertical', 'hls', 'dash', 'tracks'];
const everyQuality = films.flatMap((id) => qualities.map((quality): [string, Quality] => [id, quality]));
const someQualities: [string, Quality][] = [
  ['bars', 'best'],
  ['cinema', '2160'],
  ['vertical', '720'],
  ['hls', '480'],
  ['dash', '720'],
  ['tracks', '1440'],
];

describe('a film becomes an MP4 in the right size', () => {
  test.each(isLongProof ? everyQuality : someQualities)('%s in %s', async (id, quality) => {
    const { media } = sampleItems[id] ?? { media: 'wide' };
    const rendition = expectedRendition(mediaSets[media].renditions, quality);
    const facts = await factsOf(id, { quality }, 'video/mp4');
    expect(facts).toBe(`h264,${String(rendition?.width)},${String(rendition?.height)} aac`);
  });

  test('best is at most what the operator allows, and so is anything else', async () => {
    const modest = platform.source({ maxVideoSide: 480 });
    expect(await factsOf('bars', { quality: '1080' }, 'video/mp4', modest)).toBe('h264,854,480 aac');
  });

  test('also without sound, where the platform says that it has none', async () => {
    expect(await factsOf('silent', {}, 'video/mp4')).toBe('h264,640,360');
  });
});

const someSounds: [string, Output][] = [
  ['hls', 'm4a'],
  ['tracks', 'mp3'],
];
const everySound = ['bars', 'hls', 'dash', 'tracks', 'song'].flatMap((id) =>
  (['mp3', 'm4a'] as const).map((output): [string, Output] => [id, output]),
);

test.each(isLongProof ? everySound : someSounds)('the sound of %s becomes an %s', async (id, output) => {
  const [mime, codec] = output === 'mp3' ? ['audio/mpeg', 'mp3'] : ['audio/mp4', 'aac'];
  expect(await factsOf(id, { output, quality: 'best' }, mime)).toBe(codec);
});

const everyStill: [number, string][] = [
  [1, 'mjpeg,1080,1350'],
  [3, 'mjpeg,640,640'],
  [2, 'mjpeg,800,600'],
];
const stills = isLongProof ? everyStill : everyStill.slice(0, 2);

describe('a still of an image post becomes a JPG', () => {
  test.each(stills)('number %d, whatever it was', async (item, facts) => {
    expect(await factsOf('stills', { output: 'jpg', item }, 'image/jpeg')).toBe(facts);
  });

  test('and a number that is not there is refused', async () => {
    const { result } = await download('stills', { output: 'jpg', item: 4 });
    expect(result).toMatchObject({ ok: false, reason: 'unsupported_media', detail: 'The post has no still 4.' });
  });

  test('its metadata is that of the post', async () => {
    const probed = await platform.usualSource.probe(platform.reference('stills'), {
      signal: new AbortController().signal,
    });
    const thumbnail = `${platform.url}/thumbnails/stills.svg`;
    expect(probed).toEqual({
      ok: true,
      metadata: { title: 'Three stills', durationSeconds: 0, thumbnail, downloadRefusal: null },
    });
  });
});

describe('what an item does not have is refused', () => {
  const refused: [string, Output][] = [
    ['song', 'mp4'],
    ['silent', 'mp3'],
    ['silent', 'm4a'],
  ];
  test.each(isLongProof ? refused : refused.slice(0, 2))('%s as %s', async (id, output) => {
    const { result } = await download(id, { output });
    expect(result).toMatchObject({ ok: false, reason: 'unsupported_media' });
  });
});
