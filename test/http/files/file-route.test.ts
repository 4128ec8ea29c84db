import { hash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { InjectOptions } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { contentDisposition } from '../../../src/domain/content-disposition.ts';
import { requestedRange } from '../../../src/http/files/file-route.ts';
import { downloadBaseUrl, serveLocalStore, signingKey } from '../../adapters/files/local-file-store.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const content = '0123456789';
const key = { token: 'some-token', claimRevision: 4, name: 'media.mp4' };
const expiresAtSeconds = 2_000_000_000;

async function serve(body: string | Buffer = content) {
  const [current, old] = [signingKey('new'), signingKey('old')];
  const served = serveLocalStore({ current, others: [old] });
  served.clock.nowMs = expiresAtSeconds * 1000 - 1;
  const path = join(temporaryDirectory(), 'x');
  writeFileSync(path, body);
  await served.store.put(key, path, 'video/mp4');
  const link = await served.store.link(key, { expiresAtSeconds, downloadName: 'bars.mp4' });
  const url = link.slice(downloadBaseUrl.length);
  const ask = (options: InjectOptions = {}) => served.server.inject({ url, ...options });
  const use = (digest: string) => (served.digest = digest);
  return { ...served, use, url, ask, old, stored: join(served.directory, 'some-token', '4', 'media.mp4') };
}

function refusal(code: string) {
  return { success: false, error: { code, message: expect.any(String) as string } };
}

describe('200', () => {
  test('the whole file, with headers that let nobody misuse it', async () => {
    const { ask } = await serve();
    const response = await ask();
    expect(response.statusCode).toBe(200);
    expect(response.body).toBe(content);
    expect(response.headers).toMatchObject({
      'content-length': '10',
      'content-type': 'video/mp4',
      'accept-ranges': 'bytes',
      'content-disposition': 'attachment; filename="bars.mp4"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
      'referrer-policy': 'no-referrer',
    });
  });

  test('HEAD tells the size and sends nothing', async () => {
    const { ask } = await serve();
    const response = await ask({ method: 'HEAD' });
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({ 'content-length': '10', 'content-type': 'video/mp4' });
    expect(response.body).toBe('');
  });

  test.each(['bytes=2-5', 'bytes=-3', 'bytes=100-'])('HEAD ignores a range: %s', async (range) => {
    const { ask } = await serve();
    const { statusCode, headers } = await ask({ method: 'HEAD', headers: { range } });
    expect([statusCode, headers['content-length'], headers['content-range']]).toEqual([200, '10', undefined]);
  });

  test.each(['bytes=0-1,3-4', 'items=0-1', 'bytes=5-2', 'bytes=-', 'x'])('Range "%s" is ignored', async (range) => {
    const { ask } = await serve();
    expect((await ask({ headers: { range } })).statusCode).toBe(200);
  });

  test('without a known digest, If-Range cannot be confirmed, so that the whole file comes', async () => {
    const { ask } = await serve();
    expect((await ask({ headers: { range: 'bytes=0-1', 'if-range': '"x"' } })).statusCode).toBe(200);
  });

  test('a link signed with an earlier key', async () => {
    const before = await serve();
    const earlier = serveLocalStore({ current: before.old, others: [] });
    const link = await earlier.store.link(key, { expiresAtSeconds, downloadName: 'a.mp4' });
    expect((await before.ask({ url: link.slice(downloadBaseUrl.length) })).statusCode).toBe(200);
  });
});

describe('validators', () => {
  const digest = hash('sha256', content);
  const etag = `"${digest}"`;
  const validators = { etag, 'repr-digest': `sha-256=:${Buffer.from(digest, 'hex').toString('base64')}:` };
  const known = async () => {
    const before = await serve();
    before.use(digest);
    return before.ask;
  };

  test.each<[string, InjectOptions, number, string]>([
    ['the whole', {}, 200, content],
    ['HEAD', { method: 'HEAD' }, 200, ''],
    ['a range', { headers: { range: 'bytes=0-3' } }, 206, '0123'],
    ['a range of this file', { headers: { range: 'bytes=0-3', 'if-range': etag } }, 206, '0123'],
    ['a range of another file', { headers: { range: 'bytes=0-3', 'if-range': '"x"' } }, 200, content],
    ['a range, weakly compared', { headers: { range: 'bytes=0-3', 'if-range': `W/${etag}` } }, 200, content],
    [
      'a range since an instant',
      { headers: { range: 'bytes=0-3', 'if-range': new Date(0).toUTCString() } },
      200,
      content,
    ],
    ['this file, which the client has', { headers: { 'if-none-match': etag } }, 304, ''],
    ['one of several', { headers: { 'if-none-match': `"x", W/${etag}` } }, 304, ''],
    ['any', { headers: { 'if-none-match': '*' } }, 304, ''],
    ['this file, by HEAD', { method: 'HEAD', headers: { 'if-none-match': etag } }, 304, ''],
    ['a range of what the client has', { headers: { range: 'bytes=0-3', 'if-none-match': etag } }, 304, ''],
    ['another file than the client has', { headers: { 'if-none-match': '"x"' } }, 200, content],
    ['this file and no other', { headers: { 'if-match': `"x", ${etag}` } }, 200, content],
    ['whatever is there', { headers: { 'if-match': '*' } }, 200, content],
  ])('%s', async (_, options, status, body) => {
    const response = await (await known())(options);
    expect([response.statusCode, response.body]).toEqual([status, body]);
    expect(response.headers).toMatchObject(validators);
  });

  test.each(['"x"', `W/${etag}`, 'x'])('412 where only %s is wanted', async (tag) => {
    const response = await (await known())({ headers: { 'if-match': tag, 'if-none-match': etag } });
    expect([response.statusCode, response.json()]).toEqual([412, refusal('precondition_failed')]);
  });
});

describe('206', () => {
  test.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-4', '6789', 'bytes 6-9/10'],
    ['bytes=-99', content, 'bytes 0-9/10'],
    ['bytes=8-99', '89', 'bytes 8-9/10'],
  ])('%s', async (range, body, contentRange) => {
    const { ask } = await serve();
    const response = await ask({ headers: { range } });
    expect(response.statusCode).toBe(206);
    expect(response.body).toBe(body);
    expect(response.headers).toMatchObject({ 'content-range': contentRange, 'content-length': String(body.length) });
  });
});

