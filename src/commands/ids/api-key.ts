import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * API keys of clients (`rtk_`) and tokens of staff (`rts_`): 256 random bits in base 62, and a checksum of six characters. By the
 * checksum junk is refused without a query, and scanners tell a leaked key from noise.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomBytesNeeded = 32;
const randomLength = 43;
const checksumLength = 6;
const keyPattern = new RegExp(`^(rt[ks])_[0-9A-Za-z]{${String(randomLength + checksumLength)}}$`);
/** Characters of a key that people see, from its beginning. */
export const keyPrefixLength = 'rtk_'.length + 8;
/** Characters of a whole key. */
export const keyLength = 'rtk_'.length + randomLength + checksumLength;

type KeyKind = 'rtk' | 'rts';

export interface NewApiKey {
  /** Shown once, stored nowhere. */
  key: string;
  keyHash: string;
  keyPrefix: string;
}

/** @param randomBits draws the given number of random bytes */
export function newApiKey(randomBits: (bytes: number) => Buffer, kind: KeyKind = 'rtk'): NewApiKey {
  const random = base62(BigInt(`0x${randomBits(randomBytesNeeded).toString('hex')}`), randomLength);
  const key = `${kind}_${random}${checksum(random)}`;
  return { key, keyHash: hashApiKey(key), keyPrefix: key.slice(0, keyPrefixLength) };
}

/** True if a string has the form of a key of this service. */
export function hasApiKeyForm(key: string, kind: KeyKind = 'rtk'): boolean {
  return (
    keyPattern.exec(key)?.[1] === kind &&
    checksum(key.slice('rtk_'.length, -checksumLength)) === key.slice(-checksumLength)
  );
}

/** SHA-256, hexadecimal: 256 random bits need no slow hash. */
export const hashApiKey = (key: string): string => hash('sha256', key);

const checksum = (random: string) => base62(BigInt(crc32(random)), checksumLength);

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest /= 62n) digits = alphabet.charAt(Number(rest % 62n)) + digits;
  return digits;
}
