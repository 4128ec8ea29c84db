import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/**
 * Job tokens: 136 random bits and a keyed check, in base64url. The check refuses guesses before any query. A token holds nothing
 * about the account.
 */
const randomLength = 17;
const checkLength = 6;
const tokenPattern = /^[A-P][A-Za-z0-9_-]{31}$/;

export interface CheckKey {
  /** 0 to 63, so that a token begins with a letter; old keys still verify. */
  id: number;
  key: KeyObject;
}

export class RequestTokens {
  readonly #current: CheckKey;
  readonly #keys: ReadonlyMap<number, KeyObject>;
  readonly #randomBits: (bytes: number) => Buffer;
  /** Tokens are polled again and again. */
  readonly #verified = new LRUCache<string, true>({ max: 100_000 });

  constructor(current: CheckKey, others: readonly CheckKey[], randomBits: (bytes: number) => Buffer) {
    this.#current = current;
    this.#keys = new Map([...others, current].map(({ id, key }) => [id, key]));
    this.#randomBits = randomBits;
  }

  issue(): string {
    const body = Buffer.concat([Buffer.of(this.#current.id), this.#randomBits(randomLength)]);
    return Buffer.concat([body, check(this.#current.key, body)]).toString('base64url');
  }

  /** True if this installation has drawn the token; its job need not exist. */
  verify(token: string): boolean {
    if (this.#verified.get(token)) return true;
    if (!tokenPattern.test(token)) return false;
    const bytes = Buffer.from(token, 'base64url');
    const key = this.#keys.get(bytes.readUInt8(0));
    if (!key) return false;
    const body = bytes.subarray(0, 1 + randomLength);
    const isOurs = timingSafeEqual(check(key, body), bytes.subarray(1 + randomLength));
    if (isOurs) this.#verified.set(token, true);
    return isOurs;
  }
}

const check = (key: KeyObject, body: Buffer) =>
  createHmac('sha256', key).update(body).digest().subarray(0, checkLength);
