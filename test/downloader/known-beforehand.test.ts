import { expect, test } from 'vitest';
import { knownRefusal } from '../../src/downloader/known-beforehand.ts';
import { parseFormatBytes } from '../../src/downloader/yt-dlp/output.ts';

const limits = {
  maxFileSizeBytes: 1_000,
  maxDurationSeconds: 60,
  attemptTimeoutMs: 1,
  metadataTimeoutMs: 1,
  maxVideoSide: 360,
};
const film = { title: 'x', durationSeconds: 10, exactSeconds: 10, thumbnail: '', isLive: false };

test.each([
  ['an ordinary film', film, [900, 2_000], null],
  ['a film as long as is allowed', { ...film, exactSeconds: 60 }, [], null],
  ['a longer one', { ...film, exactSeconds: 60.1 }, [], 'too_long'],
  ['a live stream', { ...film, isLive: true }, [], 'live_stream'],
  ['a film whose formats are all too large', film, [1_001, 5_000], 'too_large'],
  ['a film with a format of unknown size', film, [1_001, undefined], null],
  ['a film without stated sizes', film, [], null],
])('%s', (_, metadata, formatBytes, reason) => {
  expect(knownRefusal(metadata, formatBytes, limits)).toBe(reason);
});

test('sizes are those of formats with picture or sound', () => {
  const formats = [
    { filesize: 5, vcodec: 'h264', acodec: 'none' },
    { filesize: null, vcodec: 'none', acodec: 'aac' },
    { filesize: -1, acodec: 'aac' },
    // Preview images.
    { vcodec: 'none', acodec: 'none' },
    {},
  ];
  expect(parseFormatBytes(`SIZES ${JSON.stringify(formats)}`)).toEqual([5, undefined, undefined, undefined]);
  expect(parseFormatBytes('SIZES null')).toEqual([]);
  expect(parseFormatBytes('META []')).toBeUndefined();
});
