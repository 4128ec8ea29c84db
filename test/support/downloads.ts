import type { components, paths } from '../../src/client/paths.ts';
import type { DownloadStatus, EndedDownload } from '../../src/client/wait-for-download.ts';
import { type Answer, apiClient, call } from './client.ts';
import type { Service } from './service.ts';
import { waitFor } from './wait-for.ts';

type DownloadRequest = paths['/video/download']['post']['requestBody']['content']['application/json'];
type Queued = components['schemas']['QueuedDownload'];

/** Queues a download. @throws unless it is accepted */
export async function queue(url: string, key: string, body: DownloadRequest): Promise<Queued> {
  const { data, error } = await apiClient(url, key).POST('/video/download', { body });
  if (error) throw new Error(`the download was not queued: ${JSON.stringify(error)}`);
  return data.data;
}

/** An account with one key, and the request tokens of its downloads. */
export type AccountWithDownloads = Awaited<ReturnType<Service['openAccount']>> & { tokens: string[] };

/** Opens an account and queues these items of the sample platform for it, one after the other. */
export async function accountWithDownloads(
  { url, sampleUrl, openAccount }: Pick<Service, 'url' | 'sampleUrl' | 'openAccount'>,
  items: readonly string[],
  plan = 'test',
): Promise<AccountWithDownloads> {
  const opened = await openAccount(plan);
  const tokens: string[] = [];
  for (const item of items) tokens.push((await queue(url, opened.key, { url: sampleUrl(item) })).request_token);
  return { ...opened, tokens };
}

/** Polls count against the hourly limit of the key. */
export const pollEveryMs = 250;

export const statusOf = (url: string, key: string, token: string): Promise<Answer> =>
  call(url, `/video/status?token=${token}`, { key });

/**
 * Polls until an answer about a download is wanted. Each poll waits at the service, so that a busy machine uses up no hourly limit.
 *
 * @returns that answer's data
 */
async function polledUntil<Wanted extends DownloadStatus>(
  [url, key, token]: readonly [url: string, key: string, token: string],
  what: string,
  wanted: (status: DownloadStatus) => Wanted | false,
): Promise<Wanted> {
  const api = apiClient(url, key);
  return await waitFor(
    async () => {
      const asked = { params: { query: { token }, header: { Prefer: 'wait=2' } } };
      const { data, error } = await api.GET('/video/status', asked);
      // On a busy machine a poll may be told to come again.
      if (error?.error.code === 'unavailable') return undefined;
      if (error) throw new Error(`the status of ${token} cannot be read: ${JSON.stringify(error)}`);
      return wanted(data.data);
    },
    { what: `job ${token} to ${what}`, pollMs: pollEveryMs },
  );
}

/** Polls until a job has ended. @returns the last answer's data */
export const ended = (url: string, key: string, token: string): Promise<EndedDownload> =>
  polledUntil([url, key, token], 'end', (status) => (status.status === 'done' || status.status === 'failed') && status);

/** Polls until a worker has told how far a download is: `slow` of the sample platform runs for 24 seconds. */
export const underWay = (url: string, key: string, token: string): Promise<DownloadStatus> =>
  polledUntil(
    [url, key, token],
    'be under way',
    (status) => status.status === 'running' && status.progress !== undefined && status,
  );
