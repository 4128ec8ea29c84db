import { hash, randomBytes } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { RequestTokens } from '../../src/commands/ids/request-token.ts';
import { call, expectError } from '../support/client.ts';
import { queue, statusOf } from '../support/downloads.ts';
import { refusedItems, undownloadableItems } from '../support/failing-items.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { waitFor } from '../support/wait-for.ts';
import { expireFile, waitForChange, waitForEnd } from './engines-behind.ts';
import { creditsOf, exhaust } from './requests.ts';
import { demoOf, shareService } from './shared-service.ts';

const service = shareService();
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/) as unknown;
const path = (token: string) => `/video/status?token=${encodeURIComponent(token)}`;

/** Additive fields; which of them there are depends on how far the job is. */
const times = ['queued_at', 'started_at', 'finished_at', 'progress', 'charge'];
const contractFields = (data: object) => Object.fromEntries(Object.entries(data).filter(([k]) => !times.includes(k)));

async function statusAtEnd(token: string): Promise<Record<string, unknown>> {
  await waitForEnd(service, token);
  return (await statusOf(service.url, demoOf(service).key, token)).data;
}

async function download(item: string, more: object = {}): Promise<string> {
  const { url, sampleUrl } = service;
  return (await queue(url, demoOf(service).key, { url: sampleUrl(item), ...more })).request_token;
}

let video: Promise<string> | undefined;
let audio: Promise<string> | undefined;
/** One download of each for all tests; the first that asks queues it. */
const finishedVideo = (): Promise<string> => (video ??= download('bars', { quality: '360' }));
const finishedAudio = (): Promise<string> => (audio ??= download('bars', { format: 'audio' }));

describe('GET /video/status, 200 of a job on its way', () => {
  it('knows a job as soon as it is queued, and goes forward only', async () => {
    const { key } = demoOf(service);
    const { url } = service;
    const token = await finishedVideo();
    const seen: string[] = [];
    while (seen.at(-1) !== 'done') {
      const { status, data } = await statusOf(url, key, token);
      expect(status).toBe(200);
      expect(data).toMatchObject({ request_token: token, video_id: 'bars', queued_at: timestamp });
      if (data['status'] !== 'done') expect(Object.keys(contractFields(data))).toHaveLength(3);
      if (seen.at(-1) !== data['status']) seen.push(String(data['status']));
      if (data['status'] !== 'done') await waitForChange(service, token, String(data['status']));
    }
    const order = ['queued', 'claimed', 'running', 'done'];
    expect(seen).toEqual(order.filter((status) => seen.includes(status)));
    expect(seen.length).toBeGreaterThan(1);
  });

  it('says what the download was charged, and what was given back of it', async () => {
    const { url, sampleUrl } = service;
    const { key, accountId } = await service.openAccount('dev_100');
    await service.cli('accounts', 'terms', accountId, '--downloads', '1');
    const tokens: string[] = [];
    for (const item of ['private', 'age']) tokens.push((await queue(url, key, { url: sampleUrl(item) })).request_token);
    const [onCredit = '', overage = ''] = tokens;
    for (const token of tokens) await waitForEnd(service, token);
    const chargeOf = async (token: string) => (await statusOf(url, key, token)).data['charge'];
    expect(await chargeOf(onCredit)).toEqual({ credits: 1, cents: 0, given_back_cents: 0 });
    expect(await chargeOf(overage)).toEqual({ credits: 0, cents: 25, given_back_cents: 0 });
    const by = ['--reference', 'CASE-1', '--reason', 'no sound', '--by', 'Ada'];
    await service.cli('ledger', 'waive', overage, '--cents', '10', ...by);
    const givenBack = async () => (await chargeOf(overage)) as { given_back_cents: number };
    await waitFor(async () => (await givenBack()).given_back_cents > 0, { what: 'the waiver in the read model' });
    expect(await givenBack()).toEqual({ credits: 0, cents: 25, given_back_cents: 10 });
  });

  it('costs no credit', async () => {
    const { key } = demoOf(service);
    const token = await finishedVideo();
    const before = await creditsOf(service.url, key);
    await statusOf(service.url, key, token);
    expect(await creditsOf(service.url, key)).toEqual(before);
  });
});

describe('GET /video/status, 200 of a job that is done', () => {
  it.each([
    ['video', 'video/mp4', () => finishedVideo()],
    ['audio', 'audio/mpeg', () => finishedAudio()],
  ])('gives another link to the finished %s at each poll, and each works', async (_, mime, tokenOf) => {
    const { key } = demoOf(service);
    const token = await tokenOf();
    const first = await statusAtEnd(token);
    const { data: second } = await statusOf(service.url, key, token);
    const expected = {
      status: 'done',
      request_token: token,
      video_id: 'bars',
      download_url: expect.stringMatching(/[?&]signature=/) as unknown,
      expires_in: 3600,
      file_size_bytes: expect.any(Number) as unknown,
      file_mime: mime,
    };
    expect(contractFields(first)).toEqual(expected);
    expect(contractFields(second)).toEqual(expected);
    expect(second['download_url']).not.toBe(first['download_url']);
    for (const data of [first, second]) {
      const file = await fetch(String(data['download_url']));
      expect([file.status, file.headers.get('content-type')]).toEqual([200, mime]);
      const bytes = Buffer.from(await file.arrayBuffer());
      expect(bytes.length).toBe(data['file_size_bytes']);
      // As the worker recorded it.
      expect(file.headers.get('etag')).toBe(`"${hash('sha256', bytes)}"`);
      expect(file.headers.get('repr-digest')).toBe(`sha-256=:${hash('sha256', bytes, 'base64')}:`);
    }
  });
});

