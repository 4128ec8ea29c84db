import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startReaper } from '../../../src/downloader/sandbox/child-reaper.ts';
import { finishFilm } from '../../../src/downloader/verify/finish-file.ts';
import { verifyStill } from '../../../src/downloader/verify/still.ts';
import { onlyFiles } from '../../../src/downloader/verify/tools.ts';
import type { DownloaderPrograms } from '../../../src/downloader/yt-dlp/programs.ts';
import { findDownloader } from '../../support/sample-platform.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { patienceMs } from '../../support/wait-for.ts';

const reaper = startReaper();
let engine: DownloaderPrograms;
beforeAll(async () => {
  engine = await findDownloader();
});
afterAll(() => reaper.close());

const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=160x120:rate=10:duration=6'];
const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=6'];
const playable = ['-c:v', 'libx264', '-preset', 'ultrafast', '-movflags', '+faststart'];

/** Makes a file with ffmpeg in a fresh directory. */
function make(name: string, ...ffmpegArguments: string[]): string {
  const path = join(temporaryDirectory(), name);
  execFileSync(engine.ffmpegPath, ['-nostdin', '-loglevel', 'error', ...ffmpegArguments, path]);
  return path;
}

const tools = (directory = temporaryDirectory()) => ({
  ...engine,
  timeoutMs: patienceMs,
  signal: new AbortController().signal,
  directory,
  reaper,
});

type More = Partial<Parameters<typeof finishFilm>[1]['arrived']>;

/** Puts files where the engine leaves them, and finishes them. */
async function finish(
  paths: readonly string[],
  output: 'mp4' | 'mp3' | 'm4a',
  announcedSeconds: number,
  more: More = {},
) {
  const directory = temporaryDirectory();
  const media = join(directory, 'media');
  mkdirSync(media);
  for (const [number, path] of paths.entries())
    copyFileSync(path, join(media, `media.f${number}.${path.split('.').at(-1)}`));
  const arrived = { parts: paths.length, isProved: true, announcedSeconds, ...more };
  const shares: number[] = [];
  const onProgress = (share: number) => void shares.push(share);
  const verdict = await finishFilm(media, { ...tools(directory), output, arrived, onProgress });
  return { verdict, shares, path: join(media, `media.${output}`), left: readdirSync(directory) };
}

