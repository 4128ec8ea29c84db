import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, call } from '../support/client.ts';
import { issueKey, metadataPath } from './requests.ts';
import { noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const limit = 10;
let firstKey = '';

beforeAll(async () => {
  const opened = await service.openAccount('sandbox');
  await service.cli('accounts', 'terms', opened.accountId, '--keys', '100');
  firstKey = opened.key;
});

/** A key of the free plan with an untouched window. */
const freshKey = () => issueKey(service.url, firstKey);

const windowOf = ({ headers }: Answer) => ({
  limit: Number(headers.get('x-ratelimit-limit')),
  remaining: Number(headers.get('x-ratelimit-remaining')),
  resetAtSeconds: Number(headers.get('x-ratelimit-reset')),
});

describe('the hourly limit of a key', () => {
  it('lets 10 requests of the free plan through, refuses the 11th, and says exactly where it stands', async () => {
    const key = await freshKey();
    const beforeMs = Date.now();
    const first = await call(service.url, '/credits', { key });
    const afterMs = Date.now();
    const { resetAtSeconds } = windowOf(first);
    // The first request leaves the window an hour after it came in, rounded up.
    expect(resetAtSeconds).toBeGreaterThanOrEqual(Math.ceil((beforeMs + 3_600_000) / 1000));
    expect(resetAtSeconds).toBeLessThanOrEqual(Math.ceil((afterMs + 3_600_001) / 1000));

    for (let sent = 2; sent <= limit; sent += 1) {
      const answer = await call(service.url, '/credits', { key });
      expect(answer.status).toBe(200);
      expect(answer.headers.has('retry-after')).toBe(false);
      expect(windowOf(answer)).toEqual({ limit, remaining: limit - sent, resetAtSeconds });
    }
    for (let refused = 0; refused < 3; refused += 1) {
      const answer = await call(service.url, '/credits', { key });
      expect([answer.status, answer.code]).toEqual([429, 'rate_limited']);
      expect(windowOf(answer)).toEqual({ limit, remaining: 0, resetAtSeconds });
      const retryAtSeconds = Math.round(Date.now() / 1000) + Number(answer.headers.get('retry-after'));
      expect(Math.abs(retryAtSeconds - resetAtSeconds)).toBeLessThanOrEqual(1);
    }
  });

  it('counts every admitted request whatever comes of it, and none that was refused for its key or its route', async () => {
    const { url, sampleUrl } = service;
    const key = await freshKey();
    const outcomes = [
      () => call(url, '/credits', { key }),
      () => call(url, '/video/metadata', { key }),
      () => call(url, metadataPath('https://example.com/'), { key }),
      () => call(url, '/video/download', { key, body: { url: sampleUrl('bars') } }),
      () => call(url, '/video/status?token=unknown', { key }),
      () => call(url, metadataPath(sampleUrl('private')), { key }),
      () => call(url, '/video/download', { key, body: 'x'.repeat(20_000) }),
    ];
    const statuses: number[] = [];
    for (const [index, ask] of outcomes.entries()) {
      const answer = await ask();
      statuses.push(answer.status);
      expect(windowOf(answer).remaining).toBe(limit - 1 - index);
    }
    expect(statuses).toEqual([200, 400, 400, 402, 404, 502, 400]);

    await call(url, '/no/such/path', { key });
    await call(url, '/credits', { key, method: 'DELETE' });
    await call(url, '/credits', { key: `${key}x` });
    expect(windowOf(await call(url, '/credits', { key })).remaining).toBe(limit - outcomes.length - 1);
  });
});