describe('416', () => {
  test.each(['bytes=10-', 'bytes=99-100', 'bytes=-0'])('%s', async (range) => {
    const { ask } = await serve();
    const response = await ask({ headers: { range } });
    expect(response.statusCode).toBe(416);
    expect(response.headers).toMatchObject({ 'content-range': 'bytes */10' });
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect(response.json()).toEqual(refusal('range_not_satisfiable'));
  });
});

describe('403', () => {
  test.each<[string, (url: string) => string]>([
    ['no parameters', (url) => url.split('?')[0] ?? ''],
    ['another expiry', (url) => url.replace('expires=2000000000', 'expires=2000000001')],
    ['another name to save as', (url) => url.replace('download=bars', 'download=cars')],
    ['another file', (url) => url.replace('/4/', '/5/')],
    ['another key', (url) => url.replace('key=new', 'key=old')],
    ['an unknown key', (url) => url.replace('key=new', 'key=__proto__')],
    ['another nonce', (url) => url.replace('nonce=', 'nonce=0')],
    ['a changed signature', (url) => url.replace('signature=', 'signature=A')],
    ['an empty signature', (url) => url.replace(/signature=.*/, 'signature=')],
    ['a padded signature', (url) => `${url}%3D`],
    ['a parameter twice', (url) => `${url}&expires=2000000000`],
    ['a parameter more', (url) => `${url}&x=1`],
    ['an encoded way out', (url) => url.replace('/some-token/4/media.mp4', '/..%2f..%2f..%2fetc%2fpasswd')],
    ['an expired and changed link', (url) => url.replace('expires=2000000000', 'expires=1')],
  ])('%s', async (_what, change) => {
    const { ask, url } = await serve();
    const response = await ask({ url: change(url) });
    expect(response.statusCode).toBe(403);
    expect(response.json()).toEqual(refusal('link_invalid'));
  });

  test('a way round to the same file', async () => {
    const { store, url } = await serve();
    const roundabout = url.replace('/some-token/', '/some-token/../some-token/');
    expect(await store.verifyLink(url, 0)).toMatchObject({ ok: true });
    expect(await store.verifyLink(roundabout, 0)).toEqual({ ok: false, status: 403 });
  });

  test('a link of another installation', async () => {
    const [mine, theirs] = [await serve(), await serve()];
    expect((await mine.ask({ url: theirs.url })).statusCode).toBe(403);
  });
});

