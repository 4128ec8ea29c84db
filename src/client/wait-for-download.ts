import type { ApiClient } from './client.ts';
import type { components, paths } from './paths.ts';

type Status = paths['/video/status']['get']['responses'][200]['content']['application/json']['data'];
type Ended = components['schemas']['DownloadDone'] | components['schemas']['DownloadFailed'];

/** The API has answered with an error that no repetition mends. */
export class StatusRefused extends Error {
  override readonly name = 'StatusRefused';
  readonly code: string;

  constructor({ code, message }: { code: string; message: string }) {
    super(message);
    this.code = code;
  }
}

/** The longest that the API lets a request wait. */
const prefer = 'wait=60';
const longestPauseSeconds = 30;

/**
 * Waits until a download has ended. Each request waits at the service for another status, so that a download takes one for each
 * step and one for each minute; where the service has no place for that, the pauses between requests grow. What the API asks
 * to be repeated (429, 503) is repeated when it says, for as long as it takes: `signal` sets an end.
 *
 * @param onStatus told each status, the last included
 * @throws {StatusRefused} for other errors, such as `not_found` and `delivery_failed`
 */
export async function waitForDownload(
  api: ApiClient,
  token: string,
  { signal, onStatus }: { signal?: AbortSignal; onStatus?: (status: Status) => void } = {},
): Promise<Ended> {
  const asked = { params: { query: { token }, header: { Prefer: prefer } }, ...(signal && { signal }) };
  for (let pauseSeconds = 1; ;) {
    const { data, error, response } = await api.GET('/video/status', asked);
    if (data) onStatus?.(data.data);
    if (data && (data.data.status === 'done' || data.data.status === 'failed')) return data.data;
    const isRepeated = response.status === 429 || response.status === 503;
    if (error && !isRepeated) throw new StatusRefused(error.error);
    if (response.headers.has('Preference-Applied')) continue;
    const wantedSeconds = Number(response.headers.get('Retry-After') ?? pauseSeconds);
    await pause(wantedSeconds, signal);
    pauseSeconds = Math.min(pauseSeconds * 2, longestPauseSeconds);
  }
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, seconds * 1_000);
    signal?.addEventListener('abort', done);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    }
  });
}
