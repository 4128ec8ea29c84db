import { describe, expect, it } from 'vitest';
import { call, expectError } from '../support/client.ts';
import { rawRequest } from './raw-request.ts';
import { creditsOf, exhaust } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);
const issue = (key: string, body?: object | string) =>
  call(service.url, '/auth/key', { key, method: 'POST', ...(body !== undefined && { body }) });

describe('POST /auth/key, 201', () => {
  it('has exactly the fields of the contract', async () => {
    const { status, data } = await issue(demoOf(service).key, { label: 'the printer’s 🖨' });
    expect(status).toBe(201);
    expect(data).toEqual({
      key: expect.stringMatching(/^rtk_[0-9A-Za-z]{49}$/) as unknown,
      key_prefix: expect.stringMatching(/^rtk_[0-9A-Za-z]{8}$/) as unknown,
      label: 'the printer’s 🖨',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/) as unknown,
    });
    expect(String(data['key']).startsWith(String(data['key_prefix']))).toBe(true);
    expect(Math.abs(Date.parse(`${String(data['created_at']).replace(' ', 'T')}Z`) - Date.now())).toBeLessThan(60_000);
  });

  it.each([
    ['no body', undefined],
    ['an empty object', {}],
  ])('needs no label: %s', async (_, body) => {
    const { status, data } = await issue(demoOf(service).key, body);
    expect([status, data['label']]).toEqual([201, '']);
  });

  it.each(['text/plain', 'multipart/form-data; boundary=x', '/', ''])(
    'takes an empty body as none, with Content-Type %j too',
    async (contentType) => {
      const headers = { authorization: `Bearer ${demoOf(service).key}`, 'content-type': contentType };
      const path = '/api/v1/auth/key';
      expect((await rawRequest(service.url, { method: 'POST', path, headers, body: '' })).status).toBe(201);
    },
  );

  it('gives a key that works at once, for the same account, with an hourly window of its own', async () => {
    const { key } = demoOf(service);
    const { data, headers: issuing } = await issue(key);
    const first = await call(service.url, '/credits', { key: String(data['key']) });
    expect([first.status, first.headers.get('x-ratelimit-remaining')]).toEqual([200, '499']);
    expect(first.data).toEqual(await creditsOf(service.url, key));
    const next = await call(service.url, '/credits', { key });
    expect(Number(next.headers.get('x-ratelimit-remaining'))).toBe(
      Number(issuing.get('x-ratelimit-remaining')) - 2, // one for the look at the credits above
    );
  });

  it('gives another key each time, and takes no credit', async () => {
    const { key } = demoOf(service);
    const before = await creditsOf(service.url, key);
    const keys = await Promise.all(Array.from({ length: 5 }, () => issue(key, { label: 'one of five' })));
    expect(new Set(keys.map(({ data }) => data['key'])).size).toBe(5);
    expect(await creditsOf(service.url, key)).toEqual(before);
  });
});

describe('POST /auth/key, 400', () => {
  it.each([
    ['a label that is null', { label: null }],
    ['a label that is a number', { label: 7 }],
    ['a label of 101 characters', { label: 'x'.repeat(101) }],
    ['a label with a NUL', { label: 'a\0b' }],
    ['a label with a line break', { label: 'a\nb' }],
    ['a label that turns the direction of writing', { label: 'a\u202egnp.exe' }],
    ['half a surrogate pair in a label', '{"label":"\\ud800"}'],
    ['a body that is no object', '"label"'],
    ['a body that is no JSON', '{label'],
  ])('invalid_request for %s', async (_, body) => {
    await expectError(issue(demoOf(service).key, body), '400 invalid_request');
  });

  it('invalid_request for more keys than the plan allows, from keys of its own too', async () => {
    const { accountId, key, keyId } = await service.openAccount('sandbox');
    const { data } = await issue(key);
    const more = await Promise.all([key, key, String(data['key'])].map((each) => issue(each)));
    expect(more.map(({ status, code, message }) => [status, code, message])).toEqual(
      more.map(() => [
        ...[400, 'invalid_request'],
        'the account has 2 API keys in force, as many as its plan allows: have one revoked first',
      ]),
    );
    await service.cli('keys', 'revoke', keyId);
    expect((await issue(String(data['key']))).message).toBe(
      'the account was issued 2 API keys in the past hour, as many as its plan allows: try again in an hour',
    );
    await service.cli('accounts', 'terms', accountId, '--keys', '3');
    expect((await issue(String(data['key']))).status).toBe(201);
  });

  it('takes a label of 100 characters', async () => {
    const { status } = await issue(demoOf(service).key, { label: 'x'.repeat(100) });
    expect(status).toBe(201);
  });
});

describe('POST /auth/key, 401', () => {
  it('wants a key', async () => {
    await expectError(call(service.url, '/auth/key', { method: 'POST' }), '401 unauthorized');
  });
});

describe('POST /auth/key, 429', () => {
  it('counts against the key’s hourly limit', async () => {
    const { key } = await service.openAccount('sandbox');
    await exhaust(service.url, key);
    await expectError(issue(key), '429 rate_limited');
  });
});
