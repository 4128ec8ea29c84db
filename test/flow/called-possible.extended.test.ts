import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { type Service, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** An operator's limit that only the largest of an item's sizes exceeds: metadata does not know which one will be asked for. */
let service: Service;
let key: string;
beforeAll(async () => {
  service = await startService({ MAX_FILE_MIB: '1' });
  ({ key } = await service.openAccount('enterprise'));
});
afterAll(() => service[Symbol.asyncDispose]());

const usedDownloads = async () =>
  ((await call(service.url, '/credits', { key })).data['downloads'] as { used: number }).used;

/** A download that is refused at its probe. */
async function refusedDownload(): Promise<void> {
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('cinema') });
  expect(await ended(service.url, key, token)).toMatchObject({ status: 'failed', error: 'too_large' });
}

it('a download that fails at its probe is charged, unless metadata had just called it possible', async () => {
  await refusedDownload();
  expect(await usedDownloads()).toBe(1);
  const { data } = await call(service.url, `/video/metadata?url=${encodeURIComponent(service.sampleUrl('cinema'))}`, {
    key,
  });
  expect(data['download']).toEqual({ possible: true, reason: null });
  await refusedDownload();
  await waitFor(async () => (await usedDownloads()) === 1, { what: 'the credit to be given back' });
  expect(await service.cli('ledger', 'verify')).toMatchObject({ verdict: 'verified' });
});
