import { describe, expect, it } from 'vitest';
import { call, expectError } from '../support/client.ts';
import { creditsOf, metadataPath } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const shortLink = (id: string) => `${service.samplePlatformUrl ?? ''}/s/${id}`;
const lookUp = (url: string, key: string) => call(service.url, metadataPath(url), { key });

describe('a short link', () => {
  it('is looked up, and answered as the item that it stands for', async () => {
    const { key } = demoOf(service);
    const short = await lookUp(shortLink('bars'), key);
    expect(short.status).toBe(200);
    expect(short.data).toMatchObject({ video_id: 'bars', url: service.sampleUrl('bars') });
    expect(short.text).toBe((await lookUp(service.sampleUrl('bars'), key)).text);
  });

  it('is downloaded as that item: only its own id and address are kept, and both addresses are one request', async () => {
    const { key } = demoOf(service);
    const download = (url: string) =>
      call(service.url, '/video/download', { key, body: { url }, headers: { 'idempotency-key': 'short-link-test' } });
    const first = await download(shortLink('bars'));
    expect(first.status).toBe(202);
    expect(first.data).toMatchObject({ platform: 'sample', video_id: 'bars' });
    expect((await download(service.sampleUrl('bars'))).text).toBe(first.text);
    const timeline = JSON.stringify(await service.cli('jobs', 'timeline', String(first.data['request_token'])));
    expect(timeline).toContain(service.sampleUrl('bars'));
    expect(timeline).not.toContain('/s/');
  });

  it.each(['away', 'loop'])('that leads nowhere (%s) is unsupported_platform, and nothing is charged', async (id) => {
    const { url } = service;
    const { key } = demoOf(service);
    const before = await creditsOf(url, key);
    await expectError(lookUp(shortLink(id), key), '400 unsupported_platform');
    await expectError(call(url, '/video/download', { key, body: { url: shortLink(id) } }), '400 unsupported_platform');
    expect(await creditsOf(url, key)).toEqual(before);
  });

  it('that the platform cannot resolve at the moment is the endpoint’s own 502 with a time, and nothing is charged', async () => {
    const { url } = service;
    const { key } = demoOf(service);
    const before = await creditsOf(url, key);
    const looked = await lookUp(shortLink('busy'), key);
    expect([looked.status, looked.code, looked.headers.get('retry-after')]).toEqual([502, 'metadata_unavailable', '1']);
    const queued = await call(url, '/video/download', { key, body: { url: shortLink('busy') } });
    expect([queued.status, queued.code, queued.headers.get('retry-after')]).toEqual([502, 'enqueue_failed', '1']);
    expect(await creditsOf(url, key)).toEqual(before);
  });
});
