import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasApiKeyForm, hashApiKey, newApiKey } from '../../../src/commands/ids/api-key.ts';

describe('a new key', () => {
  it('is a fixed prefix, 43 random characters and a checksum', () => {
    const { key, keyPrefix } = newApiKey(randomBytes);
    expect(key).toMatch(/^rtk_[0-9A-Za-z]{49}$/);
    expect(keyPrefix).toBe(key.slice(0, 12));
    expect(hasApiKeyForm(key)).toBe(true);
  });

  it('spells the random bits in base 62 and their CRC-32 behind them', () => {
    const bits = (last: number) => () => Buffer.from([...Array.from({ length: 31 }, () => 0), last]);
    // CRC-32 of 43 zeros is 2 018 072 207.
    expect(newApiKey(bits(0)).key).toBe(`rtk_${'0'.repeat(43)}2CZclj`);
    expect(newApiKey(bits(61)).key).toMatch(/^rtk_0{42}z/);
    expect(newApiKey(bits(62)).key).toMatch(/^rtk_0{41}10/);
  });

  it('is drawn from 256 random bits, all of which count', () => {
    const asked: number[] = [];
    const draw = (bytes: number) => {
      asked.push(bytes);
      return Buffer.alloc(bytes, 0xff);
    };
    const largest = newApiKey(draw).key;
    expect(asked).toEqual([32]);
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const value = Array.from(largest.slice(4, 47)).reduce(
      (sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)),
      0n,
    );
    expect(value).toBe(2n ** 256n - 1n);
  });

  it('is stored as its SHA-256', () => {
    const { key, keyHash } = newApiKey(randomBytes);
    expect(keyHash).toBe(createHash('sha256').update(key).digest('hex'));
    expect(hashApiKey(key)).toBe(keyHash);
  });
});

describe('what is no key', () => {
  const { key } = newApiKey(randomBytes);

  it.each([
    '',
    'rtk_',
    key.slice(0, -1),
    `${key}0`,
    `${key}\n`,
    ` ${key}`,
    key.replace('rtk_', 'RTK_'),
    key.replace('rtk_', 'rtk-'),
    `rtk_${'0'.repeat(49)}`,
    `rtk_${'é'.repeat(49)}`,
  ])('is turned away by its form: %j', (junk) => {
    expect(hasApiKeyForm(junk)).toBe(false);
  });

  it('is every key with one character changed', () => {
    const place = fc.integer({ min: 4, max: key.length - 1 });
    const letter = fc.constantFrom(...Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'));
    fc.assert(
      fc.property(place, letter, (at, other) => {
        fc.pre(key.charAt(at) !== other);
        expect(hasApiKeyForm(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
      }),
    );
  });
});
