import { describe, expect, test } from 'vitest';

import { cleanDetail, ytDlpFailure, ytDlpFailures } from '../../../src/adapters/yt-dlp-failures.ts';

/** What the engine was seen, or is known from its source, to print. */
const printed: readonly [string, string][] = [
  ['ERROR: [sample] x: This video is private', 'private_video'],
  ['ERROR: [youtube] x: Private video. Sign in if you have been granted access', 'private_video'],
  [
    'ERROR: [x] x: This video is only available for registered users. Use --cookies for authentication',
    'login_required',
  ],
  ['ERROR: [x] x: Join this channel to get access to members-only content', 'login_required'],
  ['ERROR: [x] x: Sign in to confirm your age. This video may be inappropriate for some users.', 'age_restricted'],
  ['ERROR: [youtube] x: Sign in to confirm you’re not a bot. Use --cookies', 'rate_limited_by_platform'],
  ['ERROR: [x] x: This video is not available from your location due to geo restriction', 'geo_blocked'],
  ['ERROR: [x] x: The uploader has not made this video available in your country', 'geo_blocked'],
  ['ERROR: [x] x: Video unavailable', 'video_unavailable'],
  ['ERROR: [x] x: Unable to download JSON metadata: HTTP Error 404: Not Found (caused by …)', 'video_unavailable'],
  ['ERROR: [x] x: Unable to download JSON metadata: HTTP Error 410: Gone (caused by …)', 'video_unavailable'],
  ['ERROR: unable to download video data: HTTP Error 403: Forbidden', 'platform_error'],
  ['ERROR: [x] x: Unable to download webpage: HTTP Error 429: Too Many Requests', 'rate_limited_by_platform'],
  ['ERROR: [download] Got error: HTTP Error 503: Service Unavailable. Giving up after 2 retries', 'platform_error'],
  ["ERROR: [youtube] x: Failed to resolve 'www.youtube.com' ([Errno -2] Name does not resolve)", 'platform_error'],
  ['ERROR: [x] x: <urlopen error [Errno -2] Name or service not known>', 'platform_error'],
  ['ERROR: [x] x: [Errno 111] Connection refused', 'platform_error'],
  ['ERROR: [x] x: The read operation timed out', 'timed_out'],
  ['ERROR: Unsupported URL: http://127.0.0.1/', 'unsupported_media'],
  ['ERROR: No suitable extractor found for URL http://127.0.0.1/', 'unsupported_media'],
  ["ERROR: [generic] '--exec=x' is not a valid URL", 'unsupported_media'],
  ['ERROR: [x] x: Requested format is not available. Use --list-formats', 'unsupported_media'],
  ['ERROR: [Instagram] x: There is no video in this post', 'unsupported_media'],
  ['ERROR: [x] x: No video formats found!', 'unsupported_media'],
  ['ERROR: [sample] drm: This video is DRM protected', 'drm_protected'],
  ['ERROR: [x] x: The channel is not currently live', 'live_stream'],
  ['ERROR: [youtube] x: This live event will begin in 3 hours.', 'live_stream'],
  ['ERROR: File is larger than max-filesize (9 bytes > 8 bytes). Aborting.', 'too_large'],
  ["ERROR: unable to write data: [Errno 28] No space left on device: 'media.mp4.part'", 'internal_error'],
  ['ERROR: something that no row knows', 'platform_error'],
];

describe('what the engine prints', () => {
  test.each(printed)('%s → %s', (line, reason) => {
    expect(ytDlpFailure(`WARNING: [x] Sign in\n${line}\n`)).toEqual({ reason, detail: line });
  });

  test('every row is reached by a line that was seen', () => {
    for (const row of ytDlpFailures) {
      const reached = printed.some(([line]) => ytDlpFailures.find(({ says }) => says.test(line)) === row);
      expect(reached, String(row.says)).toBe(true);
    }
  });

  test('the last error decides', () => {
    const stderr =
      'ERROR: [x] x: HTTP Error 429\nWARNING: [x] again\nERROR: [x] x: This video is private\nat the end\n';
    expect(ytDlpFailure(stderr).reason).toBe('private_video');
  });

  test('silence is the platform’s fault', () => {
    expect(ytDlpFailure('')).toEqual({ reason: 'platform_error', detail: '' });
  });

  test('what is quoted is one short line without control characters', () => {
    expect(cleanDetail('a\r\n\u001b[31mb\u202e\ud800c')).toBe('a [31mb \ufffdc');
    expect(cleanDetail('x'.repeat(9000))).toHaveLength(500);
  });
});
