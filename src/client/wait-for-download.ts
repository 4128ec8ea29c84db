import type { ApiClient } from './client.ts';
import type { components, paths } from './paths.ts';
import { pause } from './pause.ts';
import { type Pause, reach, refusalOf, retryAfterSeconds } from './with-retries.ts';

export type DownloadStatus = paths['/video/status']['get']['responses'][200]['content']['application/json']['data'];
export type EndedDownload = components['schemas']['DownloadDone'] | components['schemas']['DownloadFailed'];

/** The longest that the API lets a request wait. */
const longestWaitSeconds = 60;
/** Where somebody watches: a status that changed between two requests is told at the end of the second one. */
const firstWaitSeconds = 5;
const longestPauseSeconds = 30;

/** What a caller is told while a download is waited for, and how it ends that. */
export interface Watched {
  /** Told each status of the download. To tell it soon takes more requests: leave it out where nobody watches. */
  onStatus?: (status: DownloadStatus) => void;
  /** Told why nothing is asked for some seconds: the API asks for a pause, or does not answer. */
  onPause?: (paused: Pause) => void;
  signal?: AbortSignal;
}

/**
 * Waits until a download has ended. Each request waits at the service for the end, so that a download takes one, and one more for
 * each minute, none of which counts in the hour; where the service has no place for that, the pauses between requests grow. With
 * `onStatus`, each request waits for another status: the first of each step for 5 seconds only, the next one twice as long. What the API asks to be repeated (429, 503)
 * is repeated when it says, for as long as it takes: `signal` sets an end.
 *
 * @throws {ClientError} for other errors, such as `not_found`, `delivery_failed` and `unreachable`
 */
export async function waitForDownload(
  api: ApiClient,
  token: string,
  { signal, onStatus, onPause }: Watched = {},
): Promise<EndedDownload> {
  const given = signal && { signal };
  const reaching = { ...given, ...(onPause && { onPause }) };
  const until = onStatus ? '' : ', until=ended';
  const ask = (seconds: number) => {
    const header = { Prefer: `wait=${String(seconds)}${until}` };
    return api.GET('/video/status', { params: { query: { token }, header }, ...given });
  };
  const shortestWaitSeconds = onStatus ? firstWaitSeconds : longestWaitSeconds;
  let known: DownloadStatus['status'] | undefined;
  for (let waitSeconds = shortestWaitSeconds, pauseSeconds = 1; ;) {
    const { data, error, response } = await reach(() => ask(waitSeconds), reaching);
    const now = data?.data;
    if (now) onStatus?.(now);
    if (now?.status === 'done' || now?.status === 'failed') return now;
    const isRepeated = response.status === 429 || response.status === 503;
    if (!now && !isRepeated) throw refusalOf(error, response);
    waitSeconds = now?.status === known ? Math.min(waitSeconds * 2, longestWaitSeconds) : shortestWaitSeconds;
    known = now?.status;
    if (now && response.headers.has('Preference-Applied')) continue;
    const seconds = retryAfterSeconds(response) ?? pauseSeconds;
    if (!now) onPause?.({ seconds, why: refusalOf(error, response).message });
    await pause(seconds, signal);
    pauseSeconds = Math.min(pauseSeconds * 2, longestPauseSeconds);
  }
}
