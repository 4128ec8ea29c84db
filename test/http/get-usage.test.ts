import { describe, expect, it } from 'vitest';
import type { components } from '../../src/client/paths.ts';
import { call, expectError } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { waitForJob } from './engines-behind.ts';
import { creditsOf, exhaust, metadataPath } from './requests.ts';
import { noDownloads, shareService } from './shared-service.ts';

type Usage = components['schemas']['Usage'];

const service = shareService(noDownloads);

const path = (query: Record<string, string> = {}) => `/usage?${String(new URLSearchParams(query))}`;

async function usageOf(key: string, query: Record<string, string> = {}): Promise<Usage> {
  const { status, data } = await call(service.url, path(query), { key });
  expect(status).toBe(200);
  return data as unknown as Usage;
}

describe('GET /usage, 200', () => {
  it('has the pools of GET /credits, and the downloads of each day and key', async () => {
    const { url, sampleUrl } = service;
    const { key, keyId, accountId } = await service.openAccount('dev_100');
    await service.cli('accounts', 'terms', accountId, '--downloads', '1');
    const { data } = await call(url, '/auth/key', { key, body: { label: 'build server' } });
    const other = String(data['key']);
    const tokens: string[] = [];
    for (const by of [key, other, other]) tokens.push((await queue(url, by, { url: sampleUrl('bars') })).request_token);
    await call(url, metadataPath(sampleUrl('bars')), { key });
    for (const token of tokens) await waitForJob(service, token);

    const { days, keys, next, ...credits } = await usageOf(key);
    expect(credits).toEqual(await creditsOf(url, key));
    expect(credits.overage).toEqual({ downloads: 2, cents: 50 });
    const today = credits.period_start.slice(0, 10);
    expect(days).toEqual([
      {
        day: today,
        downloads: 3,
        overage_downloads: 2,
        overage_cents: 50,
        metadata_requests: 1,
        given_back_credits: 0,
        given_back_overage_downloads: 0,
        given_back_cents: 0,
        given_back_metadata_credits: 0,
      },
    ]);
    const prefixOf = (raw: string) => keys.find(({ key_prefix: prefix }) => prefix !== null && raw.startsWith(prefix));
    const onCredit = { downloads: 1, overage_downloads: 0, overage_cents: 0 };
    const beyond = { downloads: 2, overage_downloads: 2, overage_cents: 50 };
    expect(prefixOf(key)).toMatchObject({ key_id: keyId, ...onCredit, days: [{ day: today, ...onCredit }] });
    expect(prefixOf(other)).toMatchObject({
      label: 'build server',
      ...beyond,
      days: [{ day: today, ...beyond }],
    });
    expect([keys.length, next]).toEqual([2, null]);
    expect(await usageOf(key, { period: today })).toEqual(await usageOf(key));
  });

  it('costs no credit, and is empty where nothing was used', async () => {
    const { key } = await service.openAccount('dev_100');
    const { days, keys, downloads } = await usageOf(key);
    expect([days, keys, downloads.used]).toEqual([[], [], 0]);
    expect((await creditsOf(service.url, key)).downloads.used).toBe(0);
  });
});

describe('GET /usage, 400', () => {
  it.each([
    ['a day on which no period begins', { period: '2020-01-01' }],
    ['a day that there is not', { period: '2027-13-01' }],
    ['an instant', { period: '2027-01-20T00:00:00Z' }],
    ['a text that is no cursor', { after: 'x' }],
  ])('invalid_request for %s', async (_, query) => {
    const { key } = await service.openAccount('dev_100');
    const { status, code, message } = await call(service.url, path(query), { key });
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(message).toMatch(new RegExp(`^${Object.keys(query).join()}: `));
  });
});

describe('GET /usage, 401 and 429', () => {
  it('wants a key, and counts as any request of the hour', async () => {
    await expectError(call(service.url, path()), '401 unauthorized');
    const { key } = await service.openAccount('sandbox');
    await exhaust(service.url, key);
    await expectError(call(service.url, path(), { key }), '429 rate_limited');
  });
});
