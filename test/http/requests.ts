import { expect } from 'vitest';
import type { components } from '../../src/client/paths.ts';
import { type Answer, call } from '../support/client.ts';
import type { ServiceInUse } from '../support/service.ts';
import { demoOf } from './shared-service.ts';

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

/** An item is shown, for one credit, and its download would fail for this reason. */
export async function expectDownloadImpossible(service: ServiceInUse, item: string, reason: string): Promise<void> {
  const { url, sampleUrl } = service;
  const { key } = demoOf(service);
  const before = await creditsOf(url, key);
  const { data } = await call(url, metadataPath(sampleUrl(item)), { key });
  expect(data['download']).toEqual({ possible: false, reason });
  expect((await creditsOf(url, key)).metadata.used).toBe(before.metadata.used + 1);
}
