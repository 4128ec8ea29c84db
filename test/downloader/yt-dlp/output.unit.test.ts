import { describe, expect, test } from 'vitest';
import { followDownload, imageUrl, parseMetadata } from '../../../src/downloader/yt-dlp/output.ts';
import type { DownloadProgress } from '../../../src/ports/videos.ts';

function follow() {
  const clock = { nowMs: 0 };
  const reported: DownloadProgress[] = [];
  const bytes: number[] = [];
  const output = followDownload({
    onProgress: (progress) => reported.push(progress),
    onBytes: (downloaded) => bytes.push(downloaded),
    nowMs: () => clock.nowMs,
  });
  const part = (fields: object, afterMs = 1000) => {
    clock.nowMs += afterMs;
    output.take(`PROG ${JSON.stringify({ status: 'downloading', ...fields })}`);
  };
  return { output, reported, bytes, part, clock };
}

describe('metadata', () => {
  test('is rounded and cleaned', () => {
    const json = { title: 'A\nfilm', duration: 9.6, thumbnail: 'https://host/a.jpg', is_live: null };
    expect(parseMetadata(`META ${JSON.stringify(json)}`)).toEqual({
      title: 'A film',
      durationSeconds: 10,
      thumbnail: 'https://host/a.jpg',
      isLive: false,
      exactSeconds: 9.6,
    });
  });

  test.each(['META {', 'META null', 'META [1', 'other'])('is none: %s', (line) => {
    expect(parseMetadata(line)).toBeUndefined();
  });

  test.each([
    ['" "', ''],
    ['["x"]', ''],
    ['null', ''],
    ['"\\u0000\\u001b\\u0085"', ''],
    ['"\\u200b\\ufeff"', ''],
    ['"🎬"', '🎬'],
    ['"\\u202ea\\u2066\\u200f b"', 'a b'],
    ['"NaN, Infinity \\" NaN"', 'NaN, Infinity " NaN'],
  ])('the title %s is read as “%s”', (title, read) => {
    expect(parseMetadata(`META {"title":${title},"duration":NaN}`)).toMatchObject({ title: read, durationSeconds: 0 });
  });

  test('a long title is cut between two characters', () => {
    for (const title of ['🎬'.repeat(10_000), `x${'🎬'.repeat(10_000)}`]) {
      const read = parseMetadata(`META ${JSON.stringify({ title })}`)?.title ?? '';
      expect(read.length).toBeGreaterThan(100);
      expect(title.startsWith(read)).toBe(true);
    }
  });

  test.each(['-1', '"12"', 'NaN', 'Infinity', '-Infinity', '1e300', '1e999', `1${'0'.repeat(400)}`, '[9]', 'null'])(
    'the duration %s is none',
    (duration) => {
      expect(parseMetadata(`META {"title":"x","duration":${duration}}`)).toMatchObject({
        title: 'x',
        durationSeconds: 0,
        exactSeconds: 0,
      });
    },
  );

  test('a missing duration counts as none', () => {
    expect(parseMetadata('META {"title":"x"}')).toMatchObject({ durationSeconds: 0, thumbnail: '' });
  });

  test.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://user:secret@host/',
    'no address',
    `https://h/${'x'.repeat(3000)}`,
  ])('is no image address: %s', (text) => {
    expect(imageUrl(text)).toBe('');
  });
});

describe('progress', () => {
  test('runs over all parts by their sizes', () => {
    const { output, reported, part, bytes } = follow();
    output.take('PARTS [{"filesize_approx":900},{"filesize_approx":100}]');
    part({ downloaded_bytes: 450, total_bytes: 900, speed: 10.4, eta: 44.6 });
    part({ status: 'finished', downloaded_bytes: 900, total_bytes: 900 });
    part({ downloaded_bytes: 50, total_bytes: 100 });
    part({ status: 'finished', downloaded_bytes: 100, total_bytes: 100 });
    expect(reported.map(({ percent }) => percent)).toEqual([40.5, 81, 85.5, 90]);
    expect(reported[0]).toEqual({ percent: 40.5, bytesPerSecond: 10, etaSeconds: 45 });
    expect(bytes).toEqual([450, 900, 950, 1000]);
  });

  test('counts fragments where sizes are guesses, and never goes backwards', () => {
    const { reported, part } = follow();
    part({ downloaded_bytes: 10, total_bytes_estimate: 20, fragment_index: 3, fragment_count: 10 });
    part({ downloaded_bytes: 11, total_bytes_estimate: 200, fragment_index: 2, fragment_count: 10 });
    part({ downloaded_bytes: 12, total_bytes_estimate: 200 });
    expect(reported.map(({ percent }) => percent)).toEqual([27, 27, 27]);
  });

  test('of the making of the file has the time that is left, from its second report on', () => {
    const { output, reported, part, clock } = follow();
    part({ status: 'finished', downloaded_bytes: 10, total_bytes: 10 });
    for (const share of [0.2, 0.3, 0.3]) {
      clock.nowMs += 5_000;
      output.takeFinished(share);
    }
    expect(reported.slice(1).map(({ percent, etaSeconds }) => [percent, etaSeconds])).toEqual([
      [92, null],
      [93, 35],
      [93, 70],
    ]);
  });

  test('is unknown where nothing is known', () => {
    const { reported, part } = follow();
    part({ downloaded_bytes: 10 });
    expect(reported).toEqual([{ percent: null, bytesPerSecond: null, etaSeconds: null }]);
  });

  test('is told at most four times a second', () => {
    const { reported, part } = follow();
    for (let step = 0; step < 100; step += 1) part({ downloaded_bytes: step, total_bytes: 100 }, 10);
    expect(reported).toHaveLength(4);
  });

  test('garbage changes nothing', () => {
    const { output, reported } = follow();
    for (const line of ['PROG', 'PROG {}', 'PROG {"status":1}', 'PARTS x', '[download] 5%']) output.take(line);
    expect(reported).toEqual([]);
    expect(output).toMatchObject({ metadata: undefined, done: false });
  });
});
