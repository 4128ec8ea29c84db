import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { ended, queue, statusOf } from '../support/downloads.ts';
import { type Service, startService } from '../support/service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** What an operator switches off or blocks while the service runs, as its clients meet it. */
const file = join(temporaryDirectoryOfFile(), 'rules.json');
let service: Service;
let key: string;

function write(rules: object) {
  writeFileSync(`${file}.new`, JSON.stringify(rules));
  renameSync(`${file}.new`, file);
}
const block = (...items: string[]) => ({
  blocked: items.map((video_id) => ({ platform: 'sample', video_id, reason: 'Notice 17 of the rights holder.' })),
});
const refusedItem = {
  status: 400,
  code: 'invalid_request',
  message: 'url: This video is blocked here: Notice 17 of the rights holder.',
};

beforeAll(async () => {
  write({});
  service = await startService({ PLATFORM_RULES_FILE: file, LOG_LEVEL: 'info' });
  ({ key } = await service.openAccount('enterprise'));
});
afterAll(() => service[Symbol.asyncDispose]());

const metadata = (item: string) =>
  call(service.url, `/video/metadata?url=${encodeURIComponent(service.sampleUrl(item))}`, { key });
const download = (item: string, headers: Record<string, string> = {}) =>
  call(service.url, '/video/download', { key, body: { url: service.sampleUrl(item) }, headers });
const used = async () => {
  const { data } = await call(service.url, '/credits', { key });
  return [data['downloads'], data['metadata']].map((pool) => (pool as { used: number }).used);
};

it('a platform that is switched off is refused with the reason, at no cost, until it is on again', async () => {
  const before = await used();
  write({ platforms: { sample: { off: 'Its operators asked us to pause until Monday.' } } });
  const refused = {
    status: 400,
    code: 'unsupported_platform',
    message: 'url: This platform is switched off here: Its operators asked us to pause until Monday.',
  };
  expect(await download('bars')).toMatchObject(refused);
  expect(await metadata('bars')).toMatchObject(refused);
  expect(await used()).toEqual(before);
  write({});
  expect(await metadata('bars')).toMatchObject({ status: 200 });
});

it('a blocked item is refused, and its finished file is given out no more', async () => {
  const sent = { 'Idempotency-Key': 'before-the-block' };
  const queued = await download('bars', sent);
  const token = String(queued.data['request_token']);
  const done = await ended(service.url, key, token);
  if (done.status !== 'done') throw new Error(JSON.stringify(done));
  expect((await fetch(done.download_url, { method: 'HEAD' })).status).toBe(200);
  const before = await used();
  write(block('bars'));
  expect(await download('bars')).toMatchObject(refusedItem);
  expect(await metadata('bars')).toMatchObject(refusedItem);
  expect(await statusOf(service.url, key, token)).toMatchObject({
    status: 502,
    code: 'delivery_failed',
    message: 'This video is blocked here: Notice 17 of the rights holder.',
  });
  expect((await fetch(done.download_url)).status).toBe(404);
  // The same request gets the same answer, for whatever it is worth.
  expect(await download('bars', sent)).toMatchObject({ status: 202, data: { request_token: token } });
  expect(await used()).toEqual(before);
  expect((await metadata('vertical')).status).toBe(200);
  write({});
  expect((await fetch(done.download_url, { method: 'HEAD' })).status).toBe(200);
});

it('a download that waits when its item is blocked fails once, and is given back', async () => {
  const [before] = await used();
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('broken') });
  const steps = async () =>
    (await service.cli<{ rows: { type: string; data: object }[] }>('jobs', 'timeline', token)).rows;
  await waitFor(async () => (await steps()).some(({ type }) => type === 'JobReleased'), { what: 'a failed attempt' });
  write(block('broken'));
  expect(await ended(service.url, key, token)).toMatchObject({ status: 'failed', error: 'video_unavailable' });
  expect((await steps()).find(({ type }) => type === 'JobFailed')?.data).toMatchObject({
    fault: 'service',
    detail: 'The operator has blocked this item: Notice 17 of the rights holder.',
  });
  await waitFor(async () => (await used())[0] === before, { what: 'the return of the credit' });
  expect(service.log()).toContain('The operator has blocked this item: Notice 17 of the rights holder.');
  expect(service.log()).toContain('the rules about platforms were changed');
});
