import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RowObserver } from '../../ports/observers.ts';
import type { RowMacs, TableWithMacs } from '../../ports/row-macs.ts';
import { decryptBytes, encryptBytes } from '../aes-gcm.ts';
import type { Secrets } from '../derive-keys.ts';

/** The most rows that are remembered as logged; beyond it, a row may be logged again. */
const maxSaid = 10_000;

/**
 * Makes MACs with the key of the current secret; those of older secrets still verify.
 *
 * @param observer told of each row that does not verify; each row is logged once, until it verifies again
 */
export function createRowMacs(
  { current, others }: Secrets,
  { logger, observer }: { logger: Logger; observer?: RowObserver },
): RowMacs {
  const keys = new Map([current, ...others].map(({ id, rowKey }) => [id, rowKey]));
  const nameKeys = new Map([current, ...others].map(({ id, nameKey }) => [id, nameKey]));
  const signWith = (id: string, key: KeyObject, table: string, text: string) =>
    `${id}.${macOf(key, table, text).toString('hex')}`;
  const said = new LRUCache<string, true>({ max: maxSaid });
  const notBelieved = (table: TableWithMacs, name: string, reason: string): void => {
    observer?.rowNotBelieved(table);
    const subject = `${table} ${name}`;
    if (!said.has(subject)) logger.error({ table, row: name }, `a row of Postgres is not believed: ${reason}`);
    said.set(subject, true);
  };
  return {
    secretIds: [...keys.keys()],
    sign: (table, text) => signWith(current.id, current.rowKey, table, text),
    signUnderEach: (table, text) => [...keys].map(([id, key]) => signWith(id, key, table, text)),
    encrypt: (text) => `${current.id}.${encryptBytes(current.nameKey, Buffer.from(text)).toString('base64url')}`,
    decrypt: (encrypted) => {
      const [id = '', content = ''] = encrypted.split('.');
      const key = nameKeys.get(id);
      return key && decryptBytes(key, Buffer.from(content, 'base64url'))?.toString('utf8');
    },
    contradicted: ({ table, name }) => notBelieved(table, name, 'the log does not have the event that it stands for'),
    verifies: ({ table, name, text, mac }) => {
      const [id = '', hex = ''] = mac?.split('.') ?? [];
      const key = keys.get(id);
      if (key && isSame(Buffer.from(hex, 'hex'), macOf(key, table, text))) {
        if (said.size > 0) said.delete(`${table} ${name}`);
        return true;
      }
      notBelieved(table, name, 'its MAC does not verify');
      return false;
    },
  };
}

/** The MAC covers the table's name, so that no row can be moved to another table. */
const macOf = (key: KeyObject, table: string, text: string): Buffer =>
  createHmac('sha256', key).update(`${table}\n${text}`).digest();

const isSame = (one: Buffer, other: Buffer) => one.length === other.length && timingSafeEqual(one, other);
