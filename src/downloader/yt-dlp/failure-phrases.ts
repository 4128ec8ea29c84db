import type { Fault } from '../../domain/download-job-events.ts';
import type { FailureReason } from '../../domain/failure-reasons.ts';

export interface FailurePhrases {
  reason: FailureReason;
  phrases: readonly string[];
}

/** The phrases of a row, which stand between bars or on lines of their own. */
export const phrasesIn = (text: string): string[] => text.trim().split(/ \| |\n +/);

/**
 * The phrases that yt-dlp prints when it fails, in lower case, and the reason that each stands for. The first row with a phrase
 * of the line counts, so specific phrases stand before general ones: a private page may be answered with status 403.
 * `docs/failures.md` shows the same table.
 */
export const ytDlpFailures: readonly FailurePhrases[] = [
  {
    reason: 'internal_error',
    phrases: phrasesIn(`
      no space left on device | input/output error | permission denied: | cannot allocate memory
      ffmpeg not found | encoder not found | decoder not found | protocol not found | please install
    `),
  },
  { reason: 'drm_protected', phrases: phrasesIn(`drm protected | known to use drm`) },
  {
    reason: 'age_restricted',
    phrases: phrasesIn(`
      confirm your age | age-restricted | age restricted | age limit | inappropriate for some users
      not be comfortable for some | 18 years old | restricted video | nsfw tweet | for certain audiences
    `),
  },
  {
    reason: 'rate_limited_by_platform',
    phrases: phrasesIn(`
      http error 429 | too many requests | rate limit | rate-limit | not a bot | captcha | http error 412
      blocked by server (4 | try again later | please wait | unable to access the reddit api
      ip is likely being blocked | ip may be blocked | temporarily blocked
    `),
  },
  {
    reason: 'geo_blocked',
    phrases: phrasesIn(`
      geo restriction | geo-restrict | geo restricted | in your country | from your country
      from your location | in your location | in your region | ip address is blocked
      webpage has been blocked | http error 451
    `),
  },
  {
    reason: 'private_video',
    phrases: phrasesIn(`
      is private | private video | private subreddit | password | protected tweet | not authorized
      privacy settings | video is restricted | limits who can view | access denied to video
    `),
  },
  {
    reason: 'login_required',
    phrases: phrasesIn(`
      registered users | login required | requiring login | log in | logged in | logged-in | sign in
      --cookies | members-only | members only | join this channel | channel's members | subscribe | premium
      is paid | requires payment | requires authentication | authentication is required
      do not have permission | dashboard-only | http error 401 | account that has opted in
    `),
  },
  { reason: 'video_unavailable', phrases: phrasesIn(`stream recording is not available | replay is disabled`) },
  {
    reason: 'live_stream',
    phrases: phrasesIn(`
      not currently live | is not live | live event | live stream | livestream | live hls | live dash
      not yet started | not started yet | not downloadable yet | is not yet available | premieres in
      premiere will | will begin in | is offline | ] offline. | check back later
    `),
  },
  { reason: 'too_large', phrases: phrasesIn(`larger than max-filesize | file too large`) },
  {
    reason: 'unsupported_media',
    phrases: phrasesIn(`
      unsupported url | no suitable extractor | is not a valid url | requested format is not available
      no video formats found | no formats found | no video in this | no image in this
      no video could be found | no media found | contain any tracks | only images are available
      embed-only video | unable to obtain file audio codec
    `),
  },
  { reason: 'timed_out', phrases: phrasesIn(`timed out | timeout`) },
  {
    reason: 'platform_error',
    // The last five: the platform announced the media a moment ago, and their addresses expire.
    phrases: phrasesIn(`
      got error: | http error 5 | failed to resolve | name or service not known | name resolution
      connection refused | connection reset | connection aborted | remote end closed | incompleteread
      network is unreachable | no route to host | unable to connect to proxy | tunnel connection failed | ssl:
      (_ssl.c | certificate verify | needs to be reloaded | dependency: unspecified | content too short
      unable to continue | did not get any data | file is empty
      in the place of another | goes on in another make | in the place of media | not whole by its own lengths
      unable to download video data
    `),
  },
  {
    reason: 'video_unavailable',
    phrases: phrasesIn(`
      http error 404 | http error 410 | unavailable | not available | isn't available | no longer
      been removed | was removed | been deleted | be deleted | video deleted | been terminated
      been suspended | been blocked | does not exist | doesn't exist | not found | not been found | copyright
      was deleted | suspended account | has been disabled | ] suspended
    `),
  },
  {
    reason: 'platform_error',
    phrases: phrasesIn(`
      http error 4 | unable to download | failed to download | unable to extract | extraction failed
      failed to parse | challenge | impersonat | please report this issue | conversion failed
      invalid data found
    `),
  },
];

const maxDetailCharacters = 500;

/** Makes one line for a log record: short, and without the control and direction characters that quoted text may contain. */
export function cleanDetail(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim()
    .slice(0, maxDetailCharacters)
    .toWellFormed();
}

/** The part of an error line that is searched for phrases: all but the item's name, which the uploader chooses. */
export function searchedWords(line: string): string {
  const named = line.replace(/^(?:ERROR: )?(\[[^\]]*\]) \S+: /, '$1 ');
  return named.toLowerCase().replaceAll('’', "'");
}

/** Finds the row of an error line, in linear time. */
export function failureRow(line: string): (typeof ytDlpFailures)[number] | undefined {
  const words = searchedWords(line);
  return ytDlpFailures.find(({ phrases }) => phrases.some((phrase) => words.includes(phrase)));
}

/** Finds the message of an uncaught Python exception: the first line behind the indented lines of the last traceback. */
function crashOf(lines: readonly string[]): string | undefined {
  const traceback = lines.lastIndexOf('Traceback (most recent call last):');
  return traceback < 0 ? undefined : lines.slice(traceback + 1).find((line) => /^\S/.test(line));
}

/** What yt-dlp prints of a failure of ffmpeg. */
const conversion = /^ERROR: (?:Preprocessing|Postprocessing): /;

/** Our plugins print this where a server sent what it announced, and it is not whole in our judgement. */
const judgement = /in the place of another|goes on in another make|not whole by its own lengths/;

/** Errors that no page can cause: the system refused, or the program is damaged. */
const ownCrash = /^(?:OSError|PermissionError|ImportError|ModuleNotFoundError|SyntaxError)\b/;

/**
 * Reads the reason from yt-dlp's standard error, where no plugin has told it (`refusal.ts`). The last `ERROR:` line decides, since
 * earlier ones may belong to repeated tries. A crash without such a line counts as a platform error: no extractor expected the
 * platform's response. A line without a row is an `internal_error`, until somebody adds a phrase.
 *
 * An extractor that is too old, a conversion that fails and a line that nobody knows are the service's fault.
 */
export function ytDlpFailure(stderr: string): { reason: FailureReason; fault: Fault; detail: string } {
  const lines = stderr.split('\n');
  const error = lines.findLast((line) => line.startsWith('ERROR:'));
  const crash = error === undefined ? crashOf(lines) : undefined;
  const said = error ?? crash ?? lines.findLast((line) => line.trim() !== '') ?? '';
  if (crash !== undefined && !ownCrash.test(crash))
    return { reason: 'platform_error', fault: 'service', detail: cleanDetail(crash) };
  const reason = failureRow(said)?.reason ?? 'internal_error';
  const isOurs =
    reason === 'internal_error' || (reason === 'platform_error' && (conversion.test(said) || judgement.test(said)));
  return { reason, fault: isOurs ? 'service' : 'video', detail: cleanDetail(said) };
}
