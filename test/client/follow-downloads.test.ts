import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createApiClient } from '../../src/client/client.ts';
import { ClientError } from '../../src/client/client-error.ts';
import { type DownloadEvents, followDownloads } from '../../src/client/follow-downloads.ts';
import { takeJob, waitForEnd, waitForJob } from '../http/engines-behind.ts';
import { noDownloads, shareService } from '../http/shared-service.ts';
import { apiClient, call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { listen } from '../support/listen.ts';

/** Its downloads end when a test says so. */
const service = shareService(noDownloads);

const tokensOf = ({ events }: DownloadEvents): string[] => events.map(({ request_token: token }) => token);

async function failed(key: string): Promise<string> {
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars') });
  await waitForJob(service, token);
  await takeJob(service, token, { failing: true });
  await waitForEnd(service, token);
  return token;
}

const next = async (following: AsyncGenerator<DownloadEvents, never>): Promise<DownloadEvents> =>
  (await following.next()).value;

describe('followDownloads', () => {
  it('gives each download once, as it ends, and goes on from a cursor that was kept', async () => {
    const { key } = await service.openAccount('dev_100');
    const first = await failed(key);
    const following = followDownloads(apiClient(service.url, key));
    const kept = await next(following);
    expect(tokensOf(kept)).toEqual([first]);
    const waiting = next(following);
    const second = await failed(key);
    expect(tokensOf(await waiting)).toEqual([second]);
    const again = followDownloads(apiClient(service.url, key), { after: kept.next });
    expect(tokensOf(await next(again))).toEqual([second]);
  });

  it('begins from now, and loses nothing that ends while an answer gets lost', async () => {
    const { key } = await service.openAccount('dev_100');
    await failed(key);
    const asked: (string | undefined)[] = [];
    const away = { success: false, error: { code: 'unavailable', message: 'The log is away.' } };
    const headers = { 'content-type': 'application/json', 'retry-after': '1' };
    let token = '';
    const server = createServer((request, response) => {
      asked.push(request.headers['prefer'] as string | undefined);
      void (async () => {
        if (asked.length === 2) {
          token = await failed(key);
          response.writeHead(503, headers).end(JSON.stringify(away));
          return;
        }
        const { text } = await call(service.url, (request.url ?? '').replace('/api/v1', ''), { key });
        response.setHeader('content-type', 'application/json').end(text);
      })();
    });
    await using listening = await listen(server);
    const api = createApiClient(`http://127.0.0.1:${String(listening.port)}`, key);
    expect(tokensOf(await next(followDownloads(api, { after: 'now' })))).toEqual([token]);
    expect(asked).toEqual([undefined, 'wait=60', 'wait=60']);
  });

  it('ends with an error that no repetition mends, and when it is told to', async () => {
    const { key } = await service.openAccount('dev_100');
    const refused = next(followDownloads(apiClient(service.url, key), { after: 'changed' }));
    await expect(refused).rejects.toThrow(ClientError);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });
    const stopping = new AbortController();
    const waiting = next(followDownloads(apiClient(service.url, key), { signal: stopping.signal }));
    stopping.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});
