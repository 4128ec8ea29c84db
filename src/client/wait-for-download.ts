import type { ApiClient } from './client.ts';
import type { components, paths } from './paths.ts';
import { pause } from './pause.ts';
import { reach, refusalOf, retryAfterSeconds } from './with-retries.ts';

export type DownloadStatus = paths['/video/status']['get']['responses'][200]['content']['application/json']['data'];
export type EndedDownload = components['schemas']['DownloadDone'] | components['schemas']['DownloadFailed'];

/**
 * How long a request waits at the service, twice as long each time that nothing changes, up to the longest that the API allows.
 * A status that changes between two requests is told at the end of the second one only.
 */
const firstWaitSeconds = 2;
const longestWaitSeconds = 60;
const longestPauseSeconds = 30;

/**
 * Waits until a download has ended. Each request waits at the service for another status, so that a download takes few: one for
 * each step, and one for each minute of a long step. Where the service has no place for that, the pauses between requests grow. What the API asks
 * to be repeated (429, 503) is repeated when it says, for as long as it takes: `signal` sets an end.
 *
 * @param onStatus told each status, the last included
 * @throws {ClientError} for other errors, such as `not_found`, `delivery_failed` and `unreachable`
 */
export async function waitForDownload(
  api: ApiClient,
  token: string,
  { signal, onStatus }: { signal?: AbortSignal; onStatus?: (status: DownloadStatus) => void } = {},
): Promise<EndedDownload> {
  const given = signal && { signal };
  const ask = (seconds: number) =>
    api.GET('/video/status', { params: { query: { token }, header: { Prefer: `wait=${String(seconds)}` } }, ...given });
  let known: DownloadStatus['status'] | undefined;
  for (let waitSeconds = firstWaitSeconds, pauseSeconds = 1; ;) {
    const { data, error, response } = await reach(() => ask(waitSeconds), given);
    if (data) onStatus?.(data.data);
    if (data && (data.data.status === 'done' || data.data.status === 'failed')) return data.data;
    waitSeconds = data?.data.status === known ? Math.min(waitSeconds * 2, longestWaitSeconds) : firstWaitSeconds;
    known = data?.data.status;
    const isRepeated = response.status === 429 || response.status === 503;
    if (!data && !isRepeated) throw refusalOf(error, response);
    if (response.headers.has('Preference-Applied')) continue;
    await pause(retryAfterSeconds(response) ?? pauseSeconds, signal);
    pauseSeconds = Math.min(pauseSeconds * 2, longestPauseSeconds);
  }
}
