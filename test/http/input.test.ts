import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, expectError } from '../support/client.ts';
import { countEvents } from './engines-behind.ts';
import { rawRequest } from './raw-request.ts';
import { type Credits, creditsOf, metadataPath } from './requests.ts';
import { noDownloads, shareService } from './shared-service.ts';

/**
 * The terms of the account asked for here include nothing. So an answer 402 says that the input has passed its checks, and
 * whatever is sent, nothing may be charged.
 */
const service = shareService(noDownloads);
let key = '';
let usage = '';
let before: { credits: Credits; events: number };

beforeAll(async () => {
  const account = await service.openAccount('sandbox');
  const nothing = ['--downloads', '0', '--metadata', '0', '--hourly', '10000'];
  await service.cli('accounts', 'terms', account.accountId, ...nothing);
  key = account.key;
  usage = `usage-${account.accountId}`;
  before = { credits: await creditsOf(service.url, key), events: await countEvents(service, usage) };
});

afterAll(async () => {
  const credits = await creditsOf(service.url, key);
  expect({ credits, events: await countEvents(service, usage) }).toEqual(before);
});

const video = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ';
const ok = 'download_quota_exceeded';
const json = 'application/json';

async function post(body: string | Buffer, contentType: string | undefined = json, more: Record<string, string> = {}) {
  const type = contentType === '' ? {} : { 'content-type': contentType };
  const headers = { authorization: `Bearer ${key}`, ...type, ...more };
  return await rawRequest(service.url, { method: 'POST', path: '/api/v1/video/download', headers, body });
}

/** A body of exactly this many bytes. */
function bodyOf(sizeBytes: number): string {
  const empty = JSON.stringify({ url: video, padding: '' });
  return JSON.stringify({ url: video, padding: 'x'.repeat(sizeBytes - empty.length) });
}

describe.each([
  [
    'invalid_request',
    [
      ...['', ' ', 'not an address', 'www.youtube.com/watch?v=dQw4w9WgXcQ', '//youtu.be/dQw4w9WgXcQ', 'dQw4w9WgXcQ'],
      ...['ftp://www.youtube.com/watch?v=dQw4w9WgXcQ', 'file:///etc/passwd', 'javascript:alert(1)', 'data:,x'],
      ...['http://', 'https://?v=dQw4w9WgXcQ', 'https:///watch', 'https:youtu.be/dQw4w9WgXcQ', 'http://[', '--exec=id'],
      ...[
        ` ${video}`,
        `${video}\n`,
        `${video}\t`,
        `${video}\0`,
        `${video} --exec=id`,
        'https:\\\\youtu.be\\dQw4w9WgXcQ',
      ],
      ...[`${video}\u200b`, `${video}&pad=${'x'.repeat(2_049 - video.length - '&pad='.length)}`],
    ],
  ],
  [
    'unsupported_platform',
    [
      ...['https://example.com/', 'http://localhost/', 'https://www.youtube.com.example.com/watch?v=dQw4w9WgXcQ'],
      ...['https://user:word@www.youtube.com/watch?v=dQw4w9WgXcQ', 'https://www.youtube.com@example.com/'],
      ...[
        'https://www.youtube.com:8443/watch?v=dQw4w9WgXcQ',
        'http://127.0.0.1/',
        'http://[::1]/',
        'http://2130706433/',
      ],
      ...[
        'http://169.254.169.254/latest/meta-data',
        'https://www.yоutube.com/watch?v=dQw4w9WgXcQ',
        'http://127.0.0.1:1/',
      ],
      ...['https://%77ww.youtube.com/watch?v=dQw4w9WgXcQ', 'https://www.youtube.com/', 'https://youtu.be/short'],
      ...['https://www.youtube.com/playlist?list=PLBCF2DAC6FFB574DE', 'https://www.youtube.com/@channel'],
    ],
  ],
])('an address that is answered with %s', (expected, addresses) => {
  it.each(addresses)('%j', async (address) => {
    const lookup = await call(service.url, metadataPath(address), { key });
    const download = await call(service.url, '/video/download', { key, body: { url: address } });
    expect([lookup.status, lookup.code]).toEqual([400, expected]);
    expect([download.status, download.code]).toEqual([400, expected]);
  });
});

describe('the address of a video', () => {
  it('of the sample platform is taken only as its very own', async () => {
    const { samplePlatformUrl, sampleUrl } = service;
    const platform = samplePlatformUrl ?? '';
    const ask = async (url: string) => (await call(service.url, '/video/download', { key, body: { url } })).code;
    expect(await ask(sampleUrl('bars'))).toBe(ok);
    for (const address of [
      platform,
      `${platform}/media/bars/360p.mp4`,
      sampleUrl('bars').replace('127.0.0.1', 'localhost'),
    ]) {
      expect(await ask(address)).toBe('unsupported_platform');
    }
  });

  it('may have 2048 characters', async () => {
    const address = `${video}&pad=${'x'.repeat(2_048 - video.length - '&pad='.length)}`;
    expect((await call(service.url, '/video/download', { key, body: { url: address } })).code).toBe(ok);
    expect((await call(service.url, metadataPath(address), { key })).code).toBe('metadata_quota_exceeded');
  });

  it('may hold half a character in JSON: that is malformed, not a fault of ours', async () => {
    expect((await post(`{"url":"${video}\\ud800"}`)).code).toBe('invalid_request');
  });
});

