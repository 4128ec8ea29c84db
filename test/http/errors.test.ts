import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { apiPrefix, endpoints } from '../../src/http/endpoints.ts';
import { expectError } from '../support/client.ts';
import { rawExchange, rawRequest } from './raw-request.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const bearer = () => `Bearer ${demoOf(service).key}`;
const get = (path: string) => rawRequest(service.url, { method: 'GET', path, headers: { authorization: bearer() } });

describe('404 not_found, in the envelope', () => {
  it.each([
    ...['/api', '/api/v1', '/api/v1/', '/api/v2/credits', '/credits', '/api/v1/video', '/favicon.ico'],
    ...['/api/v1/credits/', '/api/v1//credits', '/api/v1/CREDITS', '/api/v1/credits%2f', '/api/v1/credits;a=1'],
    ...['/api/v1/%zz', '/%', '/api/v1/credits%', '/api/v1/credits%00', '/api/v1/%c3%28', '/api/v1/../v1/credits'],
    ...['*', `/api/v1/${'x'.repeat(4_000)}`],
  ])('for %s', async (path) => {
    await expectError(get(path), '404 not_found');
  });

  it('for any method, with or without a body', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'QUERY', 'OPTIONS', 'PROPFIND']) {
      const { status, code } = await rawRequest(service.url, { method, path: '/api/v1/nothing', body: '{' });
      expect([method, status, code]).toEqual([method, 404, 'not_found']);
    }
  });
});

describe('405 method_not_allowed, with Allow', () => {
  // A tunnel is no request for a path.
  const methods = METHODS.filter((method) => method !== 'CONNECT');

  it.each(endpoints.map(({ method, path }) => ({ right: method, path })))(
    'for every method of $path but $right',
    async ({ right, path }) => {
      for (const method of methods.filter((other) => other !== right)) {
        const answer = await rawRequest(service.url, {
          method,
          path: `${apiPrefix}${path}?a=b`,
          headers: method === 'PUT' ? { authorization: bearer() } : {},
        });
        expect([method, answer.status, answer.headers['allow']]).toEqual([method, 405, right]);
        expect([method, answer.code]).toEqual([method, method === 'HEAD' ? undefined : 'method_not_allowed']);
      }
    },
  );

  it('for every way to write an endpoint’s path', async () => {
    const { url } = service;
    for (const path of ['/api/v1/credit%73', `${url}/api/v1/credits`, '/api/v1/credits#top', '/api/v1/credits?']) {
      expect([path, (await get(path)).status]).toEqual([path, 200]);
      const { status, headers } = await rawRequest(url, { method: 'DELETE', path });
      expect([path, status, headers['allow']]).toEqual([path, 405, 'GET']);
    }
  });

  it('also for a preflight of a browser: there is no CORS here', async () => {
    const headers = { origin: 'https://example.com', 'access-control-request-method': 'POST' };
    const path = '/api/v1/video/download';
    const answer = await rawRequest(service.url, { method: 'OPTIONS', path, headers });
    expect(answer.status).toBe(405);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('400 invalid_request for what is not HTTP', () => {
  const host = 'Host: 127.0.0.1\r\n';
  it.each([
    ['a line that is no request', 'hello\r\n\r\n'],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a header field without a colon', `GET /api/v1/credits HTTP/1.1\r\n${host}nonsense\r\n\r\n`],
    ['two lengths', `POST /api/v1/auth/key HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    [
      'a length and chunks',
      `POST /api/v1/auth/key HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a head that is too large', `GET /api/v1/credits HTTP/1.1\r\n${host}X-Large: ${'x'.repeat(40_000)}\r\n\r\n`],
    ['a head without Host', 'GET /api/v1/credits HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s', async (_, bytes) => {
    const { status, code, headers } = await rawExchange(service.url, bytes);
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(headers['connection']).toBe('close');
  });

  it('a chunk that is none, in the body of a request with a key', async () => {
    const head = `POST /api/v1/video/download HTTP/1.1\r\n${host}Authorization: ${bearer()}\r\n`;
    const type = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    await expectError(rawExchange(service.url, `${head}${type}zz\r\n{}\r\n0\r\n\r\n`), '400 invalid_request');
  });

  it('but what follows a request that was to be the last one is not looked at', async () => {
    const last = `GET /api/v1/credits HTTP/1.1\r\n${host}Authorization: ${bearer()}\r\nConnection: close\r\n\r\n`;
    const { status } = await rawExchange(service.url, `${last}hello\r\n\r\n`);
    expect(status).toBe(200);
  });

  it('and the service goes on when a client leaves in the middle of its body', async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const head = `POST /api/v1/video/download HTTP/1.1\r\n${host}Authorization: ${bearer()}\r\nContent-Length: 100\r\n\r\n`;
    socket.end(`${head}{"url":`);
    await once(socket.resume(), 'close');
    expect((await get('/api/v1/credits')).status).toBe(200);
  });
});

describe('what HTTP leaves to the server', () => {
  it('an old client, which sends no Host, is served', async () => {
    const { status } = await rawExchange(
      service.url,
      `GET /api/v1/credits HTTP/1.0\r\nAuthorization: ${bearer()}\r\n\r\n`,
    );
    expect(status).toBe(200);
  });

  it('an expectation or an upgrade that it does not know is ignored', async () => {
    for (const headers of [{ expect: 'a-miracle' }, { connection: 'upgrade', upgrade: 'websocket' }]) {
      const path = '/api/v1/credits';
      const asked = { method: 'GET', path, headers: { ...headers, authorization: bearer() } };
      expect((await rawRequest(service.url, asked)).status).toBe(200);
    }
  });
});
