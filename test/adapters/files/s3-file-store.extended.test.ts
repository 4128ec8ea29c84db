import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createS3FileStore, type S3FileStoreOptions } from '../../../src/adapters/files/s3-file-store.ts';
import { type FileKey, FileStoreUnavailable } from '../../../src/ports/files.ts';
import { rememberingLogger, silent } from '../../projections/read-models-under-test.ts';
import { s3Account, type S3Server, startS3Server } from '../../support/s3/server.ts';
import { waitFor } from '../../support/wait-for.ts';
import {
  fileLinksContract,
  fileStoreContract,
  finishedFile,
  freshKey,
  inAnHourSeconds,
  tokensIn,
} from './file-store-contract.ts';

let s3: S3Server;

beforeAll(async () => {
  s3 = await startS3Server();
});
beforeEach(() => {
  s3.failWith(undefined);
  s3.hold(false);
  s3.clock.nowMs = undefined;
});
afterAll(async () => {
  await s3[Symbol.asyncDispose]();
});

function openStore(changed: Partial<S3FileStoreOptions> = {}) {
  const { bucket, region, accessKeyId, secretAccessKey } = s3Account;
  return createS3FileStore({
    bucket,
    region,
    endpoint: s3.url,
    publicEndpoint: undefined,
    forcePathStyle: true,
    logger: silent,
    prefix: `${randomUUID()}/`,
    credentials: { accessKeyId, secretAccessKey },
    nowMs: () => Date.now(),
    nonce: randomUUID,
    ...changed,
  });
}

async function fetchLink(link: string) {
  const response = await fetch(link);
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) return undefined;
  const { headers } = response;
  return { body, mime: headers.get('content-type') ?? '', disposition: headers.get('content-disposition') ?? '' };
}

const aBucket = 'a bucket of an S3-compatible service';
fileStoreContract(aBucket, async () => ({ store: await openStore() }));
fileLinksContract(aBucket, async () => ({ store: await openStore(), fetchLink }));

const mebibyte = 1024 * 1024;

describe('an upload', () => {
  test('goes in parts, tells how far it is, and keeps type and hash', async () => {
    const store = await openStore({ prefix: 'a/b.c/' });
    const content = randomBytes(20 * mebibyte + 1);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const [key, told]: [FileKey, number[]] = [freshKey(4), []];
    const path = finishedFile(content);
    await store.put(key, path, 'video/mp4', { sha256, onProgress: (bytes) => void told.push(bytes) });
    const name = `a/b.c/${key.token}/4/media.mp4`;
    const stored = s3.object(name);
    expect(stored?.body.equals(content)).toBe(true);
    expect(stored?.headers).toMatchObject({ 'content-type': 'video/mp4', 'x-amz-meta-sha256': sha256 });
    expect(s3.requests.filter((request) => request === `PUT ${name} uploadId,partNumber`)).toHaveLength(3);
    expect(told.length).toBeGreaterThan(1);
    expect([told.toSorted((one, other) => one - other), told.at(-1)]).toEqual([told, content.length]);
    expect([existsSync(path), s3.openUploads()]).toEqual([false, []]);
  });

  test('that is told to stop leaves nothing, neither in the bucket nor half-way', async () => {
    const store = await openStore();
    const [key, path, stopping] = [freshKey(4), finishedFile(randomBytes(20 * mebibyte)), new AbortController()];
    s3.hold(true);
    const putting = store.put(key, path, 'video/mp4', { signal: stopping.signal });
    const ended = expect(putting).rejects.toThrow(FileStoreUnavailable);
    await waitFor(() => s3.openUploads().length > 0, { what: 'the upload to begin' });
    stopping.abort();
    await ended;
    expect(await store.sizeBytes(key)).toBeUndefined();
    expect([s3.openUploads(), existsSync(path)]).toEqual([[], true]);
    await expect(store.put(key, path, 'video/mp4', { signal: stopping.signal })).rejects.toThrow('aborted');
  });

  test('that fails may be tried again, and appears once it is complete', async () => {
    const store = await openStore();
    const [key, path] = [freshKey(4), finishedFile('a film')];
    s3.failWith(500, ['PUT']);
    await expect(store.put(key, path, 'video/mp4')).rejects.toThrow(FileStoreUnavailable);
    s3.failWith(undefined);
    expect([await store.sizeBytes(key), existsSync(path)]).toEqual([undefined, true]);
    await store.put(key, path, 'video/mp4');
    expect(await store.sizeBytes(key)).toBe(6);
  });

  test('of a process that was killed half-way is found, and ended', async () => {
    const store = await openStore();
    const [key, stopping] = [freshKey(4), new AbortController()];
    s3.hold(true);
    const putting = store.put(key, finishedFile(randomBytes(20 * mebibyte)), 'video/mp4', { signal: stopping.signal });
    putting.catch(() => undefined);
    await waitFor(() => s3.openUploads().length > 0, { what: 'the upload to begin' });
    expect(await tokensIn(store)).toEqual([key.token]);
    await store.purge(key.token);
    expect(s3.openUploads()).toEqual([]);
    stopping.abort();
    await expect(putting).rejects.toThrow(FileStoreUnavailable);
  });
});

