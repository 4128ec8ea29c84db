import { hash } from 'node:crypto';

/** Ids that follow from a person's own reference, so a repeated command finds the same account or key. */

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const idLength = 20;

export const accountIdOf = (reference: string): string => idOf('acc', ['account of a reference', reference]);

export const keyIdOf = (accountId: string, reference: string): string =>
  idOf('key', ['key of a reference', accountId, reference]);

/** 100 bits of a hash in base 32, in the form of a random id. @param parts hold no control characters */
function idOf(prefix: 'acc' | 'key', parts: readonly string[]): string {
  const bytes = hash('sha256', ['reeltally', ...parts].join('\0'), 'buffer').subarray(0, idLength);
  return `${prefix}_${Array.from(bytes, (byte) => alphabet.charAt(byte & 31)).join('')}`;
}