describe('a finished file', () => {
  test('that is what was asked for stays the same, byte for byte', async () => {
    const path = make('a.mp4', ...picture, ...sound, ...playable);
    const finished = await finish([path], 'mp4', 6);
    expect(finished.verdict).toEqual({ ok: true, durationSeconds: expect.closeTo(6, 0) as number, note: '' });
    expect(readFileSync(finished.path).equals(readFileSync(path))).toBe(true);
    expect(finished.left).not.toContain('part0');
  });

  test('that is converted shows how far it is', async () => {
    const path = make('a.webm', ...picture, ...sound, '-c:v', 'libvpx', '-cpu-used', '8', '-c:a', 'libvorbis');
    const { verdict, shares, left } = await finish([path], 'mp4', 6);
    expect(verdict).toMatchObject({ ok: true });
    expect(shares.at(-1)).toBeGreaterThan(0.9);
    expect(left).not.toContain('part0');
  });

  test('without a picture is no video', async () => {
    const { verdict } = await finish([make('a.mp4', ...sound, '-f', 'mp4')], 'mp4', 6);
    expect(verdict).toMatchObject({ ok: false, reason: 'unsupported_media' });
  });

  test('of which bytes in the middle are those of another place is refused', async () => {
    const path = make('a.mp4', ...picture, ...sound, ...playable);
    const bytes = readFileSync(path);
    const middle = Math.floor(bytes.length / 2);
    bytes.copy(bytes, middle, middle + 5000, middle + 9000);
    writeFileSync(path, bytes);
    expect((await finish([path], 'mp4', 6)).verdict).toMatchObject({ ok: false, reason: 'platform_error' });
  });

  test.each([
    { announced: 60, isProved: true, ok: true },
    { announced: 3, isProved: false, ok: true },
    { announced: 6.5, isProved: false, ok: true },
    { announced: 7, isProved: false, ok: false },
  ])('of 6 s where $announced s were announced, proved $isProved: $ok', async ({ announced, isProved, ok }) => {
    const path = make('a.mp4', ...picture, ...sound, ...playable);
    expect((await finish([path], 'mp4', announced, { isProved })).verdict).toMatchObject({ ok });
  });

  test('lasts as long as what it holds, although the head of an MP3 still states what an editor cut away', async () => {
    const path = make('a.mp3', ...sound);
    const bytes = readFileSync(path);
    const at = Math.max(bytes.indexOf('Xing'), bytes.indexOf('Info'));
    bytes.writeUInt32BE(bytes.readUInt32BE(at + 8) * 2, at + 8);
    writeFileSync(path, bytes);
    const { verdict } = await finish([path], 'mp3', 6);
    expect(verdict).toMatchObject({ ok: true, durationSeconds: expect.closeTo(6, 0) as number });
  });

  test.each([
    { announced: 6, isProved: true, ok: true },
    { announced: 12, isProved: true, ok: false },
    { announced: 6, isProved: false, ok: false },
  ])(
    'of a recording that ends in a packet, $announced s announced, proved $isProved: $ok',
    async ({ announced, isProved, ok }) => {
      const path = make('a.flv', ...picture, ...sound, ...playable, '-c:a', 'aac', '-ac', '1');
      writeFileSync(path, readFileSync(path).subarray(0, -40));
      expect((await finish([path], 'mp4', announced, { isProved })).verdict).toMatchObject({ ok });
    },
  );

  test('that is cut short is refused, although its header still promises everything', async () => {
    const path = make('a.mp4', ...picture, ...sound, ...playable);
    truncateSync(path, Math.floor(readFileSync(path).length * 0.6));
    expect((await finish([path], 'mp4', 6)).verdict).toMatchObject({ ok: false, reason: 'platform_error' });
  });

  test.each(['mp4', 'mp3'] as const)('that is a page under the name of an %s is refused', async (output) => {
    const page = join(temporaryDirectory(), `a.${output}`);
    writeFileSync(page, '<!doctype html><p>No such film</p>'.repeat(100));
    expect((await finish([page], output, 6)).verdict).toMatchObject({ ok: false });
  });

  test('that is a playlist in disguise is not followed', async () => {
    const path = join(temporaryDirectory(), 'media.mp4');
    writeFileSync(path, '#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n');
    expect((await finish([path], 'mp4', 10)).verdict).toMatchObject({ ok: false, reason: 'platform_error' });
  });

  test('of which a part is missing is refused', async () => {
    const path = make('a.mp4', ...picture, ...playable);
    expect((await finish([path], 'mp4', 6, { parts: 2 })).verdict).toMatchObject({ ok: false });
  });
});

