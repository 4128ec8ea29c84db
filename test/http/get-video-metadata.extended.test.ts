import { describe, expect, it } from 'vitest';
import { call, expectError } from '../support/client.ts';
import { creditsOf, expectDownloadImpossible, metadataPath } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);

describe('GET /video/metadata, what a download would fail for', () => {
  it.each([
    ['long', 'too_long'],
    ['drm', 'drm_protected'],
  ])('%s: %s, for one credit', async (item, reason) => {
    await expectDownloadImpossible(service, item, reason);
  });
});

describe('GET /video/metadata, 502', () => {
  it('metadata_unavailable for a platform that cannot be reached', async () => {
    const { key } = demoOf(service);
    const before = await creditsOf(service.url, key);
    // No such video, for where the platform can be reached.
    const path = metadataPath('https://www.youtube.com/watch?v=00000000000');
    await expectError(call(service.url, path, { key }), '502 metadata_unavailable');
    expect(await creditsOf(service.url, key)).toEqual(before);
  });
});
