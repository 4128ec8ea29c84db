import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createListener } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createEgressGuard, type EgressGuard } from '../../../src/downloader/egress/connection-guard.ts';
import { type EgressProxy, startEgressProxy } from '../../../src/downloader/egress/proxy.ts';
import { listen, type Listening } from '../../support/listen.ts';
import { waitFor } from '../../support/wait-for.ts';
import { exchange } from './exchange.ts';

const seen: IncomingMessage[] = [];
const site = createServer((request: IncomingMessage, response: ServerResponse) => {
  seen.push(request);
  request.resume();
  if (request.url === '/large') response.end(Buffer.alloc(3_000_000));
  else if (request.url === '/silent') response.write('begun');
  else response.writeHead(200, { 'Keep-Alive': 'timeout=9', 'X-Own': 'kept' }).end(`${request.method} ${request.url}`);
});
let listening: Listening;
let guard: EgressGuard;
let proxy: EgressProxy;
let host = '';
const counted: string[] = [];
const observer = {
  egressRefused: (reason: string) => counted.push(reason),
  egressOpened: () => counted.push('opened'),
  egressClosed: () => counted.push('closed'),
};

beforeAll(async () => {
  listening = await listen(site);
  const { port } = listening;
  host = `127.0.0.1:${port}`;
  guard = createEgressGuard({
    allowed: [{ host: '127.0.0.1', port }],
    onRefused: ({ reason }) => counted.push(reason),
    resolve: async (name) => (name === 'inside.example' ? ['10.0.0.1'] : []),
  });
  proxy = await startEgressProxy({ guard, observer });
});
afterAll(async () => {
  await proxy.close();
  await listening.close();
});

/** Admits an attempt, and speaks to the proxy byte by byte. */
function admit(maxBytes = 1_000_000, to = proxy) {
  const pass = to.admit({ maxBytes });
  const { username, password, port: digits } = new URL(pass.proxyUrl);
  const port = Number(digits);
  const credentials = Buffer.from(`${username}:${password}`).toString('base64');
  const authorization = `Proxy-Authorization: Basic ${credentials}\r\n`;
  return { pass, authorization, port, say: (text: string) => exchange(port, text) };
}

const close = 'Connection: close\r\n\r\n';

/** As in a sandbox, whose network somebody else listens in. */
test('ends connections that show no credentials, and closes over those that are left', async () => {
  const listener = createListener();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const guard = createEgressGuard({ allowed: [], onRefused: () => undefined });
  const own = await startEgressProxy({ guard, listener, unauthenticatedMs: 100 });
  const { port } = listener.address() as AddressInfo;
  expect(await exchange(port, 'GET http://slow')).toBe('');
  const { username, password } = new URL(own.admit({ maxBytes: 1_000 }).proxyUrl);
  const credentials = Buffer.from(`${username}:${password}`).toString('base64');
  const known = connect(port, '127.0.0.1');
  const ended = new Promise((resolve) => known.on('error', () => undefined).once('close', resolve));
  known.write(`GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic ${credentials}\r\n\r\n`);
  await new Promise((resolve) => known.once('data', resolve));
  await own.close();
  await ended;
});

