import { randomBytes, randomUUID } from 'node:crypto';

/** The only place that reads the clock, draws random numbers and makes ids. */

/** This machine's clock, in milliseconds since 1970. Decisions use Postgres's clock instead: see `adapters/postgres/business-clock.ts`. */
export const realNowMs = (): number => Date.now();

export const newUuid = (): string => randomUUID();

/** From 0 to 1, for jitter only. */
export const random = (): number => Math.random();

export const randomBits = (bytes: number): Buffer => randomBytes(bytes);

/** 100 random bits in lower-case base 32, as in `acc_…`, `key_…`, `stf_…`. */
export function newId(prefix: 'acc' | 'key' | 'per' | 'stf' | 'stk' | 'wrk'): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
  const letters = Array.from(randomBytes(20), (byte) => alphabet.charAt(byte & 31));
  return `${prefix}_${letters.join('')}`;
}
