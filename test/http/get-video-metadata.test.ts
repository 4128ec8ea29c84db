import { describe, expect, it } from 'vitest';
import { failureReasons } from '../../src/domain/failure-reasons.ts';
import { call, expectError } from '../support/client.ts';
import { creditsOf, exhaust, expectDownloadImpossible, issueKey, metadataPath, together } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const lookUpUrl = (url: string, key: string) => call(service.url, metadataPath(url), { key });
const lookUp = (item: string, key: string) => lookUpUrl(service.sampleUrl(item), key);

describe('GET /video/metadata, 200', () => {
  it('has exactly the fields of the contract', async () => {
    const { url, sampleUrl, samplePlatformUrl } = service;
    const address = `${sampleUrl('bars')}?from=elsewhere#t=3`;
    const { status, data } = await call(url, metadataPath(address), { key: demoOf(service).key });
    expect(status).toBe(200);
    expect(data).toEqual({
      platform: 'sample',
      video_id: 'bars',
      title: 'Colour bars',
      duration: 10,
      thumbnail: `${samplePlatformUrl ?? ''}/thumbnails/bars.svg`,
      url: sampleUrl('bars'),
      download: { possible: true, reason: null },
    });
    const thumbnail = await fetch(String(data['thumbnail']));
    expect(thumbnail.headers.get('content-type')).toMatch(/^image\//);
    await thumbnail.body?.cancel();
  });

  it('takes one metadata credit each time, and no download credit', async () => {
    const { key } = demoOf(service);
    const before = await creditsOf(service.url, key);
    const first = await lookUp('vertical', key);
    const again = await lookUp('vertical', key);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('x-credits-remaining')).toBe(String(before.downloads.remaining));
    const after = await creditsOf(service.url, key);
    expect(after.metadata.used).toBe(before.metadata.used + 2);
    expect(after.downloads).toEqual(before.downloads);
    expect(after.overage).toEqual(before.overage);
  });
});

describe('GET /video/metadata, what a download would fail for', () => {
  it.each([
    ['live', 'live_stream'],
    ['large', 'too_large'],
  ])('%s: %s, for one credit', async (item, reason) => {
    await expectDownloadImpossible(service, item, reason);
  });
});

describe('GET /video/metadata, 400', () => {
  it.each([
    ['without a url', ''],
    ['with an empty url', '?url='],
    ['with two urls', '?url=https%3A%2F%2Fyoutu.be%2FdQw4w9WgXcQ&url=https%3A%2F%2Fyoutu.be%2FdQw4w9WgXcQ'],
    ['with something that is no http address', '?url=ftp%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3DdQw4w9WgXcQ'],
  ])('invalid_request %s', async (_, query) => {
    const { key } = demoOf(service);
    await expectError(call(service.url, `/video/metadata${query}`, { key }), '400 invalid_request');
  });

  it('unsupported_platform for the address of another site', async () => {
    const { key } = demoOf(service);
    await expectError(lookUpUrl('https://example.com/watch?v=1', key), '400 unsupported_platform');
  });
});

describe('GET /video/metadata, 401', () => {
  it('wants a key', async () => {
    await expectError(call(service.url, metadataPath(service.sampleUrl('bars'))), '401 unauthorized');
  });
});

describe('GET /video/metadata, 402 and 429', () => {
  it('metadata_quota_exceeded once the 50 of the free plan are used up, and not one earlier; then rate_limited', async () => {
    const { url } = service;
    const { accountId, key } = await service.openAccount('sandbox');
    await service.cli('accounts', 'terms', accountId, '--keys', '7');
    const keys = [key, ...(await Promise.all(Array.from({ length: 6 }, () => issueKey(url, key))))];
    // The first key has four requests left, the others have ten each: 52 lookups, and two requests to look at the credits.
    const answers = await together(52, (index) => lookUp('bars', keys[1 + (index % 6)] ?? ''));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
    expect(answers.filter(({ code }) => code === 'metadata_quota_exceeded').map(({ status }) => status)).toEqual([
      402, 402,
    ]);
    expect((await creditsOf(url, key)).metadata).toEqual({ limit: 50, used: 50, remaining: 0 });
    // The pool is looked at first: what could not have been looked up anyway is refused all the same.
    await expectError(lookUp('private', key), '402 metadata_quota_exceeded');
    expect((await creditsOf(url, key)).metadata.used).toBe(50);

    await exhaust(url, key);
    await expectError(lookUp('bars', key), '429 rate_limited');
  });
});

describe('GET /video/metadata, 502', () => {
  it('metadata_unavailable for what the platform does not tell, and nothing is charged', async () => {
    const { key } = demoOf(service);
    const before = await creditsOf(service.url, key);
    // Each item that fails is looked at where films are made.
    const reasons = {
      private: ['private_video', false],
      gone: ['video_unavailable', false],
      'no-such-item': ['video_unavailable', false],
      busy: ['rate_limited_by_platform', true],
    } as const;
    const items = Object.keys(reasons);
    const answers = await Promise.all(items.map((item) => lookUp(item, key)));
    expect(answers.map(({ status, code }) => `${String(status)} ${String(code)}`)).toEqual(
      items.map(() => '502 metadata_unavailable'),
    );
    for (const [index, [reason, retryable]] of Object.values(reasons).entries()) {
      const { text, headers } = answers[index]!;
      const { message } = failureReasons[reason];
      // The platform's own words, which may hold anything, stay inside.
      const said = `${message} ${retryable ? 'Try again' : 'Repeating the request does not help'}`;
      expect(JSON.parse(text)).toMatchObject({ error: { message: said, reason, retryable } });
      expect(headers.has('retry-after')).toBe(retryable);
    }
    expect(await creditsOf(service.url, key)).toEqual(before);
  });
});
