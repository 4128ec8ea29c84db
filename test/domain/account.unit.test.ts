import { describe, expect, it } from 'vitest';
import { type AccountCommand, decideAccount } from '../../src/domain/account.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { given, now, opened } from './account-examples.ts';
import { accountId, plan } from './usage-examples.ts';

const keyIdOf = (number: number) => `key_${String(number).padStart(16, '0')}`;

function issued(number: number, label = 'laptop'): AccountEvent {
  const [key_hash, key_prefix] = ['a'.repeat(64), 'rtk_abcdefgh'];
  return {
    type: 'ApiKeyIssued',
    data: { account_id: accountId, key_id: keyIdOf(number), key_hash, key_prefix, personal: { label } },
  };
}

const revoked = (number: number): AccountEvent => ({
  type: 'ApiKeyRevoked',
  data: { account_id: accountId, key_id: keyIdOf(number) },
});

const open: AccountCommand = { kind: 'open_account', accountId, email: 'owner@example.com', terms: plan };
const issue = (number: number): AccountCommand => ({
  kind: 'issue_key',
  accountId,
  keyId: keyIdOf(number),
  keyHash: 'a'.repeat(64),
  keyPrefix: 'rtk_abcdefgh',
  label: 'laptop',
  maxKeys: 3,
});
const revoke = (number: number): AccountCommand => ({ kind: 'revoke_key', accountId, keyId: keyIdOf(number) });

describe('opening an account', () => {
  it('fixes its terms, its anchor day and its first period', () => {
    expect(decideAccount(given(), open, now)).toEqual([opened]);
  });

  it('twice yields nothing new', () => {
    expect(decideAccount(given(opened), { ...open, email: 'other@example.com' }, now)).toEqual([]);
  });
});

describe('issuing a key', () => {
  it('records its hash and its prefix', () => {
    expect(decideAccount(given(opened), issue(1), now)).toEqual([issued(1)]);
  });

  it('twice yields nothing new', () => {
    expect(decideAccount(given(opened, issued(1)), issue(1), now)).toEqual([]);
  });

  it('is refused for an account that is not there', () => {
    expect(decideAccount(given(), issue(1), now)).toEqual({ refusal: 'account_not_found' });
  });

  const inAnHour = '2026-11-30T18:45:12.345Z';
  const before = '2026-11-30T18:45:12.344Z';

  it('is refused while as many as the terms allow are in force, and allowed once one of them is revoked', () => {
    const keys = [issued(1), issued(2), issued(3)];
    expect(decideAccount(given(opened, ...keys.slice(1)), issue(4), inAnHour)).toEqual([issued(4)]);
    expect(decideAccount(given(opened, ...keys), issue(4), inAnHour)).toEqual({ refusal: 'too_many_keys' });
    expect(decideAccount(given(opened, ...keys, revoked(2)), issue(4), inAnHour)).toEqual([issued(4)]);
  });

  it('is refused where as many were issued within the hour, revoked ones included', () => {
    const keys = [issued(1), revoked(1), issued(2), issued(3), revoked(3)];
    expect(decideAccount(given(opened, ...keys), issue(4), before)).toEqual({ refusal: 'too_many_new_keys' });
    expect(decideAccount(given(opened, ...keys), issue(4), inAnHour)).toEqual([issued(4)]);
  });

  it('leaves keys of before as they are where there are more than the terms allow', () => {
    const { keys } = given(opened, issued(1), issued(2), issued(3), issued(4));
    expect([...keys.values()].filter(({ revoked }) => !revoked)).toHaveLength(4);
  });
});

describe('revoking a key', () => {
  it('is recorded once', () => {
    expect(decideAccount(given(opened, issued(1)), revoke(1), now)).toEqual([revoked(1)]);
    expect(decideAccount(given(opened, issued(1), revoked(1)), revoke(1), now)).toEqual([]);
  });

  it('leaves the other keys as they are', () => {
    const { keys } = given(opened, issued(1), issued(2), revoked(1));
    expect([...keys.values()].map(({ keyId, revoked }) => [keyId, revoked])).toEqual([
      [keyIdOf(1), true],
      [keyIdOf(2), false],
    ]);
  });

  it('is refused for a key or an account that is not there', () => {
    expect(decideAccount(given(opened), revoke(1), now)).toEqual({ refusal: 'key_not_found' });
    expect(decideAccount(given(), revoke(1), now)).toEqual({ refusal: 'account_not_found' });
  });
});
