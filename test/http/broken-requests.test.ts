import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { apiPrefix } from '../../src/http/endpoints.ts';
import { ended, queue } from '../support/downloads.ts';
import { scaled } from '../support/proof-scale.ts';
import { rawExchange, secondsUntilClosed } from './raw-request.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService();
/** For requests whose downloads nobody waits for. */
const idleService = shareService(noDownloads);
const tries = scaled(30, 1_000);
const garbage = 'no HTTP\r\n\r\n';
const host = 'Host: 127.0.0.1\r\n';

/** Sends the parts one after the other. @returns all that comes back until the connection is closed */
async function exchange(url: string, ...parts: string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  // Where the service has closed the connection already, the next part is lost.
  socket.on('error', () => undefined);
  for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
  return await readText(socket).catch(() => '');
}

describe('bytes that are no HTTP', () => {
  it('behind a download never have it answered with 400: it may be charged', async () => {
    const { url, sampleUrl } = idleService;
    const { key } = demoOf(idleService);
    const answers: string[] = [];
    for (let index = 0; index < tries; index += 1) {
      const body = JSON.stringify({ url: sampleUrl('private') });
      const head = `POST ${apiPrefix}/video/download HTTP/1.1\r\n${host}Authorization: Bearer ${key}\r\n`;
      const request = `${head}Content-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`;
      answers.push(await (index % 2 === 0 ? exchange(url, request + garbage) : exchange(url, request, garbage)));
    }
    expect(answers.map((answer) => answer.slice(0, 12)).filter((start) => !/^(?:HTTP\/1.1 20|$)/.test(start))).toEqual(
      [],
    );
  });

  it('behind a request for a file are not answered inside it', async () => {
    const { key } = demoOf(service);
    const { url, sampleUrl } = service;
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars'), quality: '360' });
    const done = await ended(url, key, token);
    if (done.status !== 'done') throw new Error('the download failed');
    const { pathname, search } = new URL(done.download_url);
    for (let index = 0; index < tries; index += 1) {
      const answer = await exchange(url, `GET ${pathname}${search} HTTP/1.1\r\n${host}\r\n${garbage}`);
      expect(answer.slice(1)).not.toContain('HTTP/1.1');
    }
  });
});

describe('405 method_not_allowed', () => {
  it('for methods that nobody knows, on the paths of endpoints', async () => {
    const { url } = service;
    const ask = async (line: string) => {
      const { status, code, headers } = await rawExchange(url, `${line}\r\n${host}\r\n`);
      return [status, code, headers['allow'], headers['connection']];
    };
    expect(await ask('FETCH /api/v1/credits HTTP/1.1')).toEqual([405, 'method_not_allowed', 'GET', 'close']);
    expect(await ask('GET2 /api/v1/video/download?a=b HTTP/1.1')).toEqual([405, 'method_not_allowed', 'POST', 'close']);
    expect(await ask('FETCH /api/v1/nothing HTTP/1.1')).toEqual([404, 'not_found', undefined, 'close']);
    expect(await ask('FETCH /% HTTP/1.1')).toEqual([404, 'not_found', undefined, 'close']);
  });

  it('for a tunnel', async () => {
    const tunnel = `CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n`;
    const { status, code, headers } = await rawExchange(service.url, tunnel);
    expect([status, code, headers['allow']]).toEqual([405, 'method_not_allowed', 'GET, POST']);
  });
});

describe('a request that does not arrive', () => {
  const started = `POST ${apiPrefix}/video/download HTTP/1.1\r\n${host}`;
  it.each([
    ['head is ended after five seconds', started, 5],
    ['body is ended after ten', `${started}Content-Length: 100\r\n\r\n{`, 10],
  ])('whose %s', async (_, bytes, seconds) => {
    const tookSeconds = await secondsUntilClosed(service.url, bytes);
    expect(tookSeconds).toBeGreaterThan(seconds - 0.5);
    // Connections are looked at every second.
    expect(tookSeconds).toBeLessThan(seconds + 4);
  });

  it('is not called wrong: a process that stood still has only not read it yet, and it may come again', async () => {
    const { status, code, headers } = await rawExchange(service.url, started);
    expect([status, code, headers['retry-after'], headers['connection']]).toEqual([503, 'unavailable', '1', 'close']);
  });
});
