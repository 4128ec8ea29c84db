import type { FailureReason } from '../domain/failure-reasons.ts';

/**
 * What the engine prints when it fails, and what that means to a client. The first row that matches counts, so the particular
 * stands before the general: a page that is private may well be answered with status 403.
 */
export const ytDlpFailures: readonly { says: RegExp; reason: FailureReason }[] = [
  { says: /\bDRM protected\b|known to use DRM/i, reason: 'drm_protected' },
  { says: /confirm your age|age[- ]restricted|inappropriate for some users/i, reason: 'age_restricted' },
  {
    says: /HTTP Error 429|Too Many Requests|rate[- ]limit|confirm you.re not a bot/i,
    reason: 'rate_limited_by_platform',
  },
  {
    says: /geo[- ]?restrict|not available (?:from|in) your (?:location|country)|in your country/i,
    reason: 'geo_blocked',
  },
  { says: /\b(?:video|account|post|channel|tweet) is private|\bprivate video\b/i, reason: 'private_video' },
  {
    says: /registered users|login required|log in|sign in|--cookies|members[- ]only|join this channel/i,
    reason: 'login_required',
  },
  { says: /not currently live|live event will begin|Premieres? (?:in|will)|live stream/i, reason: 'live_stream' },
  { says: /larger than max-filesize|File too large/i, reason: 'too_large' },
  {
    says: /Unsupported URL|No suitable extractor|is not a valid URL|Requested format is not available/i,
    reason: 'unsupported_media',
  },
  {
    says: /No video formats found|There is no video in this post|No video could be found|No media found/i,
    reason: 'unsupported_media',
  },
  {
    says: /Failed to resolve|Name or service not known|Temporary failure in name resolution|Connection refused/i,
    reason: 'platform_error',
  },
  { says: /timed? ?out/i, reason: 'timed_out' },
  { says: /HTTP Error (?:404|410)\b/i, reason: 'video_unavailable' },
  {
    says: /video (?:is )?unavailable|has been removed|does(?:n.t| not) exist|no longer available|is not available\b/i,
    reason: 'video_unavailable',
  },
  { says: /No space left on device|ffmpeg not found|ffprobe and ffmpeg not found/i, reason: 'internal_error' },
];

const maxDetailCharacters = 500;

/** One line without control or direction characters, short enough for a log record: what it quotes was written by somebody else. */
export function cleanDetail(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim()
    .slice(0, maxDetailCharacters)
    .toWellFormed();
}

/**
 * Reads the reason from the engine's standard error: its last `ERROR:` line decides, since earlier ones may be of tries that
 * were repeated. What no row knows is the platform's fault until somebody adds a row.
 */
export function ytDlpFailure(stderr: string): { reason: FailureReason; detail: string } {
  const lines = stderr.split('\n');
  const error =
    lines.findLast((line) => line.startsWith('ERROR:')) ?? lines.findLast((line) => line.trim() !== '') ?? '';
  const row = ytDlpFailures.find(({ says }) => says.test(error));
  return { reason: row?.reason ?? 'platform_error', detail: cleanDetail(error) };
}
