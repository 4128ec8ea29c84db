import type { Fault } from '../../domain/download-job-events.ts';
import type { FailureReason } from '../../domain/failure-reasons.ts';

/**
 * What the engine prints when it fails, and what that means to a client: phrases of its words, in lower case. The first row
 * that has a phrase of the line counts, so the particular stands before the general: a page that is private may well be
 * answered with status 403. `docs/failures.md` shows the same table.
 */
export const ytDlpFailures: readonly { reason: FailureReason; phrases: readonly string[] }[] = [
  {
    reason: 'internal_error',
    phrases: [
      ...['no space left on device', 'input/output error', 'permission denied:', 'cannot allocate memory'],
      ...['ffmpeg not found', 'encoder not found', 'decoder not found', 'protocol not found', 'please install'],
    ],
  },
  { reason: 'drm_protected', phrases: ['drm protected', 'known to use drm'] },
  {
    reason: 'age_restricted',
    phrases: [
      ...['confirm your age', 'age-restricted', 'age restricted', 'age limit', 'inappropriate for some users'],
      ...['not be comfortable for some', '18 years old', 'restricted video', 'nsfw tweet', 'for certain audiences'],
    ],
  },
  {
    reason: 'rate_limited_by_platform',
    phrases: [
      ...['http error 429', 'too many requests', 'rate limit', 'rate-limit', 'not a bot', 'captcha', 'http error 412'],
      ...['blocked by server (4', 'try again later', 'please wait', 'unable to access the reddit api'],
      ...['ip is likely being blocked', 'ip may be blocked', 'temporarily blocked'],
    ],
  },
  {
    reason: 'geo_blocked',
    phrases: [
      ...['geo restriction', 'geo-restrict', 'geo restricted', 'in your country', 'from your country'],
      ...['from your location', 'in your location', 'in your region', 'ip address is blocked'],
      ...['webpage has been blocked', 'http error 451'],
    ],
  },
  {
    reason: 'private_video',
    phrases: [
      ...['is private', 'private video', 'private subreddit', 'password', 'protected tweet', 'not authorized'],
      ...['privacy settings', 'video is restricted', 'limits who can view', 'access denied to video'],
    ],
  },
  {
    reason: 'login_required',
    phrases: [
      ...['registered users', 'login required', 'requiring login', 'log in', 'logged in', 'logged-in', 'sign in'],
      ...['--cookies', 'members-only', 'members only', 'join this channel', "channel's members", 'subscribe'],
      ...['premium', 'is paid', 'requires payment', 'requires authentication', 'authentication is required'],
      ...['do not have permission', 'dashboard-only', 'http error 401', 'account that has opted in'],
    ],
  },
  { reason: 'video_unavailable', phrases: ['stream recording is not available', 'replay is disabled'] },
  {
    reason: 'live_stream',
    phrases: [
      ...['not currently live', 'is not live', 'live event', 'live stream', 'livestream', 'live hls', 'live dash'],
      ...['not yet started', 'not started yet', 'not downloadable yet', 'is not yet available', 'premieres in'],
      ...['premiere will', 'will begin in', 'is offline', '] offline.', 'check back later'],
    ],
  },
  { reason: 'too_large', phrases: ['larger than max-filesize', 'file too large'] },
  {
    reason: 'unsupported_media',
    phrases: [
      ...['unsupported url', 'no suitable extractor', 'is not a valid url', 'requested format is not available'],
      ...['no video formats found', 'no formats found', 'no video in this', 'no image in this'],
      ...['no video could be found', 'no media found', 'contain any tracks', 'only images are available'],
      ...['embed-only video', 'unable to obtain file audio codec'],
    ],
  },
  { reason: 'timed_out', phrases: ['timed out', 'timeout'] },
  {
    reason: 'platform_error',
    phrases: [
      ...[
        'got error:',
        'http error 5',
        'failed to resolve',
        'name or service not known',
        'name resolution',
        'connection refused',
      ],
      ...['connection reset', 'connection aborted', 'remote end closed', 'incompleteread', 'network is unreachable'],
      ...['no route to host', 'unable to connect to proxy', 'tunnel connection failed', 'ssl:', '(_ssl.c'],
      ...['certificate verify', 'needs to be reloaded', 'dependency: unspecified'],
      ...['content too short', 'unable to continue', 'did not get any data', 'file is empty'],
      // It was announced a moment ago: addresses of media expire.
      ...['in the place of another', 'unable to download video data'],
    ],
  },
  {
    reason: 'video_unavailable',
    phrases: [
      ...['http error 404', 'http error 410', 'unavailable', 'not available', "isn't available", 'no longer'],
      ...['been removed', 'was removed', 'been deleted', 'be deleted', 'video deleted', 'been terminated'],
      ...['been suspended', 'been blocked', 'does not exist', "doesn't exist", 'not found', 'not been found'],
      ...['copyright', 'was deleted', 'suspended account', 'has been disabled', '] suspended'],
    ],
  },
  {
    reason: 'platform_error',
    phrases: [
      ...['http error 4', 'unable to download', 'failed to download', 'unable to extract', 'extraction failed'],
      ...['failed to parse', 'challenge', 'impersonat', 'please report this issue'],
      ...['conversion failed', 'invalid data found'],
    ],
  },
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

/** What of an error line is searched for phrases: all but an item's name, which is the uploader's. */
export function searchedWords(line: string): string {
  const named = line.replace(/^(?:ERROR: )?(\[[^\]]*\]) \S+: /, '$1 ');
  return named.toLowerCase().replaceAll('’', "'");
}

/** The row that an error line falls under, in linear time. */
export function failureRow(line: string): (typeof ytDlpFailures)[number] | undefined {
  const words = searchedWords(line);
  return ytDlpFailures.find(({ phrases }) => phrases.some((phrase) => words.includes(phrase)));
}

/** What Python says of an exception that nobody caught: the first line behind the last traceback's own, which are indented. */
function crashOf(lines: readonly string[]): string | undefined {
  const traceback = lines.lastIndexOf('Traceback (most recent call last):');
  return traceback < 0 ? undefined : lines.slice(traceback + 1).find((line) => /^\S/.test(line));
}

/** The system refused, or the program is not whole: no page brings these about. */
const ownCrash = /^(?:OSError|PermissionError|ImportError|ModuleNotFoundError|SyntaxError)\b/;

/**
 * Reads the reason from the engine's standard error: its last `ERROR:` line decides, since earlier ones may be of tries that
 * were repeated. A crash instead of such a line is the platform's: its answer had a form that no extractor expects. What no row
 * knows is an `internal_error` until somebody adds a phrase, for which the log has its text; but it was the item that brought it
 * about, so that it is not the service's fault.
 */
export function ytDlpFailure(stderr: string): { reason: FailureReason; fault: Fault; detail: string } {
  const lines = stderr.split('\n');
  const error = lines.findLast((line) => line.startsWith('ERROR:'));
  const crash = error === undefined ? crashOf(lines) : undefined;
  const said = error ?? crash ?? lines.findLast((line) => line.trim() !== '') ?? '';
  if (crash !== undefined && !ownCrash.test(crash))
    return { reason: 'platform_error', fault: 'video', detail: cleanDetail(crash) };
  const reason = failureRow(said)?.reason;
  const fault = reason === 'internal_error' ? 'service' : 'video';
  return { reason: reason ?? 'internal_error', fault, detail: cleanDetail(said) };
}
