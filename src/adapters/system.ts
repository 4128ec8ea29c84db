import { randomBytes, randomUUID } from 'node:crypto';

/** The only place that reads the clock, draws chance and makes ids. */
export interface Clock {
  /** Business time, as UTC ISO-8601: shifted by `offsetSeconds`. For periods and events. */
  now: () => string;
  /** The real clock, in milliseconds since 1970: for links, windows and leases. */
  realNowMs: () => number;
  offsetSeconds: number;
}

export function systemClock(offsetSeconds = 0): Clock {
  return {
    now: () => new Date(Date.now() + offsetSeconds * 1000).toISOString(),
    realNowMs: () => Date.now(),
    offsetSeconds,
  };
}

export const newUuid = (): string => randomUUID();

/** From 0 to 1, for jitter only. */
export const random = (): number => Math.random();

export const randomBits = (bytes: number): Buffer => randomBytes(bytes);

/** 100 random bits in lower-case base 32, as in `acc_…`, `key_…`, `wrk_…`. */
export function newId(prefix: 'acc' | 'key' | 'wrk'): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
  const letters = Array.from(randomBytes(20), (byte) => alphabet.charAt(byte & 31));
  return `${prefix}_${letters.join('')}`;
}
