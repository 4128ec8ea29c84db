import type { components, paths } from '../../src/client/paths.ts';
import { apiClient, call } from './client.ts';
import type { Answer } from './client.ts';
import type { Service } from './service.ts';
import { waitFor } from './wait-for.ts';

type DownloadRequest = paths['/video/download']['post']['requestBody']['content']['application/json'];
type Queued = components['schemas']['QueuedDownload'];
type Ended = components['schemas']['DownloadDone'] | components['schemas']['DownloadFailed'];

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

/** Polls until a job has ended. @returns the last answer's data */
export async function ended(url: string, key: string, token: string): Promise<Ended> {
  const api = apiClient(url, key);
  return await waitFor(
    async () => {
      const { data, error } = await api.GET('/video/status', { params: { query: { token } } });
      if (error) throw new Error(`the status of ${token} cannot be read: ${JSON.stringify(error)}`);
      const { data: status } = data;
      return (status.status === 'done' || status.status === 'failed') && status;
    },
    { what: `job ${token} to end`, pollMs: pollEveryMs },
  );
}