describe('a link', () => {
  const disposition = 'attachment; filename="sample-bars.mp4"';

  async function linked(changed: Partial<S3FileStoreOptions> = {}) {
    const store = await openStore(changed);
    const key = freshKey(4);
    await store.put(key, finishedFile('0123456789'), 'video/mp4');
    const expiresAtSeconds = inAnHourSeconds();
    const link = await store.link(key, { expiresAtSeconds, downloadName: 'sample-bars.mp4' });
    return { store, key, link, expiresAtSeconds };
  }

  test('serves the file as it should be saved, or a part of it', async () => {
    const { link } = await linked();
    const whole = await fetch(link);
    expect([whole.status, await whole.text()]).toEqual([200, '0123456789']);
    expect(whole.headers.get('content-disposition')).toBe(disposition);
    expect(whole.headers.get('content-type')).toBe('video/mp4');
    expect(whole.headers.get('cache-control')).toBe('private, no-store');
    const part = await fetch(link, { headers: { Range: 'bytes=3-5' } });
    expect([part.status, await part.text()]).toEqual([206, '345']);
    expect(part.headers.get('content-range')).toBe('bytes 3-5/10');
  });

  test('expires on the second', async () => {
    const { link, expiresAtSeconds } = await linked();
    expect(new URL(link).searchParams.get('X-Amz-Expires')).toBe('3600');
    s3.clock.nowMs = expiresAtSeconds * 1000 - 1;
    expect((await fetch(link)).status).toBe(200);
    s3.clock.nowMs = expiresAtSeconds * 1000;
    const expired = await fetch(link);
    expect([expired.status, await expired.text()]).toEqual([403, expect.stringContaining('Request has expired')]);
  });

  test.each<[string, (link: string) => string]>([
    ['another file', (link) => link.replace('/4/media.mp4', '/5/media.mp4')],
    ['another token', (link) => link.replace('/token_-', '/token_-0')],
    ['a later expiry', (link) => link.replace('X-Amz-Expires=3600', 'X-Amz-Expires=7200')],
    ['another date', (link) => link.replace(/X-Amz-Date=\d{4}/, 'X-Amz-Date=2035')],
    ['another name to save as', (link) => link.replace('sample-bars', 'sample-cars')],
    ['another type', (link) => link.replace('video%2Fmp4', 'text%2Fhtml')],
    ['another nonce', (link) => link.replace('x-nonce=', 'x-nonce=0')],
    ['no signature', (link) => link.replace(/&X-Amz-Signature=[0-9a-f]+/, '')],
    [
      'a changed signature',
      (link) => link.replace(/X-Amz-Signature=(.)/, (_, digit) => `X-Amz-Signature=${digit === '0' ? '1' : '0'}`),
    ],
    ['two signatures', (link) => `${link}&X-Amz-Signature=${'0'.repeat(64)}`],
    ['a parameter more', (link) => `${link}&versionId=1`],
    ['another key', (link) => link.replace(s3Account.accessKeyId, 'AKIAOTHER')],
    ['another region', (link) => link.replaceAll(s3Account.region, 'eu-test-2')],
    ['no signed host', (link) => link.replace('X-Amz-SignedHeaders=host', 'X-Amz-SignedHeaders=accept')],
    ['nothing that is signed', (link) => link.split('?')[0] ?? ''],
  ])('with %s is refused', async (_what, change) => {
    const { link } = await linked();
    expect((await fetch(link)).status).toBe(200);
    const changed = change(link);
    expect(changed).not.toBe(link);
    const response = await fetch(changed);
    expect([response.status, await response.text()]).toEqual([
      expect.toBeOneOf([403]),
      expect.stringContaining('<Error>'),
    ]);
  });

  test('of another address, or for another method, is refused', async () => {
    const { link } = await linked();
    expect((await fetch(link.replace('127.0.0.1', 'localhost'))).status).toBe(403);
    expect((await fetch(link, { method: 'DELETE' })).status).toBe(403);
  });

  test('is signed for the address that clients see', async () => {
    const { link } = await linked({ publicEndpoint: 'https://files.example.com' });
    expect(link).toMatch(/^https:\/\/files\.example\.com\/films\//);
  });

  test('names neither the secret nor anything but what it serves', async () => {
    const { link } = await linked();
    expect(decodeURIComponent(link)).not.toContain(s3Account.secretAccessKey);
    expect([...new URL(link).searchParams.keys()].filter((name) => !name.startsWith('X-Amz-')).sort()).toEqual([
      ...['response-cache-control', 'response-content-disposition', 'response-content-type', 'x-id', 'x-nonce'],
    ]);
  });
});

describe('a service that cannot be used', () => {
  test('is no file that is missing', async () => {
    const store = await openStore();
    const key = freshKey(4);
    s3.failWith(503, ['HEAD', 'GET', 'PUT', 'DELETE']);
    const askings = [() => store.sizeBytes(key), () => store.remove(key), () => store.purge(key.token)];
    for (const asking of askings) await expect(asking()).rejects.toThrow(FileStoreUnavailable);
    s3.failWith(403, ['HEAD']);
    await expect(store.sizeBytes(key)).rejects.toThrow(FileStoreUnavailable);
  });

  test.each<[string, Partial<S3FileStoreOptions>]>([
    ['another secret', { credentials: { accessKeyId: s3Account.accessKeyId, secretAccessKey: 'wrong' } }],
    ['another key', { credentials: { accessKeyId: 'AKIAOTHER', secretAccessKey: s3Account.secretAccessKey } }],
    ['another region', { region: 'us-east-1' }],
    ['another bucket', { bucket: 'songs' }],
    ['nobody at its address', { endpoint: 'http://127.0.0.1:1' }],
  ])('is refused at once: %s', async (_what, changed) => {
    const { logger, text } = rememberingLogger();
    const refusal: unknown = await openStore({ ...changed, logger }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(FileStoreUnavailable);
    for (const secret of [s3Account.secretAccessKey, s3Account.accessKeyId, 'Signature='])
      expect(`${String(refusal)} ${text()}`).not.toContain(secret);
  });
});
