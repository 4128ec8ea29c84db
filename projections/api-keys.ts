import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import type { RowMacs } from '../src/ports/row-macs.ts';
import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import type { AccountEvent } from '../src/domain/account-events.ts';
import { parseAccountEvent, parseUsageEvent } from '../src/domain/recorded-event.ts';
import type { ParsedEvent } from '../src/domain/recorded-event.ts';
import type { RebuildableProjection } from './runner/projection.ts';

/**
 * The read model that lets requests in: tables `api_keys`, `hourly_limits` and `api_key_window`. A key is valid, and a
 * revoked one is not, as soon as the transaction here has committed: no process keeps a copy.
 */
export const apiKeys: RebuildableProjection = {
  name: 'api_keys',
  tables: ['api_keys', 'hourly_limits', 'account_heads'],
  // The windows themselves are nowhere but there.
  corrected: {
    name: 'api_key_window',
    key: 'hash',
    columns: ['key_id', 'account_id', 'hourly_limit', 'revoked', 'mac'],
  },
  signedTables: ['api_key_window'],
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
      await writeLimits(limits, client);
      await writeKeys(accountEvents, client);
      await writeWindows(accountEvents, limits, { client, macs });
    },
};

/** Where each account's stream stands: the audit compares it with the log. */
async function writeHeads(events: readonly ParsedEvent<AccountEvent>[], client: PoolClient): Promise<void> {
  const heads = new Map(
    events.map(({ event, revision, metadata }) => [
      event.data.account_id,
      { account_id: event.data.account_id, revision, last_hash: metadata.hash },
    ]),
  );
  if (heads.size === 0) return;
  await client.query(
    `insert into account_heads select * from json_populate_recordset(null::account_heads, $1::json)
     on conflict (account_id) do update set revision = excluded.revision, last_hash = excluded.last_hash`,
    [JSON.stringify([...heads.values()])],
  );
}

/** Whose a key is: what the MAC of a row of `api_key_window` is made over. @param hash as the row has it, a UUID */
export const keyText = (hash: string, { keyId, accountId }: { keyId: string; accountId: string }): string =>
  JSON.stringify([hash, keyId, accountId]);

type KeyIssued = Extract<AccountEvent, { type: 'ApiKeyIssued' }>['data'];

const signKey = ({ key_hash: keyHash, key_id: keyId, account_id: accountId }: KeyIssued, macs: RowMacs): string =>
  macs.sign('api_key_window', keyText(uuidOfKeyHash(keyHash), { keyId, accountId }));

/** The first 128 bits of a key's hash, as Postgres writes a uuid. */
export function uuidOfKeyHash(keyHash: string): string {
  return [
    keyHash.slice(0, 8),
    keyHash.slice(8, 12),
    keyHash.slice(12, 16),
    keyHash.slice(16, 20),
    keyHash.slice(20, 32),
  ].join('-');
}

export interface ApiKeyRow {
  key_id: string;
  account_id: string;
  key_prefix: string;
  label: string;
  created_at: Date;
  revoked_at: Date | null;
}

export async function listApiKeys(client: Pick<PoolClient, 'query'>, accountId: string): Promise<ApiKeyRow[]> {
  const { rows } = await client.query<ApiKeyRow>(
    `select key_id, account_id, key_prefix, label, created_at, revoked_at
     from api_keys where account_id = $1 order by created_at, key_id`,
    [accountId],
  );
  return rows;
}

/** Accounts by their ids, so many at most. @param after an id: only those behind it */
export async function listAccountIds(
  client: Pick<PoolClient, 'query'>,
  { after = '', limit }: { after?: string; limit: number },
): Promise<string[]> {
  const { rows } = await client.query<{ account_id: string }>(
    'select account_id from account_heads where account_id > $1 order by account_id limit $2',
    [after, limit],
  );
  return rows.map(({ account_id: accountId }) => accountId);
}

