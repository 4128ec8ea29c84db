import { describe, expect, it } from 'vitest';
import { ClientError } from '../../src/client/client-error.ts';
import { waitForDownload } from '../../src/client/wait-for-download.ts';
import { apiClient, call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { shareService } from '../http/shared-service.ts';

const service = shareService();

describe('the typed client', () => {
  it('waits for a download with a request for each of its steps', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars'), quality: '360' });
    expect(await waitForDownload(apiClient(url, key), token)).toMatchObject({ status: 'done', request_token: token });
    const { headers } = await call(url, '/credits', { key });
    // The download itself, at most claimed, running and done, and this.
    const used = Number(headers.get('x-ratelimit-limit')) - Number(headers.get('x-ratelimit-remaining'));
    expect(used).toBeLessThanOrEqual(5);
  });

  it('says why there is nothing to wait for', async () => {
    const { url } = service;
    const { key } = await service.openAccount('dev_100');
    const waiting = waitForDownload(apiClient(url, key), 'no-such-token');
    await expect(waiting).rejects.toThrow(ClientError);
    await expect(waiting).rejects.toMatchObject({ code: 'not_found' });
  });

  it('gives up when it is told to', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('slow') });
    const giving = new AbortController();
    const waiting = waitForDownload(apiClient(url, key), token, giving);
    giving.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
