import { describe, expect, test } from 'vitest';
import { type FailureReason, failureReasons } from '../../src/domain/failure-reasons.ts';
import { knownRefusal } from '../../src/downloader/known-beforehand.ts';
import { parseFormatBytes } from '../../src/downloader/yt-dlp/output.ts';
import { downloadFrom, ownPlatformOfFile } from '../support/sample-platform.ts';

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

describe('through the engine itself', () => {
  const playlist = (key: string) =>
    ['#EXTM3U', key, '#EXTINF:10', 'piece.ts', '#EXT-X-ENDLIST', ''].filter((line) => line !== '').join('\n');
  const manifest =
    '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT10S">' +
    '<Period><AdaptationSet contentType="video" mimeType="video/mp4"><ContentProtection/>' +
    '<Representation id="1" bandwidth="500000" codecs="avc1.42c00d" width="320" height="180">' +
    '<BaseURL>picture.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>';
  const files: Readonly<Record<string, string>> = {
    '/locked.m3u8': playlist('#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://1",KEYFORMAT="com.apple.streamingkeydelivery"'),
    '/locked.mpd': manifest,
    '/open.m3u8': playlist(''),
  };
  /** By the ids of items: what the platform says of them besides title and duration. */
  const items: Readonly<Record<string, object>> = {
    hls: { playlistPath: '/locked.m3u8' },
    dash: { manifestPath: '/locked.mpd' },
    // Beside a preview, as YouTube has them.
    previewed: {
      playlistPath: '/locked.m3u8',
      renditions: [{ id: 'sb', path: '/sb.jpg', extension: 'mhtml', videoCodec: 'none', audioCodec: 'none' }],
    },
    both: { playlistPath: '/locked.m3u8', manifestPath: '/locked.mpd' },
    // Said by the extractor itself, also where the platform lists formats.
    noticed: { refusal: 'drm' },
    'noticed-with-formats': { refusal: 'drm', playlistPath: '/open.m3u8' },
    'not-yet-live': { isLive: true },
    partly: { playlistPath: '/open.m3u8', manifestPath: '/locked.mpd' },
    private: { refusal: 'This video is private' },
    removed: { refusal: 'This video has been removed' },
    login: { refusal: 'login' },
    geo: { refusal: 'geo' },
    premiere: { refusal: 'Premieres in 3 hours' },
    words: { refusal: 'This video is DRM protected' },
    empty: {},
  };
  const own = ownPlatformOfFile((request, response) => {
    const path = request.url ?? '';
    const item = items[/items\/(.*)$/.exec(path)?.[1] ?? ''];
    const body = files[path] ?? (item && JSON.stringify({ title: 'A film', durationSeconds: 10, ...item }));
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  const probe = (id: string) =>
    own.platform.usualSource.probe(own.videoOf(id), { signal: new AbortController().signal });

  test.each([
    ['hls', 'drm_protected'],
    ['dash', 'drm_protected'],
    ['both', 'drm_protected'],
    ['previewed', 'drm_protected'],
    ['noticed', 'drm_protected'],
    ['noticed-with-formats', 'drm_protected'],
    ['not-yet-live', 'live_stream'],
  ])('%s has its metadata, which says %s, and a download fails for that', async (id, downloadRefusal) => {
    // yt-dlp adds the time of day to the title of what is live.
    const title = expect.stringMatching(/^A film/) as string;
    expect(await probe(id)).toEqual({
      ok: true,
      metadata: { title, durationSeconds: 10, thumbnail: '', downloadRefusal },
    });
    const refused = await downloadFrom(own.platform.usualSource, own.videoOf(id));
    expect(refused).toMatchObject({ ok: false, reason: downloadRefusal, fault: 'video' });
    expect(failureReasons[downloadRefusal as FailureReason].retryable).toBe(false);
  });

  test('an item of which one format is not protected may be possible', async () => {
    expect(await probe('partly')).toMatchObject({ ok: true, metadata: { downloadRefusal: null } });
  });

  test.each([
    ['private', 'private_video'],
    ['removed', 'video_unavailable'],
    ['login', 'login_required'],
    ['geo', 'geo_blocked'],
    ['premiere', 'live_stream'],
    ['words', 'drm_protected'],
    ['empty', 'unsupported_media'],
    ['nowhere', 'video_unavailable'],
  ])('%s has none, and fails as %s', async (id, reason) => {
    expect(await probe(id)).toMatchObject({ ok: false, reason });
  });
});
