import { describe, expect, it } from 'vitest';
import { call, expectError } from '../support/client.ts';
import { type Credits, creditsOf, exhaust } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const timestamp = /^\d{4}-\d\d-\d\d 00:00:00\.000$/;

describe('GET /credits, 200 and 429', () => {
  it('has exactly the fields of the contract, and a new account has used nothing; then rate_limited', async () => {
    const { key } = await service.openAccount('sandbox');
    const { status, data, headers } = await call(service.url, '/credits', { key });
    expect(status).toBe(200);
    expect(data).toEqual({
      plan: 'sandbox',
      downloads: { limit: 0, used: 0, remaining: 0 },
      metadata: { limit: 50, used: 0, remaining: 50 },
      overage: { downloads: 0, cents: 0 },
      period_start: expect.stringMatching(timestamp) as unknown,
      period_end: expect.stringMatching(timestamp) as unknown,
    });
    expect(headers.get('x-credits-remaining')).toBe('0');

    await exhaust(service.url, key);
    await expectError(call(service.url, '/credits', { key }), '429 rate_limited');
  });

  it('shows a period that began at midnight UTC and lasts a month', async () => {
    const { period_start: start, period_end: end } = await creditsOf(service.url, demoOf(service).key);
    const instant = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);
    expect(instant(start)).toBeLessThanOrEqual(Date.now());
    expect(instant(end)).toBeGreaterThan(Date.now());
    const days = (instant(end) - instant(start)) / 86_400_000;
    expect([28, 29, 30, 31]).toContain(days);
  });

  it('has the limits of each plan whose limits the contract shows, and follows a change of plan at once', async () => {
    const { accountId, key } = await service.openAccount('dev_100');
    const shown = async () => {
      const { data, headers } = await call(service.url, '/credits', { key });
      const { plan, downloads, metadata } = data as unknown as Credits;
      return [plan, downloads.limit, metadata.limit, headers.get('x-ratelimit-limit')];
    };
    expect(await shown()).toEqual(['dev_100', 100, 500, '30']);
    await service.cli('accounts', 'plan', accountId, 'scale_2000');
    expect(await shown()).toEqual(['scale_2000', 2000, 10_000, '120']);
    await service.cli('accounts', 'plan', accountId, 'sandbox', '--effective', 'now');
    expect(await shown()).toEqual(['sandbox', 0, 50, '10']);
  });

  it('takes no parameters and ignores those that are sent', async () => {
    const { status } = await call(service.url, '/credits?plan=enterprise&x', { key: demoOf(service).key });
    expect(status).toBe(200);
  });
});

describe('GET /credits, 401', () => {
  it('wants a key', async () => {
    await expectError(call(service.url, '/credits'), '401 unauthorized');
  });
});