describe('GET /video/status, 200 of a job that failed', () => {
  // Which item fails for what is shown where films are made; here are those that the downloader meets in different ways.
  const met = ['private', 'gone', 'live', 'large'];
  const failing = [...refusedItems, ...undownloadableItems].filter(([item]) => isLongProof || met.includes(item));
  it.each(failing)('says why, with success true: %s', async (item, error) => {
    const token = await download(item);
    const data = await statusAtEnd(token);
    expect(contractFields(data)).toEqual({
      status: 'failed',
      request_token: token,
      video_id: item,
      error,
      message: expect.stringMatching(/^[A-Z].*\.$/) as unknown,
    });
  });
});

describe('GET /video/status, 400', () => {
  it.each([
    ['without a token', ''],
    ['with an empty token', '?token='],
    ['with two tokens', '?token=a&token=b'],
    ['with a token under another name', '?request_token=a'],
  ])('invalid_request %s', async (_, query) => {
    const { key } = demoOf(service);
    await expectError(call(service.url, `/video/status${query}`, { key }), '400 invalid_request');
  });
});

describe('GET /video/status, 401', () => {
  it('wants a key', async () => {
    await expectError(call(service.url, path(await finishedVideo())), '401 unauthorized');
  });
});

describe('GET /video/status, 404 and 429', () => {
  it('answers another account’s token, an unknown one and a malformed one with the same bytes; then rate_limited', async () => {
    const { url, dataDirectory } = service;
    const { key } = await service.openAccount('sandbox');
    const foreign = await finishedVideo();
    await waitForEnd(service, foreign);
    const secret = readFileSync(join(dataDirectory, 'secret'), 'utf8').trim();
    const unknown = new RequestTokens(deriveKeys(secret).tokenKey, [], randomBytes).issue();
    const forged = `${foreign.slice(0, -1)}${foreign.endsWith('A') ? 'B' : 'A'}`;

    const asked = [foreign, unknown, forged, 'no-token', 'x'.repeat(2_000), `${foreign}\0`, 'töken'];
    const answers = [];
    for (const token of asked) answers.push(await call(url, path(token), { key }));
    expect(answers.map(({ status, code }) => [status, code])).toEqual(asked.map(() => [404, 'not_found']));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const names = answers.map(({ headers }) => [...headers.keys()].sort().join());
    expect(new Set(names).size).toBe(1);

    // Just queued, so that only the log knows it: no other answer than that.
    const fresh = await call(url, path(await download('private')), { key });
    expect([fresh.status, fresh.text]).toEqual([404, answers[0]?.text]);

    await exhaust(url, key);
    await expectError(call(url, path(foreign), { key }), '429 rate_limited');
  });

  it('knows the unknown token’s form: of a job it would have been a token', async () => {
    // Otherwise the test above would show nothing about tokens that pass their check.
    const secret = readFileSync(join(service.dataDirectory, 'secret'), 'utf8').trim();
    const tokens = new RequestTokens(deriveKeys(secret).tokenKey, [], randomBytes);
    expect(tokens.verify(await finishedVideo())).toBe(true);
  });
});

describe('GET /video/status, 502', () => {
  it('delivery_failed while the file is not there', async () => {
    const { dataDirectory } = service;
    const token = await finishedVideo();
    const { download_url: link } = await statusAtEnd(token);
    const place = join(dataDirectory, 'files', token);
    renameSync(place, `${place}-elsewhere`);
    const answer = await statusOf(service.url, demoOf(service).key, token);
    // Nobody is asked to poll again for it.
    expect([answer.status, answer.code, answer.headers.has('retry-after')]).toEqual([502, 'delivery_failed', false]);
    const file = await fetch(String(link));
    expect(file.status).toBe(404);
    await file.body?.cancel();
    renameSync(`${place}-elsewhere`, place);
    expect(await statusAtEnd(token)).toMatchObject({ status: 'done' });
  });

  it('delivery_failed once the file has expired, while a link that was given out goes on', async () => {
    // The last test of all that looks at it.
    const token = await finishedAudio();
    const { download_url: link } = await statusAtEnd(token);
    await expireFile(service, token);
    await expectError(statusOf(service.url, demoOf(service).key, token), '502 delivery_failed');
    const file = await fetch(String(link));
    expect([file.status, (await file.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
  });
});
