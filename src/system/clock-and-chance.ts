import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

/** The only place that reads the clock, draws random numbers and makes ids. */

/** This machine's clock, in milliseconds since 1970. Decisions use Postgres's clock instead: see `adapters/postgres/business-clock.ts`. */
export const realNowMs = (): number => Date.now();

/**
 * Time since this machine's start, suspended time included, in milliseconds. Setting the clock does not change it: Linux counts it
 * (CLOCK_BOOTTIME), to 10 ms; macOS takes the start from the clock, to a second, and moves the start when the clock is set.
 */
export const uptimeMs = (): number => (linuxUptime === undefined ? uptime() : secondsIn(linuxUptime)) * 1_000;

/** Every admission reads it twice: from a file that is kept open that takes a third of the time of `uptime()`. */
const linuxUptime = existsSync('/proc/uptime') ? openSync('/proc/uptime', 'r') : undefined;
const text = Buffer.alloc(32);

function secondsIn(file: number): number {
  readSync(file, text, 0, text.length, 0);
  return Number(text.toString('latin1', 0, text.indexOf(' ')));
}

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
