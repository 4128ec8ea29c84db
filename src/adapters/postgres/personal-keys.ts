import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { EventStoreUnavailable } from '../../ports/event-store.ts';
import type { PersonalKey, PersonalKeyName, PersonalKeys } from '../../ports/personal-keys.ts';
import { decryptBytes, encryptBytes } from '../aes-gcm.ts';
import type { Secrets } from '../derive-keys.ts';
import { createStoreOnStandby } from './store-on-standby.ts';

type Row = PersonalKeyName & { wrapped: string };

const keyBytes = 32;
/** A key that was erased is used for so long at most by a process that has it. */
const rememberedMs = 60_000;
const maxRemembered = 10_000;
const wrappedAtOnce = 1_000;

const textOf = ({ subject, kind }: PersonalKeyName) => `${subject} ${kind}`;

const wrap = ({ current }: Secrets, name: PersonalKeyName, key: Buffer): string =>
  `${current.id}.${encryptBytes(current.wrappingKey, key, { context: textOf(name) }).toString('base64url')}`;

function unwrap({ current, others }: Secrets, { wrapped, ...name }: Row): PersonalKey {
  const [id, content = ''] = wrapped.split('.');
  const secret = [current, ...others].find((known) => known.id === id);
  return (secret && decryptBytes(secret.wrappingKey, Buffer.from(content, 'base64url'), textOf(name))) ?? 'unusable';
}

/**
 * Table `personal_keys`, wrapped with a key of the current secret; those of older secrets still unwrap.
 *
 * @param storeOnStandby default: on connections of the same pool
 */
export function createPersonalKeys(
  pool: Pool,
  secrets: Secrets,
  storeOnStandby = createStoreOnStandby({ waiting: pool, cancelling: pool }),
): PersonalKeys {
  const remembered = new LRUCache<string, Buffer>({ max: maxRemembered, ttl: rememberedMs });
  const readRows = async (names: readonly PersonalKeyName[]): Promise<ReadonlyMap<string, PersonalKey>> => {
    const { rows } = await pool
      .query<Row>(
        `select subject, kind, wrapped from personal_keys
         join unnest($1::text[], $2::text[]) asked (subject, kind) using (subject, kind)`,
        [names.map(({ subject }) => subject), names.map(({ kind }) => kind)],
      )
      .catch(unavailable);
    const found = new Map(rows.map((row) => [textOf(row), unwrap(secrets, row)]));
    for (const [name, key] of found) if (key instanceof Buffer) remembered.set(name, key);
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
      const made = wrap(secrets, name, randomBytes(keyBytes));
      // A key that is found counts as safe, so none is made while the standby is away. This transaction only waits.
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
 * Wraps with the current secret what is wrapped with an older one, so that the older one can be removed.
 *
 * @returns the number of keys that were wrapped anew
 */
export async function wrapWithCurrentSecret(pool: Pool, secrets: Secrets): Promise<number> {
  const older = secrets.others.map(({ id }) => id).filter((id) => id !== secrets.current.id);
  let [count, last] = [0, { subject: '', kind: '' }];
  for (;;) {
    const { rows } = await pool.query<Row>(
      `select subject, kind, wrapped from personal_keys
       where split_part(wrapped, '.', 1) = any($1) and (subject, kind) > ($2, $3)
       order by subject, kind limit $4`,
      [older, last.subject, last.kind, wrappedAtOnce],
    );
    const end = rows.at(-1);
    if (!end) return count;
    const anew = rows.flatMap((row) => {
      const key = unwrap(secrets, row);
      return key === 'unusable' ? [] : [{ ...row, anew: wrap(secrets, row, key) }];
    });
    // Neither a key that was deleted meanwhile comes back, nor one that another process has wrapped anew.
    const { rowCount } = await pool.query(
      `update personal_keys k set wrapped = w.anew
       from jsonb_to_recordset($1) as w (subject text, kind text, wrapped text, anew text)
       where k.subject = w.subject and k.kind = w.kind and k.wrapped = w.wrapped`,
      [JSON.stringify(anew)],
    );
    count += rowCount ?? 0;
    last = end;
  }
}

/** The keys that wait to be wrapped with the current secret: 0 before an older one is removed. */
export async function countOfOtherSecrets(pool: Pool, { current }: Secrets): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from personal_keys where split_part(wrapped, '.', 1) <> $1`,
    [current.id],
  );
  return rows[0]?.count ?? 0;
}

/**
 * All keys, wrapped, as statements for a database without tables or with them. They add the keys that are not there.
 *
 * @throws if a row is not one that this service has written
 */
export async function personalKeysAsSql(pool: Pool): Promise<string> {
  const { rows } = await pool.query<Row>('select subject, kind, wrapped from personal_keys order by subject, kind');
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
