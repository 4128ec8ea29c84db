import { describe, expect, it } from 'vitest';
import { type Answer, call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { auditFoundDivergence } from '../support/log-lines.ts';
import { runSql, waitForJob, whileCreditsStandStill } from './engines-behind.ts';
import { creditsOf, metadataPath } from './requests.ts';
import { demoOf, noDownloads, ownService } from './shared-service.ts';

/** Answers while something behind the API is broken or stands still, which would disturb everybody at a shared service. */
const service = ownService(noDownloads, [
  auditFoundDivergence,
  'a request failed inside the service',
  'Postgres could not be asked to admit a request',
]);

describe('500 internal_error', () => {
  it('says nothing of what went wrong; the log does', async () => {
    const { url, sampleUrl } = service;
    const { key } = demoOf(service);
    const { request_token: token } = await queue(url, key, { url: sampleUrl('private') });
    await waitForJob(service, token);
    // A row that the projection would never write.
    await runSql(service, "update jobs set status = 'done' where token = $1", [token]);
    const { status, code, message } = await call(url, `/video/status?token=${token}`, { key });
    expect([status, code]).toEqual([500, 'internal_error']);
    expect(message).not.toMatch(/file|token|job/i);
    expect(service.log()).toContain('is done without a file');
  });
});

describe('while Postgres cannot admit anybody', () => {
  it('502 enqueue_failed for a download, else 503 unavailable, with the headers that were last known', async () => {
    const { url, sampleUrl } = service;
    const { key } = demoOf(service);
    const known = await call(url, '/credits', { key });
    await runSql(service, 'alter table api_key_window rename to api_key_window_away');
    try {
      const download = await call(url, '/video/download', { key, body: { url: sampleUrl('bars') } });
      expect([download.status, download.code, download.headers.get('retry-after')]).toEqual([
        ...[502, 'enqueue_failed', '1'],
      ]);
      for (const path of ['/credits', '/video/status?token=x', metadataPath(sampleUrl('bars'))]) {
        const answer = await call(url, path, { key });
        expect([answer.status, answer.code]).toEqual([503, 'unavailable']);
        expect(answer.headers.get('retry-after')).toMatch(/^[12]?\d$/);
        for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-credits-remaining']) {
          expect(answer.headers.get(name)).toBe(known.headers.get(name));
        }
      }
    } finally {
      await runSql(service, 'alter table api_key_window_away rename to api_key_window');
    }
    expect((await call(url, '/credits', { key })).data).toEqual(known.data);
  });
});

describe('X-Credits-Remaining of a lookup that comes to nothing', () => {
  const remaining = ({ headers }: Answer) => Number(headers.get('x-credits-remaining'));

  it.each([
    ['402 metadata_quota_exceeded', '0', 'bars'],
    ['502 metadata_unavailable', '50', 'private'],
  ])('%s is what the log says, while the read model is behind', async (outcome, included, item) => {
    const { url, sampleUrl, cli } = service;
    const { accountId, key } = await service.openAccount('dev_100');
    await cli('accounts', 'terms', accountId, '--metadata', included);
    const { downloads } = await creditsOf(url, key);
    await whileCreditsStandStill(service, async () => {
      await queue(url, key, { url: sampleUrl('private') });
      const answer = await call(url, metadataPath(sampleUrl(item)), { key });
      expect(`${String(answer.status)} ${String(answer.code)}`).toBe(outcome);
      expect(remaining(answer)).toBe(downloads.remaining - 1);
    });
  });
});
