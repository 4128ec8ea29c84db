import { beforeAll, describe, expect, it } from 'vitest';
import { type Asked, call } from '../support/client.ts';
import { exhaust, issueKey, metadataPath, together } from './requests.ts';
import { noDownloads, shareService } from './shared-service.ts';

/** Route and method (404, 405) → key (401) → rate (429) → input (400) → quota (402) → upstream (502). */
const service = shareService(noDownloads);
let limited = '';
/** Of an account of the free plan whose metadata pool is empty; it has no downloads at all. */
let poor = '';

beforeAll(async () => {
  const { url, sampleUrl, openAccount, cli } = service;
  const { accountId, key } = await openAccount('sandbox');
  await cli('accounts', 'terms', accountId, '--keys', '8');
  limited = await issueKey(url, key);
  poor = await issueKey(url, key);
  const keys = await Promise.all(Array.from({ length: 5 }, () => issueKey(url, key)));
  await together(50, (index) => call(url, metadataPath(sampleUrl('bars')), { key: keys[index % 5] ?? '' }));
  await exhaust(url, limited);
});

const statusOf = async (path: string, asked: Asked) => (await call(service.url, path, asked)).status;
const tooLarge = 'x'.repeat(20_000);
const unreachable = () => metadataPath(service.sampleUrl('private'));

describe('of two things that are wrong, the earlier one is answered', () => {
  it.each([
    ['a path that is unknown', '/video/downloads', 404],
    ['a method that is wrong', '/credits', 405],
  ])(
    '%s before a key that is missing, a limit that is reached and input that is malformed',
    async (_, path, status) => {
      const method = 'POST';
      expect(await statusOf(path, { method })).toBe(status);
      expect(await statusOf(path, { method, key: limited })).toBe(status);
      expect(await statusOf(path, { method, key: poor, body: '{' })).toBe(status);
      expect(await statusOf(path, { method, body: tooLarge })).toBe(status);
      expect(await statusOf(path, { method, body: 'x', headers: { 'content-type': '/' } })).toBe(status);
    },
  );

  it('a path that is unknown before its method', async () => {
    expect(await statusOf('/video', { method: 'PUT' })).toBe(404);
  });

  it('a key that is missing before input that is malformed', async () => {
    expect(await statusOf('/video/metadata', {})).toBe(401);
    expect(await statusOf('/video/status', {})).toBe(401);
    expect(await statusOf('/video/download', { body: '{' })).toBe(401);
    expect(await statusOf('/video/download', { body: tooLarge })).toBe(401);
    expect(await statusOf('/auth/key', { body: '{', headers: { 'content-type': '/' } })).toBe(401);
  });

  it('a limit that is reached before input, quota and upstream', async () => {
    const key = limited;
    expect(await statusOf('/video/metadata', { key })).toBe(429);
    expect(await statusOf('/video/download', { key, body: '{' })).toBe(429);
    expect(await statusOf('/video/download', { key, body: tooLarge })).toBe(429);
    expect(await statusOf('/video/download', { key, body: { url: service.sampleUrl('bars') } })).toBe(429);
    expect(await statusOf(unreachable(), { key })).toBe(429);
  });

  it('input that is malformed before a quota that is empty', async () => {
    const key = poor;
    expect(await statusOf('/video/metadata', { key })).toBe(400);
    expect(await statusOf(metadataPath('https://example.com/'), { key })).toBe(400);
    expect(await statusOf('/video/download', { key, body: { url: 'https://example.com/' } })).toBe(400);
    expect(await statusOf('/video/download', { key, body: { url: service.sampleUrl('bars'), quality: 1 } })).toBe(400);
  });

  it('a quota that is empty before a platform that does not answer', async () => {
    expect(await statusOf(unreachable(), { key: poor })).toBe(402);
    expect(await statusOf('/video/download', { key: poor, body: { url: service.sampleUrl('bars') } })).toBe(402);
  });
});
