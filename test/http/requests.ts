import type { components } from '../../src/client/paths.ts';
import { type Answer, call } from '../support/client.ts';

export const metadataPath = (videoUrl: string): string => `/video/metadata?url=${encodeURIComponent(videoUrl)}`;

export type Credits = components['schemas']['Credits'];

export async function creditsOf(url: string, key: string): Promise<Credits> {
  const { data } = await call(url, '/credits', { key });
  return data as unknown as Credits;
}

/** Another key of the same account, with an hourly window of its own. */
export async function issueKey(url: string, key: string): Promise<string> {
  const { data, message } = await call(url, '/auth/key', { key, method: 'POST' });
  if (message !== '') throw new Error(message);
  return String(data['key']);
}

/** Uses up a key's hourly window. */
export async function exhaust(url: string, key: string): Promise<void> {
  for (;;) {
    const { headers } = await call(url, '/credits', { key });
    if (headers.get('x-ratelimit-remaining') === '0') return;
  }
}

/** Asks for several things at once. */
export function together(count: number, ask: (index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
}