describe('the note of a finished file', () => {
  const noteOf = async (path: string, output: 'mp4' | 'mp3' | 'm4a' = 'mp4', ...others: string[]) => {
    const { verdict } = await finish([path, ...others], output, 6);
    expect(verdict).toMatchObject({ ok: true });
    return verdict.ok ? verdict.note : undefined;
  };
  const threeSounds = (name: string) => {
    const of = (number: number, language: string, disposition: string) => [
      ...[`-metadata:s:a:${number}`, `language=${language}`],
      ...[`-disposition:a:${number}`, disposition],
    ];
    return make(
      name,
      ...picture,
      ...sound,
      ...['-map', '0', '-map', '1', '-map', '1', '-map', '1', ...playable, '-c:a', 'aac'],
      ...of(0, 'deu', 'dub'),
      ...of(1, 'eng', 'default'),
      ...of(2, 'eng', 'comment'),
      // Written with the signs by which ffprobe parts its fields.
      ...['-metadata:s:a:2', 'title=The director|codec_type=video\\'],
    );
  };
  const leftOut =
    'also in what was fetched: audio (aac, deu, dub), audio (aac, eng, The director|codec_type=video\\, comment)';

  test('is empty where nothing was left out', async () => {
    expect(await noteOf(make('a.mp4', ...picture, ...sound, ...playable))).toBe('');
    expect(await noteOf(make('a.mp4', ...picture, ...playable), 'mp4', make('b.m4a', ...sound))).toBe('');
  });

  test.each(['mp4', 'mp3', 'm4a'] as const)('names the other sounds of the file, as %s', async (output) => {
    expect(await noteOf(threeSounds('a.mkv'), output)).toBe(leftOut);
  });

  test('names the sound of the picture where another one lay beside it', async () => {
    const both = make('a.mp4', ...picture, ...sound, ...playable);
    expect(await noteOf(both, 'mp4', make('b.mp3', ...sound))).toBe('also in what was fetched: audio (mp3)');
  });

  test('names smaller pictures', async () => {
    const small = ['-filter:v:0', 'scale=80:60'];
    const path = make('a.mkv', ...picture, ...sound, '-map', '0', '-map', '0', '-map', '1', ...small, ...playable);
    expect(await noteOf(path)).toBe('also in what was fetched: video (h264, 80×60)');
  });

  test.each([
    ['PQ', 'smpte2084', 'copied', ['libx265', '-x265-params', 'log-level=none'], 'HDR (PQ) was kept'],
    ['HLG', 'arib-std-b67', 'copied', ['libvpx-vp9', '-cpu-used', '8'], 'HDR (HLG) was kept'],
    ['HLG', 'arib-std-b67', 'converted', ['prores_ks'], 'HDR (HLG) was kept, with 8 bits a colour'],
  ])('says that a film is HDR: %s (%s), %s', async (_, transfer, how, codec, said) => {
    const colours = `setparams=color_primaries=bt2020:color_trc=${transfer}:colorspace=bt2020nc`;
    const path = make('a.mkv', ...picture, ...sound, '-vf', `format=yuv420p10,${colours}`, '-c:v', ...codec);
    const { verdict, path: made } = await finish([path], 'mp4', 6);
    expect(verdict).toMatchObject({ ok: true, note: said });
    const shown = ['-v', 'error', '-select_streams', 'v', '-show_entries', 'stream=codec_name,color_transfer', made];
    const probed = execFileSync(engine.ffprobePath, shown, { encoding: 'utf8' });
    expect(probed).toContain(`color_transfer=${transfer}`);
    expect(probed.includes('codec_name=h264')).toBe(how === 'converted');
    expect((await finish([path], 'mp3', 6)).verdict).toMatchObject({ ok: true, note: '' });
  });
});

describe('a still', () => {
  const still = (...coded: string[]) => make('media.jpg', ...picture, '-frames:v', '1', '-update', '1', ...coded);
  const check = (path: string) => verifyStill(path, tools());

  test('is accepted', async () => {
    expect(await check(still())).toEqual({ ok: true, durationSeconds: 0 });
  });

  test.each([0.3, 0.7, 0.99])('of which only %d is there is refused', async (share) => {
    const path = still();
    truncateSync(path, Math.floor(readFileSync(path).length * share));
    expect(await check(path)).toMatchObject({ ok: false, reason: 'platform_error' });
  });

  test('that is no JPEG is refused', async () => {
    expect(await check(still('-c:v', 'png', '-f', 'image2'))).toMatchObject({ ok: false });
  });
});

describe('the directory of what came', () => {
  test('holds as many files as were fetched', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'media.mp4'), 'x');
    expect(await onlyFiles(directory, 1)).toEqual({ files: [{ name: 'media.mp4', sizeBytes: 1 }] });
    writeFileSync(join(directory, 'media.mp4.part'), 'x');
    expect(await onlyFiles(directory, 1)).toHaveProperty('detail');
  });

  test('is refused with an empty file, a link, or none', async () => {
    const [empty, linked] = [temporaryDirectory(), temporaryDirectory()];
    expect(await onlyFiles(empty, 1)).toHaveProperty('detail');
    writeFileSync(join(empty, 'media.mp4'), '');
    expect(await onlyFiles(empty, 1)).toHaveProperty('detail');
    symlinkSync('/etc/hostname', join(linked, 'media.mp4'));
    expect(await onlyFiles(linked, 1)).toHaveProperty('detail');
  });
});
