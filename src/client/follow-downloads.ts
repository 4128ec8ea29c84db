import type { ApiClient } from './client.ts';
import type { components } from './paths.ts';
import { pause } from './pause.ts';
import { reach, refusalOf, retryAfterSeconds } from './with-retries.ts';

/** Downloads that have ended, and the cursor from which the next ones go on. */
export type DownloadEvents = components['schemas']['DownloadEvents'];

const longestPauseSeconds = 30;

/**
 * Follows all downloads of an account, whichever key has queued them, without an end: gives them as they end, up to 100 at a time.
 * Each request waits at the service for up to a minute; where the service has no place for that, the pauses between requests grow.
 * What the API asks to be repeated (429, 500, 503) is repeated when it says.
 *
 * @param after `next` of events that were handled, to go on behind them; `now`: what ends from now on. Default: begins with the
 *   oldest download whose file is still kept
 * @throws {ClientError} for other errors, such as `unauthorized` and `unreachable`
 */
export async function* followDownloads(
  api: ApiClient,
  { after, signal }: { after?: string; signal?: AbortSignal } = {},
): AsyncGenerator<DownloadEvents, never> {
  const given = signal && { signal };
  for (let place = after, pauseSeconds = 1; ;) {
    const query = place === undefined ? {} : { after: place };
    // If the answer to a `now` that has waited got lost, what ended meanwhile would be left out.
    const waits = place !== 'now';
    const header = waits ? { Prefer: 'wait=60' } : {};
    const ask = () => api.GET('/video/events', { params: { query, header }, ...given });
    const { data, error, response } = await reach(ask, given);
    const found = data?.data;
    if (!found && ![429, 500, 503].includes(response.status)) throw refusalOf(error, response);
    place = found?.next ?? place;
    const hasEvents = found !== undefined && found.events.length > 0;
    if (hasEvents) yield found;
    if (hasEvents || (found && (!waits || response.headers.has('Preference-Applied')))) {
      pauseSeconds = 1;
      continue;
    }
    await pause(retryAfterSeconds(response) ?? pauseSeconds, signal);
    pauseSeconds = Math.min(pauseSeconds * 2, longestPauseSeconds);
  }
}
