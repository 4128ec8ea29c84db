import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newApiKey } from '../../src/commands/ids/api-key.ts';
import { type Asked, call } from '../support/client.ts';
import { rawRequest } from './raw-request.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

/** UNAUTHENTICATED_HOURLY_LIMIT, unless it is set. */
const hourlyLimit = 100;
// Each test comes from an address of its own, so that each finds a window of its own.
const service = shareService(noDownloads);

const from = (address: string, { headers = {}, ...asked }: Asked = {}) =>
  call(service.url, '/credits', { ...asked, headers: { 'x-forwarded-for': address, ...headers } });
const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining'));

/** From a trusted proxy whose own window nobody else uses. */
async function remainingOfProxy(headers: Record<string, string> = {}): Promise<number> {
  const asked = { method: 'GET', path: '/api/v1/credits', headers, localAddress: '127.0.0.8' };
  const answer = await rawRequest(service.url, asked);
  return Number(answer.headers['x-ratelimit-remaining']);
}

describe('a request without a valid key', () => {
  it('is answered 401 with the same bytes, whatever is wrong with the key', async () => {
    const { key } = demoOf(service);
    const { cli, openAccount } = service;
    const revoked = await openAccount('sandbox');
    await cli('keys', 'revoke', revoked.keyId);
    const wrongChecksum = `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`;
    const wrongRandom = `rtk_${key.charAt(4) === 'x' ? 'y' : 'x'}${key.slice(5)}`;
    const unknown = newApiKey(randomBytes).key;
    const keys = [
      wrongChecksum,
      wrongRandom,
      unknown,
      revoked.key,
      `${key}0`,
      key.slice(0, -1),
      key.toLowerCase(),
      'x',
    ];
    const asked: Asked[] = [
      {},
      ...keys.map((wrong) => ({ key: wrong })),
      ...[key, `Basic ${key}`, `Bearer`, `Bearer ${key} ${key}`, `Bearer${key}`, `Bearer "${key}"`, 'Bearer ', ''].map(
        (authorization) => ({ headers: { authorization } }),
      ),
      { headers: { 'x-api-key': key } },
      { headers: { cookie: `key=${key}` } },
    ];
    const answers = [];
    for (const [index, ask] of asked.entries()) answers.push(await from(`192.0.2.${String(index)}`, ask));
    expect(answers.map(({ status, code }) => [status, code])).toEqual(asked.map(() => [401, 'unauthorized']));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const names = answers.map(({ headers }) => [...headers.keys()].sort().join());
    expect(new Set(names).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => headers.get('x-credits-remaining')))).toEqual(new Set(['0']));
  });

  it('is not helped by a key in the query or in the body', async () => {
    const { key } = demoOf(service);
    const query = await call(service.url, `/credits?api_key=${key}&access_token=${key}`);
    const body = await call(service.url, '/auth/key', { body: { key, access_token: key } });
    expect([query.status, body.status]).toEqual([401, 401]);
  });
});

describe('a valid key', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is taken with the scheme written %j', async (scheme) => {
    const answer = await from('192.0.2.100', {
      headers: { authorization: `${scheme} ${demoOf(service).key}` },
    });
    expect(answer.status).toBe(200);
  });
});

