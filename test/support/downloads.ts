import { call } from './client.ts';
import type { Answer } from './client.ts';
import { waitFor } from './wait-for.ts';

export interface Queued {
  request_token: string;
  status: string;
  overage: boolean;
}

/** Queues a download. @throws unless it is accepted */
export async function queue(url: string, key: string, body: Record<string, unknown>): Promise<Queued> {
  const answer = await call(url, '/video/download', { key, body });
  if (answer.status !== 202) throw new Error(`the download was not queued: ${answer.text}`);
  return answer.data as unknown as Queued;
}

/** Polls count against the hourly limit of the key. */
export const pollEveryMs = 250;

export const statusOf = (url: string, key: string, token: string): Promise<Answer> =>
  call(url, `/video/status?token=${token}`, { key });

/** Polls until a job has ended. @returns the last answer's data */
export async function ended(
  url: string,
  key: string,
  token: string,
  timeoutMs = 60_000,
): Promise<Record<string, unknown>> {
  return await waitFor(
    async () => {
      const { status, data, text } = await statusOf(url, key, token);
      if (status !== 200) throw new Error(`the status of ${token} cannot be read: ${text}`);
      return ['done', 'failed'].includes(String(data['status'])) && data;
    },
    { what: `job ${token} to end`, timeoutMs, pollMs: pollEveryMs },
  );
}
