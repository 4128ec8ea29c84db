import { describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { startNatsServer } from '../support/nats.ts';
import { waitFor } from '../support/wait-for.ts';
import { metadataPath } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const shortLink = () => `${service.samplePlatformUrl ?? ''}/s/bars`;

describe('a short link', () => {
  it('that no worker can look up is the endpoint’s own 502', async () => {
    const { key } = demoOf(service);
    const nats = await startNatsServer();
    try {
      await using api = await service.startRole('api', { NATS_URL: nats.url });
      const looked = await call(api.url, metadataPath(shortLink()), { key });
      expect([looked.status, looked.code]).toEqual([502, 'metadata_unavailable']);
      const queued = await call(api.url, '/video/download', { key, body: { url: shortLink() } });
      expect([queued.status, queued.code]).toEqual([502, 'enqueue_failed']);
      // Unless its key has a download: that one is queued and charged.
      const again = { key, body: { url: shortLink() }, headers: { 'idempotency-key': 'not-looked-up' } };
      expect((await call(service.url, '/video/download', again)).status).toBe(202);
      const isCut = () =>
        call(api.url, '/video/download', again).then(
          () => false,
          () => true,
        );
      await waitFor(isCut, { what: 'no answer, once the read model knows the key' });
    } finally {
      await nats.remove();
    }
  });
});
