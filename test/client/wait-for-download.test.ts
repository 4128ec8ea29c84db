import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createApiClient } from '../../src/client/client.ts';
import { ClientError } from '../../src/client/client-error.ts';
import { waitForDownload } from '../../src/client/wait-for-download.ts';
import { noDownloads, shareService } from '../http/shared-service.ts';
import { apiClient, call } from '../support/client.ts';
import { ended, queue, statusOf } from '../support/downloads.ts';
import { listen } from '../support/listen.ts';

const service = shareService();
/** Its downloads do not end. */
const idleService = shareService(noDownloads);

describe('the typed client', () => {
  it('waits for a download with a request for each of its steps, and few for a long one', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars'), quality: '360' });
    const told: string[] = [];
    const startedMs = performance.now();
    const last = await waitForDownload(apiClient(url, key), token, { onStatus: ({ status }) => told.push(status) });
    const waitedSeconds = (performance.now() - startedMs) / 1_000;
    expect(last).toMatchObject({ status: 'done', request_token: token });
    // A wait in which nothing changes takes 5 s, the next one twice as long.
    expect(told.length - new Set(told).size).toBeLessThanOrEqual(waitedSeconds / 5);
    const { headers } = await call(url, '/credits', { key });
    const used = Number(headers.get('x-ratelimit-limit')) - Number(headers.get('x-ratelimit-remaining'));
    expect(used, 'the download itself, and this').toBe(told.length + 2);
  });

  it('says why there is nothing to wait for', async () => {
    const { url } = service;
    const { key } = await service.openAccount('dev_100');
    const waiting = waitForDownload(apiClient(url, key), 'no-such-token');
    await expect(waiting).rejects.toThrow(ClientError);
    await expect(waiting).rejects.toMatchObject({ code: 'not_found' });
  });

  it('waits as long as an error asks, also where the service has waited for the status before it', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('private') });
    await ended(url, key, token);
    const askedMs: number[] = [];
    const away = { success: false, error: { code: 'unavailable', message: 'The files are away.' } };
    const headers = { 'content-type': 'application/json', 'retry-after': '1', 'preference-applied': 'wait=60' };
    const server = createServer((_request, response) => {
      askedMs.push(performance.now());
      if (askedMs.length === 1) response.writeHead(503, headers).end(JSON.stringify(away));
      else
        void statusOf(url, key, token).then((answer) =>
          response.setHeader('content-type', 'application/json').end(answer.text),
        );
    });
    await using listening = await listen(server);
    await waitForDownload(createApiClient(`http://127.0.0.1:${String(listening.port)}`, key), token);
    expect(askedMs[1]! - askedMs[0]!).toBeGreaterThan(900);
  });

  it('gives up when it is told to', async () => {
    const { url, sampleUrl, openAccount } = idleService;
    const { key } = await openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars') });
    const giving = new AbortController();
    const waiting = waitForDownload(apiClient(url, key), token, giving);
    giving.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
