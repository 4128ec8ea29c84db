import type { components, paths } from '../../src/client/paths.ts';
import { apiClient, call } from './client.ts';
import type { Answer } from './client.ts';
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

/** Polls count against the hourly limit of the key. */
export const pollEveryMs = 250;

export const statusOf = (url: string, key: string, token: string): Promise<Answer> =>
  call(url, `/video/status?token=${token}`, { key });

/** Polls until a job has ended. @returns the last answer's data */
export async function ended(url: string, key: string, token: string, timeoutMs = 60_000): Promise<Ended> {
  const api = apiClient(url, key);
  return await waitFor(
    async () => {
      const { data, error } = await api.GET('/video/status', { params: { query: { token } } });
      if (error) throw new Error(`the status of ${token} cannot be read: ${JSON.stringify(error)}`);
      const { data: status } = data;
      return (status.status === 'done' || status.status === 'failed') && status;
    },
    { what: `job ${token} to end`, timeoutMs, pollMs: pollEveryMs },
  );
}
