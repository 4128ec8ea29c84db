import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { EventStoreUnavailable } from '../../ports/event-store.ts';
import type { PersonalKeyName, PersonalKeys } from '../../ports/personal-keys.ts';
import { decryptBytes, encryptBytes } from '../aes-gcm.ts';
import type { DerivedKeys } from '../derive-keys.ts';
import { createStoreOnStandby } from './store-on-standby.ts';

const keyBytes = 32;
/** A key that was erased is used for so long at most by a process that has it. */
const rememberedMs = 60_000;
const maxRemembered = 10_000;

const textOf = ({ subject, kind }: PersonalKeyName) => `${subject} ${kind}`;

/**
 * Table `personal_keys`, wrapped with a key of the current secret; those of older secrets still unwrap.
 *
 * @param storeOnStandby default: on connections of the same pool
 */
export function createPersonalKeys(
  pool: Pool,
  { current, others }: { current: DerivedKeys; others: readonly DerivedKeys[] },
  storeOnStandby = createStoreOnStandby({ waiting: pool, cancelling: pool }),
): PersonalKeys {
  const wrappingKeys = new Map([current, ...others].map(({ id, wrappingKey }) => [id, wrappingKey]));
  const remembered = new LRUCache<string, Buffer>({ max: maxRemembered, ttl: rememberedMs });
  const wrap = (name: PersonalKeyName, key: Buffer) =>
    `${current.id}.${encryptBytes(current.wrappingKey, key, { context: textOf(name) }).toString('base64url')}`;
  const unwrap = (name: PersonalKeyName, wrapped: string): Buffer => {
    const [id = '', content = ''] = wrapped.split('.');
    const wrapping = wrappingKeys.get(id);
    const key = wrapping && decryptBytes(wrapping, Buffer.from(content, 'base64url'), textOf(name));
    if (!key)
      throw new Error(`the key of ${textOf(name)} in Postgres was not wrapped with a secret of this installation`);
    return key;
  };
  const readRows = async (names: readonly PersonalKeyName[]): Promise<ReadonlyMap<string, Buffer>> => {
    const { rows } = await pool
      .query<PersonalKeyName & { wrapped: string }>(
        `select subject, kind, wrapped from personal_keys
         join unnest($1::text[], $2::text[]) asked (subject, kind) using (subject, kind)`,
        [names.map(({ subject }) => subject), names.map(({ kind }) => kind)],
      )
      .catch(unavailable);
    const found = new Map(rows.map((row) => [textOf(row), unwrap(row, row.wrapped)]));
    for (const [name, key] of found) remembered.set(name, key);
    return found;
  };
  const read: PersonalKeys['read'] = async (names) => {
    const asked = new Map(names.map((name) => [textOf(name), name]));
    const known = new Map([...asked.keys()].map((text) => [text, remembered.get(text)]));
    const unknown = [...asked].flatMap(([text, name]) => (known.get(text) ? [] : [name]));
    // A key that is missing is asked for again: it may come back with a backup.
    const found = unknown.length > 0 ? await readRows(unknown) : undefined;
    return names.map((name) => known.get(textOf(name)) ?? found?.get(textOf(name)));
  };
  return {
    read,
    make: async (name) => {
      const made = wrap(name, randomBytes(keyBytes));
      // Whoever finds a key takes it for safe. So none is made while the standby is away: this transaction writes nothing but waits.
      await storeOnStandby(() => Promise.resolve()).catch(unavailable);
      // Of two processes that make one at the same time, the second one takes that of the first.
      const insert = 'insert into personal_keys (subject, kind, wrapped) values ($1, $2, $3) on conflict do nothing';
      await storeOnStandby((client) => client.query(insert, [name.subject, name.kind, made])).catch(unavailable);
      const key = (await readRows([name])).get(textOf(name));
      if (!key) throw new Error(`the key of ${textOf(name)} was deleted while it was made`);
      return key;
    },
  };
}

/** Without an answer nobody knows whether a key was erased: an event with personal data can no more be read than without the log. */
function unavailable(error: unknown): never {
  throw new EventStoreUnavailable('the keys of personal data in Postgres cannot be read', { cause: error });
}

/**
 * All keys, wrapped, as statements for a database without tables or with them. They add the keys that are not there.
 *
 * @throws if a row is not one that this service has written
 */
export async function personalKeysAsSql(pool: Pool): Promise<string> {
  const { rows } = await pool.query<PersonalKeyName & { wrapped: string }>(
    'select subject, kind, wrapped from personal_keys order by subject, kind',
  );
  const inserts = rows.map(({ subject, kind, wrapped }) => {
    const values = [subject, kind, wrapped];
    if (!values.every((value) => /^[\w.-]+$/.test(value))) throw new Error(`the row of ${subject} is not ours`);
    return `insert into personal_keys values ('${values.join("', '")}') on conflict do nothing;`;
  });
  return [tableSql, ...inserts, ''].join('\n');
}

/** As the migration makes it. */
const tableSql = `create table if not exists personal_keys (
  subject text not null,
  kind text not null check (kind in ('personal', 'documents')),
  wrapped text not null,
  primary key (subject, kind)
);`;
