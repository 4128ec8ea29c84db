import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type CheckKey, RequestTokens } from '../../../src/commands/ids/request-token.ts';
import { jobToken } from '../../../src/domain/usage-events.ts';

const checkKey = (id: number): CheckKey => ({ id, key: createSecretKey(randomBytes(32)) });

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

describe('a job token', () => {
  const key = checkKey(17);
  const tokens = new RequestTokens(key, [], randomBytes);

  it('is 32 characters of base64url that begin with a letter, whatever the key is called', () => {
    for (let id = 0; id < 64; id += 1) {
      const issued = new RequestTokens(checkKey(id), [], randomBytes);
      const token = issued.issue();
      expect(token).toMatch(/^[A-P][A-Za-z0-9_-]{31}$/);
      expect(issued.verify(token)).toBe(true);
      expect(jobToken.safeParse(token).success).toBe(true);
    }
  });

  it('holds the number of its key, 136 random bits and the first 48 bits of their HMAC', () => {
    const bytes = Buffer.from(tokens.issue(), 'base64url');
    expect(bytes).toHaveLength(24);
    expect(bytes[0]).toBe(17);
    const mac = createHmac('sha256', key.key).update(bytes.subarray(0, 18)).digest();
    expect(bytes.subarray(18)).toEqual(mac.subarray(0, 6));
  });

  it('is another one each time', () => {
    expect(new Set(Array.from({ length: 1000 }, () => tokens.issue())).size).toBe(1000);
  });

  it('is no longer ours with any one character changed', () => {
    const token = tokens.issue();
    for (let at = 0; at < token.length; at += 1) {
      const other = alphabet[(alphabet.indexOf(token.charAt(at)) + 1) % 64] ?? '';
      expect(tokens.verify(token.slice(0, at) + other + token.slice(at + 1)), `at ${at}`).toBe(false);
    }
  });

  it.each([
    '',
    'A',
    'A'.repeat(32),
    'A'.repeat(31),
    'A'.repeat(33),
    'z'.repeat(32),
    `${'A'.repeat(31)}=`,
    'Ä'.repeat(32),
  ])('is not %j', (junk) => {
    expect(tokens.verify(junk)).toBe(false);
  });

  it('is not one of another installation', () => {
    expect(tokens.verify(new RequestTokens(checkKey(17), [], randomBytes).issue())).toBe(false);
    expect(tokens.verify(new RequestTokens(checkKey(18), [], randomBytes).issue())).toBe(false);
  });
});

describe('after a change of keys', () => {
  const [older, newer] = [checkKey(5), checkKey(6)];
  const before = new RequestTokens(older, [], randomBytes);
  const after = new RequestTokens(newer, [older], randomBytes);

  it('old tokens still verify, and new ones carry the new key', () => {
    expect(after.verify(before.issue())).toBe(true);
    expect(after.verify(after.issue())).toBe(true);
    expect(before.verify(after.issue())).toBe(false);
  });

  it('of one number the current one counts', () => {
    const same = checkKey(5);
    const tokens = new RequestTokens(same, [older], randomBytes);
    expect(tokens.verify(tokens.issue())).toBe(true);
  });
});
