import { describe, expect, it } from 'vitest';
import { noDownloads, shareService } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { against, expectRefusal, expectText } from './command-line.ts';

const service = shareService(noDownloads);
const run = against(service);
const unknownAccount = 'acc_aaaaaaaaaaaaaaaaaaaa';
const unknownKey = 'key_aaaaaaaaaaaaaaaaaaaa';
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;

interface Issued {
  key: string;
  key_id: string;
  key_prefix: string;
}

describe('keys issue, list and revoke', () => {
  it('issue a key that works when the command returns, list it without the key, and revoke it for good', async () => {
    const { cli, url } = service;
    const { accountId, keyId: firstKeyId } = await service.openAccount('sandbox');
    const issued = await cli<Issued>('keys', 'issue', accountId, '--label', 'the printer');
    const { key, key_id: keyId, key_prefix: keyPrefix } = issued;
    expect(issued).toEqual({
      account_id: accountId,
      key_id: expect.stringMatching(/^key_[a-z0-9]{16,32}$/) as unknown,
      key: expect.stringMatching(/^rtk_[0-9A-Za-z]{49}$/) as unknown,
      key_prefix: key.slice(0, 12),
      label: 'the printer',
    });
    expect((await call(url, '/credits', { key })).status).toBe(200);

    const row = (id: string, label: string, prefix: unknown, revokedAt: unknown) => {
      const isUsed = id === keyId;
      return {
        account_id: accountId,
        key_id: id,
        label,
        key_prefix: prefix,
        created_at: instant,
        revoked_at: revokedAt,
        last_used_at: isUsed ? instant : null,
        used_in_past_hour: isUsed ? 1 : 0,
        limit: null,
        used_of_limit: null,
      };
    };
    const first = row(firstKeyId, 'test', expect.stringMatching(/^rtk_/), null);
    const list = () => cli('keys', 'list', accountId);
    expect(await list()).toEqual({ account_id: accountId, keys: [first, row(keyId, 'the printer', keyPrefix, null)] });

    expect(await cli('keys', 'revoke', keyId)).toEqual({ account_id: accountId, key_id: keyId, revoked: true });
    expect((await call(url, '/credits', { key })).status).toBe(401);
    expect(await list()).toEqual({
      account_id: accountId,
      keys: [first, row(keyId, 'the printer', keyPrefix, instant)],
    });
    expectText(await run('keys', 'revoke', keyId), /is revoked; every process refuses it\n$/);

    const listed = await run('keys', 'list', accountId);
    expectText(listed, /^key_id +key_prefix +created_at +revoked_at +limit +label\n/);
    expect(listed.stdout.split('\n')).toContainEqual(expect.stringMatching(/ - +test$/));
    expect(listed.stdout).not.toContain(key);
    expect(await cli('accounts', 'show', accountId)).toMatchObject({ active_keys: 1 });
  });

  it('take how a key begins, as it is listed, or the whole key', async () => {
    const { cli } = service;
    const { accountId } = await service.openAccount('sandbox');
    const { key, key_id: keyId, key_prefix: prefix } = await cli<Issued>('keys', 'issue', accountId);
    const limited = await cli('keys', 'limit', prefix, '--downloads', '5');
    expect(limited).toMatchObject({ account_id: accountId, key_id: keyId, changed: true });
    for (const short of ['rtk_', prefix.slice(0, -1)])
      expectRefusal(await run('keys', 'revoke', short), /is too short: give the 12 characters that "keys list" shows/);
    const misread = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    for (const wrong of [misread, `${key}a`]) {
      const refused = await run('keys', 'revoke', wrong);
      expectRefusal(refused, new RegExp(`there is no such key; it begins with ${prefix}`));
      expect(refused.stderr).not.toContain(key.slice(0, 13));
    }
    expect(await cli('keys', 'limit', key, '--downloads', '6')).toMatchObject({ key_id: keyId, changed: true });
    expect(await cli('keys', 'revoke', prefix)).toMatchObject({ key_id: keyId, revoked: true });
  });

  it('tell people that a key is shown once', async () => {
    const { accountId } = await service.openAccount('sandbox');
    const ran = await run('keys', 'issue', accountId);
    expectText(ran, /^key +rtk_\w{49}$/m);
    expectText(ran, /\n\nThe key is shown only once; nobody can show it again\.\n$/);
  });

  it.concurrent.each([
    ['issue', [unknownAccount], /there is no account acc_a+/],
    ['issue', ['nonsense'], /an account id is acc_ and 16 to 32 lower-case letters and digits/],
    ['issue', [unknownAccount, '--label', 'x'.repeat(101)], /the label is longer than 100 characters/],
    ['list', [unknownAccount], /there is no account acc_a+/],
    ['revoke', [unknownKey], /there is no key key_a+/],
    ['revoke', ['rtk_nonsense'], /there is no key that begins with rtk_nonsense/],
    ['revoke', [], /missing required argument 'key'/],
  ])('refuse: keys %s %j', async (command, words, message) => {
    expectRefusal(await run('--json', 'keys', command, ...words), message);
  });
});

describe('keys limit', () => {
  it('changes what is given, and removes the limit with its last part', async () => {
    const { cli } = service;
    const { keyId } = await service.openAccount('sandbox');
    const limit = (...words: string[]) => cli('keys', 'limit', keyId, ...words);
    await limit('--downloads', '5');
    expect(await limit('--until', '9999-12-30', '--overage-cents', '250')).toMatchObject({
      limit: { downloads: 5, overage_cents: 250, until: '9999-12-31T00:00:00.000Z' },
      changed: true,
    });
    expect(await limit('--downloads', '5')).toMatchObject({ changed: false });
    expect(await limit('--downloads', 'none', '--overage-cents', 'none')).toMatchObject({ limit: { downloads: null } });
    expect(await limit('--until', 'none')).toMatchObject({ limit: null, changed: true });
  });

  it('only removes that of a revoked key', async () => {
    const { cli } = service;
    const { accountId, keyId } = await service.openAccount('sandbox');
    await cli('keys', 'limit', keyId, '--downloads', '5', '--overage-cents', '0');
    await cli('keys', 'revoke', keyId);
    expectRefusal(
      await run('keys', 'limit', keyId, '--downloads', '6'),
      /is revoked, and its limit can only be removed/,
    );
    expect(await cli('keys', 'list', accountId)).toMatchObject({ keys: [{ limit: { downloads: 5 } }] });
    await cli('keys', 'limit', keyId, '--downloads', 'none', '--overage-cents', 'none');
    expect(await cli('keys', 'list', accountId)).toMatchObject({ keys: [{ limit: null }] });
  });

  it.each([
    ['--until', '9999-12-31', /the last day is 9999-12-30 at the latest/],
    ['--until', '2027-02-30', /write a day like/],
    ['--downloads', '1000000001', /give a whole number from 0/],
  ])('refuses %s %s', async (option, value, message) => {
    expectRefusal(await run('keys', 'limit', unknownKey, option, value), message);
  });
});