/** Whose keys begin so, in the order of their ids. @param text a prefix as `keys list` shows it, or more or less of a key */
export async function listAccountsOfKey(
  client: Pick<PoolClient, 'query'>,
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

const lookAgainMs = 20;

/**
 * Waits until admission sees a key as it should be: valid, or revoked.
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

/** Waits until an account's first period is there, and the hourly limit of its keys. */
export function waitForAccount(pool: Pool, accountId: string, timeoutMs: number): Promise<boolean> {
  const sql = 'select from hourly_limits join credits using (account_id) where account_id = $1';
  return waitForRow(pool, { text: sql, values: [accountId] }, timeoutMs);
}

/** Waits until an account's keys have the hourly limit that its terms give them, and their credits row is there. */
export function waitForHourlyLimit(
  pool: Pool,
  accountId: string,
  { hourlyLimit, timeoutMs }: { hourlyLimit: number; timeoutMs: number },
): Promise<boolean> {
  const sql = 'select from hourly_limits join credits using (account_id) where account_id = $1 and hourly_limit = $2';
  return waitForRow(pool, { text: sql, values: [accountId, hourlyLimit] }, timeoutMs);
}

async function waitForRow(pool: Pool, query: { text: string; values: unknown[] }, timeoutMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  while (performance.now() < deadlineMs) {
    const { rowCount } = await pool.query(query);
    if (rowCount !== null && rowCount > 0) return true;
    await sleep(lookAgainMs);
  }
  return false;
}

async function writeLimits(limits: ReadonlyMap<string, number>, client: PoolClient): Promise<void> {
  if (limits.size === 0) return;
  await client.query(
    `insert into hourly_limits select * from unnest($1::text[], $2::int[])
     on conflict (account_id) do update set hourly_limit = excluded.hourly_limit`,
    [[...limits.keys()], [...limits.values()]],
  );
}

async function writeKeys(events: readonly ParsedEvent<AccountEvent>[], client: PoolClient): Promise<void> {
  const issued: object[] = [];
  const revoked = new Map<string, string>();
  for (const { event, metadata } of events) {
    if (event.type === 'ApiKeyIssued') {
      const { personal, ...key } = event.data;
      issued.push({ ...key, label: personal.label, created_at: metadata.time });
    } else if (event.type === 'ApiKeyRevoked') revoked.set(event.data.key_id, metadata.time);
  }
  if (issued.length > 0) {
    await client.query('insert into api_keys select * from jsonb_populate_recordset(null::api_keys, $1)', [
      JSON.stringify(issued),
    ]);
  }
  if (revoked.size > 0) {
    await client.query(
      `update api_keys k set revoked_at = r.revoked_at
       from unnest($1::text[], $2::timestamptz[]) r (key_id, revoked_at) where k.key_id = r.key_id`,
      [[...revoked.keys()], [...revoked.values()]],
    );
  }
}

/**
 * Last in its transaction, and in the order of the hash, as admission locks these rows too: it holds them for as short as
 * can be and cannot wait in a circle. The windows themselves belong to admission and are never written here.
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
  if (issued.length === 0 && revoked.length === 0 && limits.size === 0) return;
  await client.query(
    `with locked as materialized (
       select hash from api_key_window
       where key_id = any($2) or account_id = any($3) order by hash for update
     ), changed as (
       update api_key_window w
       set revoked = w.revoked or w.key_id = any($2),
           hourly_limit = (select l.hourly_limit from hourly_limits l where l.account_id = w.account_id)
       from locked where w.hash = locked.hash
     )
     insert into api_key_window (hash, key_id, account_id, hourly_limit, revoked, mac)
     select left(k.key_hash, 32)::uuid, k.key_id, k.account_id, l.hourly_limit, k.revoked_at is not null, i.mac
     from unnest($1::text[], $4::text[]) i (key_id, mac)
     join api_keys k using (key_id) join hourly_limits l using (account_id) order by 1`,
    [issued.map(({ keyId }) => keyId), revoked, [...limits.keys()], issued.map(({ mac }) => mac)],
  );
}