describe('the window of an address', () => {
  it('counts down with each 401; past it the connection is closed after the answer', async () => {
    const address = '198.51.100.1';
    const resets = new Set<string | null>();
    for (let failed = 1; failed <= hourlyLimit; failed += 1) {
      const answer = await from(address);
      expect([answer.status, remaining(answer)]).toEqual([401, hourlyLimit - failed]);
      expect(answer.headers.get('x-ratelimit-limit')).toBe(String(hourlyLimit));
      expect(answer.headers.get('connection')).toBe('keep-alive');
      resets.add(answer.headers.get('x-ratelimit-reset'));
    }
    expect(resets.size).toBe(1);
    const past = await from(address);
    expect([past.status, past.code, remaining(past)]).toEqual([401, 'unauthorized', 0]);
    expect(past.headers.get('connection')).toBe('close');
    // Whoever has a valid key is not kept out by others at the same address.
    expect((await from(address, { key: demoOf(service).key })).status).toBe(200);
  });

  it('is shown by 404 and 405, with or without a key, and these count nowhere', async () => {
    const address = '198.51.100.2';
    const { key } = demoOf(service);
    await from(address);
    const keyBefore = remaining(await from(address, { key }));
    const headers = { 'x-forwarded-for': address };
    for (const asked of [{ headers }, { headers, key }]) {
      const unknownPath = await call(service.url, '/no/such/path', asked);
      const wrongMethod = await call(service.url, '/credits', { ...asked, method: 'DELETE' });
      expect([unknownPath.status, wrongMethod.status]).toEqual([404, 405]);
      for (const answer of [unknownPath, wrongMethod]) {
        expect(answer.headers.get('x-ratelimit-limit')).toBe(String(hourlyLimit));
        expect(remaining(answer)).toBe(hourlyLimit - 1);
        expect(answer.headers.get('x-credits-remaining')).toBe('0');
      }
    }
    expect(remaining(await from(address))).toBe(hourlyLimit - 2);
    expect(remaining(await from(address, { key }))).toBe(keyBefore - 1);
  });

  it('is that of a /64 for IPv6, and of the single address for IPv4, also where it is written as IPv6', async () => {
    expect(remaining(await from('2001:db8:1:2::1'))).toBe(hourlyLimit - 1);
    expect(remaining(await from('2001:db8:1:2:ffff:ffff:ffff:ffff'))).toBe(hourlyLimit - 2);
    expect(remaining(await from('2001:db8:1:3::1'))).toBe(hourlyLimit - 1);
    expect(remaining(await from('198.51.100.3'))).toBe(hourlyLimit - 1);
    expect(remaining(await from('::ffff:198.51.100.3'))).toBe(hourlyLimit - 2);
    expect(remaining(await from('198.51.100.4'))).toBe(hourlyLimit - 1);
  });

  it('is one in whichever form a proxy writes the address: a port of its own for each connection makes no client of its own', async () => {
    const forms = ['198.51.100.5', '198.51.100.5:4711', '198.51.100.5:4712', '"198.51.100.5:1"', '::FFFF:c633:6405'];
    const ofIpv6 = ['2001:db8:1:4::1', '[2001:db8:1:4::1]', '[2001:DB8:1:4::2]:443', '"[2001:db8:1:4:0::3]:1"'];
    for (const each of [forms, ofIpv6])
      for (const [index, form] of each.entries())
        expect(remaining(await from(form)), form).toBe(hourlyLimit - 1 - index);
    // The nearest proxy is trusted in these forms too, and what it saw counts.
    expect(remaining(await from('198.51.100.5, 127.0.0.1:99, [::ffff:127.0.0.1]:7'))).toBe(hourlyLimit - 6);
  });

  it('is that of the proxy where what it forwards is no address', async () => {
    const forwarding = (text: string) => remainingOfProxy({ 'x-forwarded-for': text });
    const left = await forwarding('unknown');
    const unreadable = ['_hidden', '"_gazonk:80"', 'localhost', '1.2.3', ', ,', 'a:1', 'a:2', '203.0.113.77, x'];
    for (const [index, text] of unreadable.entries()) expect(await forwarding(text), text).toBe(left - 1 - index);
  });

  it('is that of the connection where nobody forwards, whatever a client claims behind the trusted proxy', async () => {
    const left = await remainingOfProxy();
    expect(await remainingOfProxy({ forwarded: 'for=203.0.113.1' })).toBe(left - 1);
    // The proxy appends what it saw; what stands before that is the client's own invention.
    expect(remaining(await from('203.0.113.7, 198.51.100.9'))).toBe(hourlyLimit - 1);
    expect(remaining(await from('203.0.113.8, 198.51.100.9'))).toBe(hourlyLimit - 2);
  });
});
