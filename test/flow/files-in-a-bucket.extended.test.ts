import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectRefusal, runIn } from '../cli/command-line.ts';
import { call } from '../support/client.ts';
import { ended, queue, statusOf } from '../support/downloads.ts';
import { planFile } from '../support/plans.ts';
import { readLog } from '../support/read-log.ts';
import { s3Account, type S3Server, startS3Server } from '../support/s3/server.ts';
import { type Environment, type Service, startService } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** Downloads whose files lie in a bucket of an S3-compatible service. */
let s3: S3Server;
let service: Service;
let key: string;

const settingsFor = (url: string): Environment => ({
  S3_BUCKET: s3Account.bucket,
  S3_PREFIX: 'reeltally/files/',
  S3_REGION: s3Account.region,
  S3_ENDPOINT: url,
  S3_FORCE_PATH_STYLE: '1',
  S3_ACCESS_KEY_ID: s3Account.accessKeyId,
  S3_SECRET_ACCESS_KEY: s3Account.secretAccessKey,
});

beforeAll(async () => {
  s3 = await startS3Server();
  const plans = planFile({ hourly_limit: 10_000 });
  service = await startService(
    { ...settingsFor(s3.url), ATTEMPT_TIMEOUT_SECONDS: '60', PLANS_FILE: plans },
    { postgres: 'of the run' },
  );
  ({ key } = await service.openAccount('test'));
});
beforeEach(() => {
  s3.failWith(undefined);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

const eventStoreUrl = () =>
  (JSON.parse(readFileSync(join(service.dataDirectory, 'instance.json'), 'utf8')) as { eventStoreUrl: string })
    .eventStoreUrl;
const download = async () =>
  (await queue(service.url, key, { url: service.sampleUrl('bars'), quality: '360' })).request_token;
const objectOf = (token: string) => `reeltally/files/${token}/0/media.mp4`;
const status = (token: string) => statusOf(service.url, key, token);

describe('a download', () => {
  it('is put into the bucket, and served from there by another link at each poll', async () => {
    const token = await download();
    const done = await ended(service.url, key, token);
    expect(s3.keys()).toContain(objectOf(token));
    expect(readdirSync(service.dataDirectory)).not.toContain('files');
    const links = [done, (await status(token)).data].map((data) => (data as { download_url: string }).download_url);
    expect(new Set(links).size).toBe(2);
    for (const link of links) {
      expect(link.startsWith(`${s3.url}/films/${objectOf(token)}?`)).toBe(true);
      expect(new URL(link).searchParams.get('X-Amz-Expires')).toBe('3600');
      const file = await fetch(link);
      expect([file.status, file.headers.get('content-type')]).toEqual([200, 'video/mp4']);
      expect(file.headers.get('content-disposition')).toBe('attachment; filename="sample-bars.mp4"');
      expect((await file.arrayBuffer()).byteLength).toBe((done as { file_size_bytes: number }).file_size_bytes);
    }
    const local = await fetch(`${service.url}/files/${token}/0/media.mp4`);
    expect(local.status).toBe(404);
  });

  it('whose object is gone is answered 502, and whose bucket is away 503', async () => {
    const token = await download();
    await ended(service.url, key, token);
    s3.failWith(503, ['HEAD']);
    const away = await status(token);
    expect([away.status, away.code, away.headers.get('retry-after')]).toEqual([503, 'unavailable', '1']);
    s3.failWith(undefined);
    expect((await status(token)).status).toBe(200);
    s3.remove(objectOf(token));
    const gone = await status(token);
    expect([gone.status, gone.code]).toEqual([502, 'delivery_failed']);
  });

  it('is an event among others, which fails with the bucket and not with one object', async () => {
    const tokens: string[] = [];
    for (const _ of [1, 2]) {
      tokens.push(await download());
      await ended(service.url, key, tokens.at(-1) ?? '');
    }
    const events = () => call(service.url, '/video/events', { key });
    const left = Number((await call(service.url, '/credits', { key })).headers.get('x-ratelimit-remaining'));
    s3.failWith(503, ['HEAD']);
    const away = await events();
    expect([away.status, away.code]).toEqual([503, 'unavailable']);
    expect(away.headers.get('x-ratelimit-remaining')).toBe(String(left));
    s3.failWith(undefined);
    s3.remove(objectOf(tokens[0] ?? ''));
    const told = (await events()).data['events'] as Record<string, string>[];
    expect(told.slice(-2)).toMatchObject([
      { request_token: tokens[0], status: 'done', error: 'delivery_failed' },
      { request_token: tokens[1], status: 'done', download_url: expect.stringContaining(tokens[1] ?? '') as string },
    ]);
  });

  it('whose upload takes longer than an attempt may is begun again, and charged once', async () => {
    s3.hold(true);
    const token = await download();
    const uploads = () => s3.requests.filter((request) => request.startsWith('PUT') && request.includes(token)).length;
    await waitFor(() => uploads() > 0, { what: 'an upload' });
    const events = async () =>
      (await readLog(eventStoreUrl(), `job-${token}`)).map(({ type, data }) => ({ type, data }));
    const isOver = async () => (await events()).some(({ type }) => type === 'JobReleased');
    await waitFor(isOver, { what: 'the end of the attempt', pollMs: 200 });
    s3.hold(false);
    expect(await ended(service.url, key, token)).toMatchObject({ status: 'done' });
    expect(await events()).toMatchObject([
      { type: 'JobClaimed' },
      { type: 'JobStarted' },
      { type: 'JobReleased', data: { reason: 'timed_out' } },
      { type: 'JobClaimed' },
      { type: 'JobStarted' },
      { type: 'JobCompleted' },
    ]);
  });

  it('whose upload fails is uploaded again by the same attempt, and charged once', async () => {
    const used = async () =>
      ((await call(service.url, '/credits', { key })).data['downloads'] as { used: number }).used;
    const before = await used();
    s3.failWith(500, ['PUT']);
    const token = await download();
    // The client tries three times by itself.
    const refused = () => s3.requests.filter((request) => request.startsWith('PUT') && request.includes(token)).length;
    await waitFor(() => refused() > 3, { what: 'a second upload' });
    s3.failWith(undefined);
    expect(await ended(service.url, key, token)).toMatchObject({ status: 'done' });
    const types = (await readLog(eventStoreUrl(), `job-${token}`)).map(({ type }) => type);
    expect(types).toEqual(['JobClaimed', 'JobStarted', 'JobCompleted']);
    expect([(await used()) - before, s3.openUploads()]).toEqual([1, []]);
  });
});

it('a bucket that cannot be used is refused at the start, without its secret', async () => {
  const data = temporaryDirectory();
  const wrong = { ...settingsFor(s3.url), S3_SECRET_ACCESS_KEY: 'a wrong secret', REELTALLY_DATA: data };
  const ran = await runIn(wrong)('serve', '--json');
  const lines = ran.stderr.trimEnd().split('\n');
  expectRefusal(
    { ...ran, stderr: lines.at(-1) ?? '' },
    /^reeltally: The bucket films \(S3_BUCKET\) at 127\.0\.0\.1:\d+ \(S3_ENDPOINT\) cannot be used: .+status 403$/,
  );
  expect(ran.stderr).not.toContain('a wrong secret');
});

it('nothing that is logged names the secret, the key or a signature', () => {
  for (const secret of [s3Account.secretAccessKey, s3Account.accessKeyId, 'X-Amz-Signature'])
    expect(service.log()).not.toContain(secret);
});
