import { describe, expect, it } from 'vitest';
import type { components } from '../../src/client/paths.ts';
import { call, expectError } from '../support/client.ts';
import { accountWithDownloads, queue } from '../support/downloads.ts';
import { takeJob, waitForEnd, waitForJob } from './engines-behind.ts';
import { creditsOf, exhaust, issueKey } from './requests.ts';
import { noDownloads, shareService } from './shared-service.ts';

type Downloads = components['schemas']['Downloads'];

const service = shareService(noDownloads);

const path = (query: Record<string, string> = {}) => `/downloads?${String(new URLSearchParams(query))}`;

async function downloadsOf(key: string, query: Record<string, string> = {}): Promise<Downloads> {
  const { status, data } = await call(service.url, path(query), { key });
  expect(status).toBe(200);
  return data as unknown as Downloads;
}

const tokensOf = ({ downloads }: Downloads): string[] => downloads.map(({ request_token: token }) => token);

describe('GET /downloads, 200', () => {
  it('lists the downloads of the account, the newest first, each with its charge', async () => {
    const { key, keyId, tokens } = await accountWithDownloads(service, ['bars', 'private'], 'dev_100');
    const [first = '', second = ''] = tokens;
    for (const token of tokens) await waitForJob(service, token);
    await takeJob(service, second, { failing: true });
    await waitForEnd(service, second);
    const { downloads, next } = await downloadsOf(key);
    const of = { platform: 'sample', format: 'video', quality: 'best', key_id: keyId };
    const charge = { credits: 1, cents: 0, given_back_cents: 0 };
    expect(downloads).toMatchObject([
      { ...of, request_token: second, status: 'failed', video_id: 'private', error: 'private_video', charge },
      { ...of, request_token: first, status: 'queued', video_id: 'bars', url: service.sampleUrl('bars'), charge },
    ]);
    expect(next).toBeNull();
    expect(tokensOf(await downloadsOf(key, { status: 'failed' }))).toEqual([second]);
    expect(tokensOf(await downloadsOf(key, { key_id: 'key_other' }))).toEqual([]);
    const today = new Date().toISOString().slice(0, 10);
    expect(tokensOf(await downloadsOf(key, { from: today, key_id: keyId }))).toEqual([second, first]);
    expect(tokensOf(await downloadsOf(key, { to: '2026-01-01' }))).toEqual([]);
  });

  it('goes on from a cursor until the last one', async () => {
    const { key, tokens } = await accountWithDownloads(
      service,
      Array.from({ length: 101 }, () => 'bars'),
      'enterprise',
    );
    await waitForJob(service, tokens.at(-1) ?? '');
    const first = await downloadsOf(key);
    expect(tokensOf(first)).toEqual(tokens.slice(1).reverse());
    const second = await downloadsOf(key, { after: String(first.next) });
    expect([tokensOf(second), second.next]).toEqual([[tokens[0]], null]);
  });

  it('costs no credit, and is the same by each key of the account', async () => {
    const { key, tokens } = await accountWithDownloads(service, ['bars'], 'dev_100');
    await waitForJob(service, tokens[0] ?? '');
    const before = await creditsOf(service.url, key);
    expect(tokensOf(await downloadsOf(await issueKey(service.url, key)))).toEqual(tokens);
    expect(await creditsOf(service.url, key)).toEqual(before);
  });
});

describe('GET /downloads, 400', () => {
  it.each([
    ['a state that there is not', { status: 'finished' }],
    ['a day that there is not', { from: '2027-02-30' }],
    ['a day without a year', { to: '0000-01-01' }],
    ['an empty cursor', { after: '' }],
    ['a text that is no cursor', { after: 'x' }],
  ])('invalid_request for %s', async (_, query) => {
    const { key } = await service.openAccount('dev_100');
    const { status, code, message } = await call(service.url, path(query), { key });
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(message).toMatch(new RegExp(`^${Object.keys(query).join()}: `));
  });

  it('invalid_request for a cursor of another list', async () => {
    const { key } = await service.openAccount('dev_100');
    const { data } = await call(service.url, '/video/events?after=now', { key });
    await expectError(call(service.url, path({ after: String(data['next']) }), { key }), '400 invalid_request');
  });
});

describe('GET /downloads, 401 and 429', () => {
  it('wants a key, and counts as any request of the hour', async () => {
    await expectError(call(service.url, path()), '401 unauthorized');
    const { key } = await service.openAccount('sandbox');
    await exhaust(service.url, key);
    await expectError(call(service.url, path(), { key }), '429 rate_limited');
  });
});

describe('GET /downloads', () => {
  it('shows nothing of another account', async () => {
    const { key } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars') });
    await waitForJob(service, token);
    const other = await service.openAccount('dev_100');
    expect(await downloadsOf(other.key)).toEqual({ downloads: [], next: null });
  });
});