describe('a body that is answered with invalid_request', () => {
  it.each([
    ...[
      'null',
      '1',
      'true',
      '"x"',
      '[]',
      `[{"url":"${video}"}]`,
      '{}',
      '{"URL":"x"}',
      `{"__proto__":{"url":"${video}"}}`,
    ],
    ...['{"url":null}', '{"url":1}', '{"url":true}', '{"url":{}}', `{"url":["${video}"]}`],
    ...['null', '1', '"MP4"', '"Video"', '"mp3"', '""', '["video"]'].map(
      (format) => `{"url":"${video}","format":${format}}`,
    ),
    ...['null', '720', '"4k"', '"720p"', '"best "', '"BEST"', '{}'].map(
      (quality) => `{"url":"${video}","quality":${quality}}`,
    ),
    ...['null', '"MP3"', '"wav"', '1'].map((sound) => `{"url":"${video}","audio_format":${sound}}`),
    ...['null', '0', '-1', '1.5', '"1"', '101', '2', '1e400'].map((item) => `{"url":"${video}","item":${item}}`),
    ...[
      '{',
      '{"url":}',
      "{'url':'x'}",
      'undefined',
      'NaN',
      `{"url":"${video}"} x`,
      `{"url":"${video}",}`,
      `url=${video}`,
    ],
    ...[' ', '['.repeat(8_000), `{"url":"${video}","a":"\n"}`],
  ])('%j', async (body) => {
    await expectError(post(body), '400 invalid_request');
  });

  it.each(['0', '-1', '1.5', '101', '1e99', '"1"'])('the item %s, naming the range', async (item) => {
    expect((await post(`{"url":"${video}","item":${item}}`)).body).toContain(
      'item: must be a whole number from 1 to 100',
    );
  });

  it('bytes that are no UTF-8', async () => {
    expect((await post(Buffer.from(`{"url":"${video}","a":"\xff"}`, 'latin1'))).code).toBe('invalid_request');
    expect((await post(Buffer.from(`{"url":"${video}"}`, 'utf16le'))).code).toBe('invalid_request');
  });

  it.each([
    '',
    'text/plain',
    'text/json',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'application/ld+json',
    '/',
  ])('JSON that is sent as %j', async (contentType) => {
    await expectError(post(JSON.stringify({ url: video }), contentType), '400 invalid_request');
  });

  it('none at all, whatever its Content-Type: there is no url', async () => {
    for (const contentType of ['', json, 'text/plain', '/']) {
      expect((await post('', contentType)).code).toBe('invalid_request');
    }
  });

  it('more than 16 KiB, also where its size is not announced', async () => {
    expect((await post(bodyOf(16_384 + 1))).code).toBe('invalid_request');
    expect((await post(bodyOf(16_384 + 1), json, { 'transfer-encoding': 'chunked' })).code).toBe('invalid_request');
  });
});

describe('a body that is taken', () => {
  it('has up to 16 KiB', async () => {
    expect((await post(bodyOf(16_384))).code).toBe(ok);
    expect((await post(bodyOf(16_384), json, { 'transfer-encoding': 'chunked' })).code).toBe(ok);
  });

  it.each([
    json,
    'Application/JSON',
    `${json};charset=utf-8`,
    `${json}; charset="UTF-8"; version=1`,
    `${json} ; charset=utf-8`,
  ])('is JSON, sent as %j', async (contentType) => {
    expect((await post(JSON.stringify({ url: video }), contentType)).code).toBe(ok);
  });

  it('may begin with a byte order mark and white space', async () => {
    expect((await post(`\ufeff \r\n{"url": "${video}"}\n`)).code).toBe(ok);
  });

  it('may hold fields that nobody knows, and those of an object’s own making', async () => {
    const more =
      '"colour":"red","plan":"enterprise","overage":false,"__proto__":{"format":1},"constructor":null,"a":{"b":[]}';
    expect((await post(`{"url":"${video}",${more}}`)).code).toBe(ok);
  });
});

describe('a query', () => {
  it('may hold parameters that nobody knows', async () => {
    const { code } = await call(service.url, `${metadataPath(video)}&colour=red&url[]=x&__proto__=1&=`, { key });
    expect(code).toBe('metadata_quota_exceeded');
  });

  it.each([
    '',
    '?',
    '?url',
    '?url=',
    '?URL=x',
    `?url[]=${video}`,
    `?url=${video}&url=${video}`,
    '?url=%zz',
    '?url=%ff',
  ])('is answered with invalid_request: %j', async (query) => {
    const headers = { authorization: `Bearer ${key}` };
    const path = `/api/v1/video/metadata${query}`;
    await expectError(rawRequest(service.url, { method: 'GET', path, headers }), '400 invalid_request');
  });
});
