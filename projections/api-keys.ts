import type { Pool, PoolClient } from 'pg';
import { until } from '../src/async/until.ts';
import type { AccountEvent } from '../src/domain/account-events.ts';
import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import { parseAccountEvent, type ParsedEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { insertRows, upsertRows } from './write-rows.ts';

/**
 * The read model that admits requests: tables `api_keys`, `hourly_limits` and `api_key_window`. A key is issued or revoked as
 * soon as the transaction here has committed, because no process keeps a copy.
 */
export const apiKeys: RebuildableProjection = {
  name: 'api_keys',
  tables: ['api_keys', 'hourly_limits', 'account_heads'],
  // The windows themselves are stored nowhere else.
  corrected: {
    name: 'api_key_window',
    key: 'hash',
    columns: ['key_id', 'account_id', 'hourly_limit', 'revoked', 'mac'],
  },
  signedTables: { api_key_window: 'mac' },
  secretColumns: { api_keys: 'label' },
  streamPrefixes: ['account-', 'usage-'],
  start:
    ({ macs }) =>
    async (events, client) => {
      const limits = new Map<string, number>();
      const accountEvents: ParsedEvent<AccountEvent>[] = [];
      for (const recorded of events) {
        if (recorded.stream.startsWith('account-')) accountEvents.push(parseAccountEvent(recorded));
        else {
          const { event, stream } = parseUsageEvent(recorded);
          const isNow = event.type === 'PlanChanged' && event.data.effective === 'now';
          if (event.type === 'UsagePeriodOpened' || isNow) {
            limits.set(periodOfUsageStream(stream).accountId, event.data.terms.hourly_limit);
          }
        }
      }
      for (const { event } of accountEvents) {
        if (event.type !== 'AccountOpened' || limits.has(event.data.account_id)) continue;
        limits.set(event.data.account_id, event.data.terms.hourly_limit);
      }
      await writeHeads(accountEvents, client);
      await markClosed(accountEvents, client);
      await markErased(accountEvents, client);
      const rows = [...limits].map(([account_id, hourly_limit]) => ({ account_id, hourly_limit }));
      await upsertRows(client, 'hourly_limits', { key: ['account_id'], rows });
      await writeKeys(accountEvents, { client, macs });
      await writeWindows(accountEvents, limits, { client, macs });
    },
};

/** The newest revision and hash of each account's stream, which the audit compares with the log. */
async function writeHeads(events: readonly ParsedEvent<AccountEvent>[], client: PoolClient): Promise<void> {
  const heads = new Map(
    events.map(({ event, revision, metadata }) => [
      event.data.account_id,
      { account_id: event.data.account_id, revision, last_hash: metadata.hash },
    ]),
  );
  await upsertRows(client, 'account_heads', { key: ['account_id'], rows: [...heads.values()] });
}

async function markClosed(events: readonly ParsedEvent<AccountEvent>[], client: PoolClient): Promise<void> {
  const closed = events.flatMap(({ event }) => (event.type === 'AccountClosed' ? [event.data.account_id] : []));
  if (closed.length === 0) return;
  await client.query('update account_heads set closed = true where account_id = any($1)', [closed]);
}

async function markErased(events: readonly ParsedEvent<AccountEvent>[], client: PoolClient): Promise<void> {
  const erased = events.flatMap(({ event: { type, data }, metadata }) =>
    type === 'AccountErased' ? [{ ...data, erased_at: metadata.time }] : [],
  );
  if (erased.length === 0) return;
  await client.query(
    `update account_heads h set erased_at = e.erased_at, documents_until = e.documents_until
     from jsonb_populate_recordset(null::account_heads, $1) e where h.account_id = e.account_id`,
    [JSON.stringify(erased)],
  );
}

/** The content that the MAC of a row of `api_key_window` covers: the key and its account. @param hash of the row, a UUID */
export const keyText = (hash: string, { keyId, accountId }: { keyId: string; accountId: string }): string =>
  JSON.stringify([hash, keyId, accountId]);

type KeyIssued = Extract<AccountEvent, { type: 'ApiKeyIssued' }>['data'];

const signKey = ({ key_hash: keyHash, key_id: keyId, account_id: accountId }: KeyIssued, macs: RowMacs): string =>
  macs.sign('api_key_window', keyText(uuidOfKeyHash(keyHash), { keyId, accountId }));

/** The first 128 bits of a key's hash, in Postgres's form of a uuid. */
export function uuidOfKeyHash(keyHash: string): string {
  return [
    keyHash.slice(0, 8),
    keyHash.slice(8, 12),
    keyHash.slice(12, 16),
    keyHash.slice(16, 20),
    keyHash.slice(20, 32),
  ].join('-');
}

/** Those of the keys that admit nobody now. @param keyHashes SHA-256, hexadecimal */
export async function listKeysNotInForce(client: Queryable, keyHashes: readonly string[]): Promise<Set<string>> {
  const { rows } = await client.query<{ key_hash: string }>(
    // As for jobs that are waited for: an array of thousands would cost more.
    `select key_hash from unnest(string_to_array($1, ',')) key_hash
     where not exists (select from api_key_window where hash = left(key_hash, 32)::uuid and not revoked)`,
    [keyHashes.join()],
  );
  return new Set(rows.map(({ key_hash: keyHash }) => keyHash));
}

export interface ApiKeyRow {
  key_id: string;
  account_id: string;
  key_prefix: string;
  label: string;
  /** Instants are UTC ISO-8601. */
  created_at: string;
  revoked_at: string | null;
}

/** Decrypts the labels of rows, which Postgres and its backups have only in that form. */
export type LabelReader = Pick<RowMacs, 'decrypt'>;

/** @param macs null stays null. A row of an older version has its label in the clear. */
export const withLabel = <Row extends { label: string | null }>(row: Row, macs: LabelReader): Row => ({
  ...row,
  label: row.label && (macs.decrypt(row.label) ?? row.label),
});

export async function listApiKeys(
  client: Queryable,
  { accountId, macs }: { accountId: string; macs: LabelReader },
): Promise<ApiKeyRow[]> {
  const { rows } = await client.query<ApiKeyRow>(
    `select key_id, account_id, key_prefix, label, created_at, revoked_at
     from api_keys where account_id = $1 order by created_at, key_id`,
    [accountId],
  );
  return rows.map((row) => withLabel(row, macs));
}

/** A key of an account; undefined for another one. */
export async function readApiKey(
  client: Queryable,
  { accountId, keyId, macs }: { accountId: string; keyId: string; macs: LabelReader },
): Promise<Pick<ApiKeyRow, 'key_prefix' | 'label'> | undefined> {
  const { rows } = await client.query<Pick<ApiKeyRow, 'key_prefix' | 'label'>>(
    'select key_prefix, label from api_keys where key_id = $1 and account_id = $2',
    [keyId, accountId],
  );
  return rows[0] && withLabel(rows[0], macs);
}

/** Accounts in the order of their ids, `limit` at most. @param after an id: only accounts after it */
export async function listAccountIds(
  client: Queryable,
  { after = '', limit }: { after?: string; limit: number },
): Promise<string[]> {
  const { rows } = await client.query<{ account_id: string }>(
    'select account_id from account_heads where account_id > $1 order by account_id limit $2',
    [after, limit],
  );
  return rows.map(({ account_id: accountId }) => accountId);
}

/** Accounts with a key that begins with `text`, in the order of their ids. @param text a prefix of a key, of any length */
export async function listAccountsOfKey(
  client: Queryable,
  text: string,
  { after = '', limit }: { after?: string; limit: number },
): Promise<string[]> {
  const { rows } = await client.query<{ account_id: string }>(
    `select distinct account_id from api_keys
     where (starts_with(key_prefix, $1) or starts_with($1, key_prefix)) and account_id > $2 order by account_id limit $3`,
    [text, after, limit],
  );
  return rows.map(({ account_id: accountId }) => accountId);
}

/** Keys by what is shown of each, its first characters; or the one with a hash. The oldest first. */
export async function findKeys(
  client: Queryable,
  by: { keyPrefix: string } | { keyHash: string },
): Promise<Pick<ApiKeyRow, 'key_id' | 'account_id'>[]> {
  const [column, value] = 'keyHash' in by ? ['key_hash', by.keyHash] : ['key_prefix', by.keyPrefix];
  const { rows } = await client.query<Pick<ApiKeyRow, 'key_id' | 'account_id'>>(
    `select key_id, account_id from api_keys where ${column} = $1 order by created_at, key_id limit 2`,
    [value],
  );
  return rows;
}

const pollMs = 20;

/**
 * Waits until admission sees a key as valid, or as revoked.
 *
 * @returns false when that takes longer than `timeoutMs`
 */
export function waitForKey(
  pool: Pool,
  keyId: string,
  { revoked, timeoutMs }: { revoked: boolean; timeoutMs: number },
): Promise<boolean> {
  const sql = 'select from api_key_window where key_id = $1 and revoked = $2';
  return waitForRow(pool, { text: sql, values: [keyId, revoked] }, timeoutMs);
}

/** Waits until the rows of an account's first period and of the hourly limit of its keys exist. */
export function waitForAccount(pool: Pool, accountId: string, timeoutMs: number): Promise<boolean> {
  const sql = 'select from hourly_limits join credits using (account_id) where account_id = $1';
  return waitForRow(pool, { text: sql, values: [accountId] }, timeoutMs);
}

/** Waits until every process refuses the keys of an account that is closed. */
export function waitForClosing(pool: Pool, accountId: string, timeoutMs: number): Promise<boolean> {
  return waitForRow(
    pool,
    { text: 'select from account_heads where account_id = $1 and closed', values: [accountId] },
    timeoutMs,
  );
}

/** Waits until the read model of admission knows that an account is erased. */
export function waitForErasure(pool: Pool, accountId: string, timeoutMs: number): Promise<boolean> {
  return waitForRow(
    pool,
    { text: 'select from account_heads where account_id = $1 and erased_at is not null', values: [accountId] },
    timeoutMs,
  );
}

/** Waits until an account's keys have the hourly limit of its terms, and its credits row exists. */
export function waitForHourlyLimit(
  pool: Pool,
  accountId: string,
  { hourlyLimit, timeoutMs }: { hourlyLimit: number; timeoutMs: number },
): Promise<boolean> {
  const sql = 'select from hourly_limits join credits using (account_id) where account_id = $1 and hourly_limit = $2';
  return waitForRow(pool, { text: sql, values: [accountId, hourlyLimit] }, timeoutMs);
}

const waitForRow = (pool: Pool, query: { text: string; values: unknown[] }, timeoutMs: number): Promise<boolean> =>
  until(async () => ((await pool.query(query)).rowCount ?? 0) > 0, { limitMs: timeoutMs, pollMs });

async function writeKeys(
  events: readonly ParsedEvent<AccountEvent>[],
  { client, macs }: { client: PoolClient; macs: RowMacs },
): Promise<void> {
  const issued: object[] = [];
  const revoked = new Map<string, string>();
  const closed = new Map<string, string>();
  const erased: string[] = [];
  for (const { event, metadata } of events) {
    if (event.type === 'ApiKeyIssued') {
      const { personal, ...key } = event.data;
      const label = personal?.label ?? '';
      issued.push({ ...key, label: label && macs.encrypt(label), created_at: metadata.time });
    } else if (event.type === 'ApiKeyRevoked') revoked.set(event.data.key_id, metadata.time);
    else if (event.type === 'AccountClosed') closed.set(event.data.account_id, metadata.time);
    else if (event.type === 'AccountErased') erased.push(event.data.account_id);
  }
  await insertRows(client, 'api_keys', issued);
  if (revoked.size > 0) {
    await client.query(
      `update api_keys k set revoked_at = r.revoked_at
       from unnest($1::text[], $2::timestamptz[]) r (key_id, revoked_at) where k.key_id = r.key_id`,
      [[...revoked.keys()], [...revoked.values()]],
    );
  }
  if (closed.size > 0) {
    await client.query(
      `update api_keys k set revoked_at = c.closed_at
       from unnest($1::text[], $2::timestamptz[]) c (account_id, closed_at)
       where k.account_id = c.account_id and k.revoked_at is null`,
      [[...closed.keys()], [...closed.values()]],
    );
  }
  if (erased.length > 0) await client.query("update api_keys set label = '' where account_id = any($1)", [erased]);
}

/**
 * Comes last in its transaction and in the order of the hash, because admission locks these rows too: it holds them as shortly as
 * possible and cannot deadlock. The windows themselves belong to admission and are never written here.
 */
async function writeWindows(
  events: readonly ParsedEvent<AccountEvent>[],
  limits: ReadonlyMap<string, number>,
  { client, macs }: { client: PoolClient; macs: RowMacs },
): Promise<void> {
  const issued = events.flatMap(({ event }) =>
    event.type === 'ApiKeyIssued' ? [{ keyId: event.data.key_id, mac: signKey(event.data, macs) }] : [],
  );
  const revoked = events.flatMap(({ event }) => (event.type === 'ApiKeyRevoked' ? [event.data.key_id] : []));
  const closed = events.flatMap(({ event }) => (event.type === 'AccountClosed' ? [event.data.account_id] : []));
  if (issued.length === 0 && revoked.length === 0 && closed.length === 0 && limits.size === 0) return;
  await client.query(
    `with locked as materialized (
       select hash from api_key_window
       where key_id = any($2) or account_id = any($3) or account_id = any($5) order by hash for update
     ), changed as (
       update api_key_window w
       set revoked = w.revoked or w.key_id = any($2) or w.account_id = any($5),
           hourly_limit = (select l.hourly_limit from hourly_limits l where l.account_id = w.account_id)
       from locked where w.hash = locked.hash
     )
     insert into api_key_window (hash, key_id, account_id, hourly_limit, revoked, mac)
     select left(k.key_hash, 32)::uuid, k.key_id, k.account_id, l.hourly_limit, k.revoked_at is not null, i.mac
     from unnest($1::text[], $4::text[]) i (key_id, mac)
     join api_keys k using (key_id) join hourly_limits l using (account_id) order by 1`,
    [issued.map(({ keyId }) => keyId), revoked, [...limits.keys()], issued.map(({ mac }) => mac), closed],
  );
}