test('410 from the very second of the expiry on', async () => {
  const { ask, clock } = await serve();
  expect((await ask()).statusCode).toBe(200);
  clock.nowMs = expiresAtSeconds * 1000;
  const response = await ask();
  expect(response.statusCode).toBe(410);
  expect(response.json()).toEqual(refusal('link_expired'));
  const page = await ask({ headers: { accept: 'text/html, */*;q=0.8' } });
  expect([page.statusCode, page.headers['content-type']]).toEqual([410, 'text/html; charset=utf-8']);
  expect(page.body).toMatch(/This link has expired[^]*Ask for the status of the download again/);
});

test('404 when the file is gone', async () => {
  const { ask, store } = await serve();
  await store.purge(key.token);
  const response = await ask();
  expect(response.statusCode).toBe(404);
  expect(response.json()).toEqual(refusal('not_found'));
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('405 for %s', async (method) => {
  const { ask } = await serve();
  const response = await ask({
    method,
    payload: method === 'OPTIONS' ? '' : '{',
    headers: { 'content-type': 'text/odd' },
  });
  expect(response.statusCode).toBe(405);
  expect(response.headers).toMatchObject({ allow: 'GET, HEAD' });
  expect(response.json()).toEqual(refusal('method_not_allowed'));
});

describe('over a real connection', () => {
  const large = Buffer.alloc(32 * 1024 * 1024, 'film');

  async function begin() {
    const served = await serve(large);
    await served.server.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => served.server.close());
    const { port } = served.server.server.address() as AddressInfo;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get({ host: '127.0.0.1', port, path: served.url, agent: false }, resolve).once('error', reject);
    });
    return { ...served, response };
  }

  test('a file that is removed while it is read is read to its end', async () => {
    const { response, stored } = await begin();
    rmSync(stored);
    let receivedBytes = 0;
    for await (const chunk of response) receivedBytes += (chunk as Buffer).length;
    expect(receivedBytes).toBe(large.length);
  });

  test('a client that leaves half-way does no harm', async () => {
    const { response, ask } = await begin();
    response.destroy();
    expect((await ask({ headers: { range: 'bytes=0-3' } })).body).toBe('film');
  });
});

test('names to save as are safe in a header', () => {
  expect(contentDisposition('a.mp4')).toBe('attachment; filename="a.mp4"');
  expect(contentDisposition('a"\r\nSet-Cookie: x/../ö.mp4')).toBe(
    `attachment; filename="a__Set-Cookie: x_.._`.concat(
      `_.mp4"; filename*=UTF-8''a%22_Set-Cookie%3A%20x_.._%C3%B6.mp4`,
    ),
  );
});

test('an empty file has no range', () => {
  expect(requestedRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(requestedRange('bytes=-1', 0)).toBe('unsatisfiable');
  expect(requestedRange(undefined, 0)).toBe('whole');
});
