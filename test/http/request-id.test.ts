import { describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { readEvents } from './engines-behind.ts';
import { rawExchange } from './raw-request.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const clients = 'of-the-client';

describe('X-Request-Id', () => {
  it.each([
    ['an answer of the API', 'GET', '/api/v1/credits'],
    ['401', 'POST', '/api/v1/video/download'],
    ['404', 'GET', '/nothing'],
    ['404 of a path that cannot be decoded', 'GET', '/%'],
    ['405', 'DELETE', '/api/v1/credits'],
    ['the start page', 'GET', '/'],
    ['the reference', 'GET', '/docs'],
    ['the document', 'GET', '/openapi.json'],
    ['health', 'GET', '/healthz'],
    ['readiness', 'GET', '/readyz'],
    ['metrics', 'GET', '/metrics'],
    ['a dead link', 'GET', '/files/a/0/media.mp4'],
    ['another method on a link', 'POST', '/files/a/0/media.mp4'],
  ])('is ours, on %s', async (_, method, path) => {
    const { url } = service;
    const headers = { 'x-request-id': clients, authorization: `Bearer ${demoOf(service).key}` };
    const ids = [];
    for (let time = 0; time < 2; time += 1) {
      const response = await fetch(url + path, { method, headers });
      await response.arrayBuffer();
      ids.push(response.headers.get('x-request-id') ?? '');
    }
    for (const id of ids) expect(id).toMatch(uuid);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it.each([
    'no HTTP\r\n\r\n',
    'FETCH /api/v1/credits HTTP/1.1\r\nHost: a\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
  ])('is on answers to what Node makes no request of: %j', async (bytes) => {
    const { headers } = await rawExchange(service.url, bytes);
    expect(headers['x-request-id']).toMatch(uuid);
  });

  it('stands as $correlationId in the events of its request', async () => {
    const { url, sampleUrl } = service;
    const { accountId, key } = await service.openAccount('dev_100');
    await queue(url, key, { url: sampleUrl('bars') });
    const { headers } = await call(url, '/video/download', { key, body: { url: sampleUrl('private') } });
    const events = await readEvents(service, `usage-${accountId}`);
    const { $correlationId } = events.at(-1)?.metadata as { $correlationId: string };
    expect(headers.get('x-request-id')).toBe($correlationId);
  });
});