describe('the proxy', () => {
  test('passes a request on, without what belongs to one connection', async () => {
    const { pass, authorization, say } = admit();
    const own = 'Proxy-Connection: keep-alive\r\nX-Hop: 1\r\nConnection: close, x-hop\r\nX-End: 2\r\n\r\n';
    const heard = await say(`GET http://${host}/a?b=c HTTP/1.1\r\nHost: elsewhere\r\n${authorization}${own}`);
    expect(heard).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(heard).toContain('GET /a?b=c');
    expect(heard).toMatch(/x-own: kept/i);
    expect(heard).not.toMatch(/timeout=9/);
    expect(seen.at(-1)?.headers).toEqual({ host, 'x-end': '2', connection: 'close' });
    expect(pass.close()).toMatchObject({ connections: 1, refusals: 0, exhausted: false });
  });

  test('opens a tunnel, and counts what it carries', async () => {
    const { pass, authorization, say } = admit();
    const inside = `GET /inside HTTP/1.1\r\nHost: x\r\n${close}`;
    const heard = await say(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n${inside}`);
    expect(heard).toMatch(/^HTTP\/1\.1 200 Connection Established\r\n\r\nHTTP\/1\.1 200 OK/);
    const { sentBytes, receivedBytes } = pass.close();
    expect([sentBytes, receivedBytes]).toEqual([inside.length, heard.length - heard.indexOf('HTTP/1.1 200 OK')]);
  });

  test.each(['GET http://HOST/', 'CONNECT HOST'])(
    'does nothing without the credentials of an attempt: %s',
    async (head) => {
      const { pass, authorization, say } = admit();
      const wrong = [
        ...['', `Proxy-Authorization: Basic ${Buffer.from('attempt:').toString('base64')}\r\n`],
        ...[authorization.replace(/.{6}==?\r\n$|.{6}\r\n$/, 'AAAAAA\r\n'), authorization.replace('Proxy-', '')],
      ];
      const before = seen.length;
      const line = head.replace('HOST', host);
      for (const header of wrong)
        expect(await say(`${line} HTTP/1.1\r\nHost: ${host}\r\n${header}${close}`)).toMatch(/^HTTP\/1\.1 407 /);
      pass.close();
      expect(await say(`${line} HTTP/1.1\r\nHost: ${host}\r\n${authorization}${close}`)).toMatch(/^HTTP\/1\.1 407 /);
      expect(seen).toHaveLength(before);
    },
  );

  test.each([
    ['GET http://inside.example/', '403'],
    ['CONNECT inside.example:443', '403'],
    ['GET http://127.0.0.1:1/', '403'],
    ['CONNECT [::1]:443', '403'],
    ['GET http://0x7f.1/', '403'],
    ['CONNECT nowhere.example:443', '502'],
  ])('%s is answered with %s', async (line, status) => {
    const { authorization, say } = admit();
    expect(await say(`${line} HTTP/1.1\r\nHost: x\r\n${authorization}${close}`)).toMatch(
      new RegExp(`^HTTP/1\\.1 ${status} `),
    );
  });

  test.each([
    ...['GET /', 'GET https://HOST/', 'GET ftp://HOST/', 'GET http://user@HOST/', 'GET http://user:x@HOST/'],
    ...['GET http:HOST/', 'GET http:///HOST', 'GET http://HOST\\@evil/', 'GET file:///etc/hostname', 'GET *'],
    ...['PUT http://HOST/', 'DELETE http://HOST/', 'TRACE http://HOST/', 'OPTIONS http://HOST/', 'CONNECT HOST/x'],
    ...['CONNECT user@HOST', 'CONNECT http://HOST', 'CONNECT 127.0.0.1', 'CONNECT 127.0.0.1:99999', 'CONNECT :80'],
  ])('refuses %s', async (line) => {
    const { authorization, say } = admit();
    const before = seen.length;
    const heard = await say(`${line.replace('HOST', host)} HTTP/1.1\r\nHost: x\r\n${authorization}${close}`);
    expect(heard).toMatch(/^HTTP\/1\.1 400 |^$/);
    expect(seen).toHaveLength(before);
  });

  test.each([
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
    ['a length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a space before the colon', 'X-A : 1\r\n\r\n'],
    ['a folded line', 'X-A: 1\r\n 2\r\n\r\n'],
    ['a bare line feed', 'X-A: 1\nX-B: 2\r\n\r\n'],
    ['an upgrade', 'Connection: upgrade\r\nUpgrade: h2c\r\n\r\n'],
    ['headers without end', `X-A: ${'a'.repeat(40_000)}\r\n\r\n`],
  ])('refuses %s: nothing is passed on', async (_what, rest) => {
    const { authorization, say } = admit();
    const before = seen.length;
    const heard = await say(`POST http://${host}/ HTTP/1.1\r\nHost: x\r\n${authorization}${rest}`);
    expect(heard).not.toMatch(/^HTTP\/1\.1 2/);
    expect(seen).toHaveLength(before);
  });

  test('judges each request of a connection by itself', async () => {
    const { pass, authorization, say } = admit();
    const ask = (url: string, more: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\n${more}`;
    const heard = await say(
      ask(`http://${host}/1`, `${authorization}\r\n`) +
        ask('http://127.0.0.1:1/', `${authorization}\r\n`) +
        ask(`http://${host}/3`, close),
    );
    expect([...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '403']);
    expect(pass.close()).toMatchObject({ connections: 1, refusals: 1 });
  });

  test('ends all connections of an attempt that has used up its bytes, and takes no more', async () => {
    const { pass, authorization, say } = admit(500_000);
    const request = `GET http://${host}/large HTTP/1.1\r\nHost: x\r\n${authorization}${close}`;
    const heard = await say(request);
    expect(heard).toMatch(/^HTTP\/1\.1 200 /);
    expect(heard.length).toBeLessThan(700_000);
    expect(await say(request)).toMatch(/^HTTP\/1\.1 429 /);
    const { receivedBytes, exhausted } = pass.close();
    expect(exhausted).toBe(true);
    expect(receivedBytes).toBeLessThan(700_000);
    expect(counted).toContain('bytes');
  });

  test('takes so many connections of an attempt and no more', async () => {
    const { port, authorization } = admit();
    const request = `CONNECT ${host} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`;
    // All of them stay open until each has its answer.
    const sockets = Array.from({ length: 40 }, () => connect(port, '127.0.0.1'));
    const answers = sockets.map(async (socket) => {
      socket.write(request);
      const [data] = (await once(socket, 'data')) as [Buffer];
      return data.toString().slice(0, 12);
    });
    const heard = await Promise.all(answers);
    for (const socket of sockets) socket.destroy();
    expect(heard.filter((status) => status === 'HTTP/1.1 200')).toHaveLength(32);
    expect(heard.filter((status) => status === 'HTTP/1.1 429')).toHaveLength(8);
  });

  test('says no to everything of an attempt that was refused a hundred times', async () => {
    const { pass, authorization, say } = admit();
    const ask = (to: string) => say(`GET http://${to}/ HTTP/1.1\r\nHost: x\r\n${authorization}${close}`);
    for (let refusal = 0; refusal < 100; refusal += 1) expect(await ask('10.0.0.1')).toMatch(/^HTTP\/1\.1 403/);
    expect(await ask(host)).toMatch(/^HTTP\/1\.1 429/);
    expect(pass.close().refusals).toBe(101);
  });

  test('ends a connection on which nothing moves, and those of an attempt that is over', async () => {
    const impatient = await startEgressProxy({ guard, observer, idleMs: 2_000 });
    onTestFinished(() => impatient.close());
    const { pass, authorization, say } = admit(undefined, impatient);
    const request = `GET http://${host}/silent HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`;
    expect(await say(request)).toMatch(/begun/);
    const opened = counted.filter((what) => what === 'opened').length;
    const under = say(request);
    await waitFor(() => counted.filter((what) => what === 'opened').length > opened, { what: 'the connection' });
    pass.close();
    await under;
    await waitFor(
      () => counted.filter((what) => what === 'opened').length === counted.filter((what) => what === 'closed').length,
      { what: 'the end of every connection' },
    );
  });
});
