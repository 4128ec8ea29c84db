import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { lossyPlatformOfFile } from '../../support/lossy-platform.ts';
import { downloadFrom } from '../../support/sample-platform.ts';

/** DASH of which each track is one file, and the pieces are ranges of its bytes. */

const started = lossyPlatformOfFile();
const [picturePackets, seconds] = [60, 6];
let soundPackets = 0;
let folder: string;

const inFolder = (program: string, given: readonly string[]) =>
  execFileSync(program, given, { cwd: folder, encoding: 'utf8' });

/** How many packets of picture and sound a file has. */
function packetsOf(path: string): Record<string, number> {
  const shown = ['-v', 'error', '-count_packets', '-show_entries', 'stream=codec_type,nb_read_packets', '-of', 'json'];
  const { streams } = JSON.parse(inFolder(started.platform.engine.ffprobePath, [...shown, path])) as {
    streams: { codec_type: string; nb_read_packets: string }[];
  };
  return Object.fromEntries(streams.map((each) => [each.codec_type, Number(each.nb_read_packets)]));
}

beforeAll(() => {
  folder = join(started.platform.directory, 'ranges');
  mkdirSync(folder);
  const made = (name: string, ...more: string[]) =>
    inFolder(started.platform.engine.ffmpegPath, [
      ...['-v', 'error', '-f', 'lavfi', '-i', `testsrc2=size=160x120:rate=10:duration=${seconds}`],
      ...['-f', 'lavfi', '-i', `sine=duration=${seconds}`, '-c:v', 'libx264', '-preset', 'ultrafast'],
      ...['-pix_fmt', 'yuv420p', '-g', '20', '-c:a', 'aac', '-f', 'dash', '-seg_duration', '2'],
      ...['-single_file', '1', '-single_file_name', `${name}$RepresentationID$.mp4`, ...more, `${name}.mpd`],
    ]);
  made('plain');
  made('indexed', '-global_sidx', '1');
  soundPackets = packetsOf(join(folder, 'plain1.mp4'))['audio'] ?? 0;
});

/** @param change of the manifest */
async function deliver(name: 'plain' | 'indexed', change: (manifest: string) => string) {
  const files = new Map(
    readdirSync(folder)
      .filter((file) => file.startsWith(name) || file.endsWith('.mp4'))
      .map((file) => [file, readFileSync(join(folder, file))]),
  );
  const manifest = files.get(`${name}.mpd`)?.toString() ?? '';
  files.set(`${name}.mpd`, Buffer.from(change(manifest)));
  const description = (base: string) => ({
    title: 'A film',
    durationSeconds: seconds,
    manifestPath: `${base}/${name}.mpd`,
  });
  const result = await downloadFrom(
    started.platform.usualSource,
    started.lossy.reference({ files, description }, undefined),
  );
  return result.ok ? packetsOf(result.path) : `${result.reason}: ${result.detail}`;
}

/** Each piece names the file, and no BaseURL does. */
const byPiece = (manifest: string) =>
  manifest.replace(/<BaseURL>(.*)<\/BaseURL>([^]*?<\/SegmentList>)/g, (_, file: string, list: string) =>
    list
      .replace('<Initialization ', `<Initialization sourceURL="${file}" `)
      .replaceAll('<SegmentURL ', `<SegmentURL media="${file}" `),
  );

/** As in manifests whose files tell the ranges themselves. */
const withoutRanges = (manifest: string) => manifest.replaceAll(/<SegmentList[^]*?<\/SegmentList>/g, '');
const inTwoPeriods = (manifest: string, change = (period: string) => period) =>
  manifest.replace(/<Period [^]*<\/Period>/, (period) => `${period}${change(period)}`);

describe('is delivered whole', () => {
  test.each<['plain' | 'indexed', string, (manifest: string) => string]>([
    ['plain', 'as ffmpeg writes it', (manifest) => manifest],
    ['indexed', 'with an index for all pieces', (manifest) => manifest],
    [
      'indexed',
      'with an index that has a range of its own',
      (manifest) =>
        manifest.replaceAll(
          /<Initialization range="0-(\d+)" \/>/g,
          '<Initialization range="0-600" /><RepresentationIndex range="601-$1" />',
        ),
    ],
    ['plain', 'in two periods of one file', (manifest) => inTwoPeriods(withoutRanges(manifest))],
    ['plain', 'with the file named at each piece', byPiece],
    ['plain', 'with the file named in both places', (manifest) => byPiece(manifest.replace(/<BaseURL>.*/g, '$&\n$&'))],
  ])('%s: %s', async (name, _, change) => {
    expect(await deliver(name, change)).toEqual({ video: picturePackets, audio: soundPackets });
  });
});

describe('is refused where the file may not be the film', () => {
  test.each<[string, (manifest: string) => string]>([
    ['a gap', (manifest) => manifest.replace(/<SegmentURL .*\n/, '')],
    [
      'an end elsewhere than at the next begin',
      (manifest) => manifest.replace(/mediaRange="(\d+)-\d+"/, 'mediaRange="$1-$1"'),
    ],
    ['two periods', (manifest) => inTwoPeriods(manifest)],
    ['no ranges', (manifest) => manifest.replaceAll(/ mediaRange="[^"]*"/g, '')],
  ])('with %s', async (_, change) => {
    expect(await deliver('plain', change)).toMatch(/^platform_error: /);
    expect(await deliver('plain', (manifest) => byPiece(change(manifest)))).toMatch(/^platform_error: /);
  });
});

test('a period in a file of its own is not taken for the film', async () => {
  const parts = await deliver('plain', (manifest) =>
    inTwoPeriods(withoutRanges(manifest), (period) => period.replaceAll('plain', 'indexed')),
  );
  expect(parts).toMatch(/^unsupported_media: /);
});
