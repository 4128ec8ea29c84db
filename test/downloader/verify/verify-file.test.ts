import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startReaper } from '../../../src/downloader/sandbox/child-reaper.ts';
import { verifyStill } from '../../../src/downloader/verify/still.ts';
import { onlyFile, verifyFile } from '../../../src/downloader/verify/verify-file.ts';
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

const limits = () => ({
  timeoutMs: patienceMs,
  signal: new AbortController().signal,
  directory: temporaryDirectory(),
});

function verify(path: string, output: 'mp4' | 'mp3' | 'm4a', durationSeconds: number, hasSound?: boolean) {
  return verifyFile({ path, output, announced: { durationSeconds, hasSound }, ...engine, ...limits(), reaper });
}

describe('a finished file', () => {
  test('with picture and sound is accepted', async () => {
    const verdict = await verify(make('a.mp4', ...picture, ...sound, ...playable), 'mp4', 6);
    expect(verdict).toEqual({ ok: true, durationSeconds: expect.closeTo(6, 0) as number });
  });

  test('without sound is accepted as a video, since some have none', async () => {
    expect(await verify(make('a.mp4', ...picture, ...playable), 'mp4', 0)).toMatchObject({ ok: true });
  });

  test('of sound is accepted as audio', async () => {
    expect(await verify(make('a.mp3', ...sound), 'mp3', 6)).toMatchObject({ ok: true });
  });

  test.each([
    ['frames that refer to later ones', ['-c:v', 'libx264', '-preset', 'veryfast', '-bf', '3']],
    ['an uneven pace', ['-c:v', 'libx264', '-vf', "select='lt(mod(n,20),3)'", '-fps_mode', 'vfr']],
    ['VP9 and Opus', ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-c:a', 'libopus']],
    ['sound that ends early', ['-c:v', 'libx264', '-af', 'atrim=end=4']],
  ])('with %s is accepted', async (_what, coded) => {
    const path = make('a.mp4', ...picture, ...sound, ...coded);
    expect(await verify(path, 'mp4', 6, true)).toMatchObject({ ok: true });
  });

  test('that was cut out of a longer one is accepted, although it begins before its first picture', async () => {
    const longer = make('a.mp4', ...picture, ...sound, ...playable);
    const path = make('b.mp4', '-ss', '2.3', '-i', longer, '-c', 'copy');
    expect(await verify(path, 'mp4', 3.7, true)).toMatchObject({ ok: true });
  });

  test('without the sound that was announced is refused', async () => {
    const path = make('a.mp4', ...picture, ...playable);
    expect(await verify(path, 'mp4', 6, true)).toMatchObject({ ok: false, detail: 'The sound is missing.' });
  });

  test.each([
    ['pictures are', ['-vf', 'select=not(between(t\\,2\\,3.5))', '-fps_mode', 'vfr'], 'The picture has a gap'],
    ['a piece of the sound is', ['-af', 'asetnsamples=1024,aselect=not(between(t\\,2\\,4))'], 'The sound has a gap'],
  ])('in which %s missing is refused, although its length is right', async (_what, gap, fault) => {
    const path = make('a.mp4', ...picture, ...sound, ...playable, ...gap);
    const detail = expect.stringContaining(fault) as string;
    expect(await verify(path, 'mp4', 6)).toMatchObject({ ok: false, reason: 'platform_error', detail });
  });

  test('of which bytes in the middle are those of another place is refused', async () => {
    const path = make('a.mp4', ...picture, ...sound, ...playable);
    const bytes = readFileSync(path);
    const middle = Math.floor(bytes.length / 2);
    bytes.copy(bytes, middle, middle + 5000, middle + 9000);
    writeFileSync(path, bytes);
    const detail = expect.stringContaining('Invalid NAL unit') as string;
    expect(await verify(path, 'mp4', 6)).toMatchObject({ ok: false, reason: 'platform_error', detail });
  });

  test('without a picture is no video', async () => {
    const path = make('a.mp4', ...sound, '-f', 'mp4');
    expect(await verify(path, 'mp4', 6)).toMatchObject({ ok: false, reason: 'unsupported_media' });
  });

  test.each([3, 60])('of another length than the announced %d s is refused', async (announcedSeconds) => {
    const path = make('a.mp4', ...picture, ...sound, ...playable);
    const detail = expect.stringContaining('instead of') as string;
    expect(await verify(path, 'mp4', announcedSeconds)).toMatchObject({ ok: false, reason: 'platform_error', detail });
  });

  test('that is cut short is refused, although its header still promises everything', async () => {
    const path = make('a.mp4', ...picture, ...sound, ...playable);
    truncateSync(path, Math.floor(readFileSync(path).length * 0.6));
    expect(await verify(path, 'mp4', 6)).toMatchObject({ ok: false, reason: 'platform_error' });
  });

  test('of another container is refused under either name', async () => {
    const webm = make('a.webm', ...picture, '-c:v', 'libvpx', '-cpu-used', '8');
    expect(await verify(webm, 'mp4', 6)).toMatchObject({ ok: false });
    const page = join(temporaryDirectory(), 'a.mp3');
    writeFileSync(page, '<!doctype html><p>No such film</p>'.repeat(100));
    expect(await verify(page, 'mp3', 6)).toMatchObject({ ok: false });
  });

  test('that is a playlist in disguise is not followed', async () => {
    const path = join(temporaryDirectory(), 'media.mp4');
    writeFileSync(path, '#EXTM3U\n#EXTINF:10,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n');
    expect(await verify(path, 'mp4', 10)).toMatchObject({ ok: false, reason: 'platform_error' });
  });
});

describe('a still', () => {
  const still = (...coded: string[]) => make('media.jpg', ...picture, '-frames:v', '1', '-update', '1', ...coded);
  const check = (path: string) => verifyStill({ path, ...engine, ...limits(), reaper });

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

describe('the directory of a finished download', () => {
  test('holds the expected file alone', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'media.mp4'), 'x');
    expect(await onlyFile(directory, 'media.mp4')).toEqual({ sizeBytes: 1 });
    expect(await onlyFile(directory, 'media.mp3')).toHaveProperty('detail');
    writeFileSync(join(directory, 'media.mp4.part'), 'x');
    expect(await onlyFile(directory, 'media.mp4')).toHaveProperty('detail');
  });

  test('is refused with an empty file, a link, or none', async () => {
    const [empty, linked] = [temporaryDirectory(), temporaryDirectory()];
    expect(await onlyFile(empty, 'media.mp4')).toHaveProperty('detail');
    writeFileSync(join(empty, 'media.mp4'), '');
    expect(await onlyFile(empty, 'media.mp4')).toHaveProperty('detail');
    symlinkSync('/etc/hostname', join(linked, 'media.mp4'));
    expect(await onlyFile(linked, 'media.mp4')).toHaveProperty('detail');
  });
});
