import type { ClientBase, Pool, PoolClient } from 'pg';
import { PostgresUnusable } from '../../ports/service-parts.ts';

/**
 * What our statements, and the reading of their answers, depend on. A role or a database may have other values (`alter role … set`),
 * so each session states them, whether the server is reached directly or through a pooler, which takes few of them when a
 * connection begins. Decision 55 says for every other setting why it is left to the operator.
 */
export const sessionSettings = {
  // How values are written and read.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  client_encoding: 'UTF8',
  extra_float_digits: '1',
  bytea_output: 'hex',
  // How statements are read.
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  array_nulls: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  // What a transaction sees, and how it may end.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  exit_on_error: 'off',
  gin_fuzzy_search_limit: '0',
  // Our own limits, and no others: a lock is waited for, and a connection may be idle.
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  /** From Postgres 17 on. */
  transaction_timeout: '0',
} as const;

/** Whose value in a new session says that somebody else has used it. */
const mark = 'reeltally.session';

interface SessionOptions {
  /** After which the server gives a statement up; 0: never. */
  statementTimeoutMs?: number;
  /** Further settings. */
  settings?: Readonly<Record<string, string>>;
}

/**
 * Begins the session of a new connection: states its settings, and refuses a server that the service cannot work with.
 *
 * @throws {PostgresUnusable} if the server takes no changes, such as a standby
 */
export async function beginSession(client: ClientBase, options?: SessionOptions): Promise<void> {
  const session = await stateSettings(client, options);
  if (session?.is_used === true) throw new PostgresUnusable(sharedSessions);
  requireWritable(session);
}

/** @returns what the session was before */
export async function stateSettings(
  client: ClientBase,
  { statementTimeoutMs = 0, settings = {} }: SessionOptions = {},
): Promise<(WritableRow & { is_used: boolean }) | undefined> {
  const all = { ...sessionSettings, statement_timeout: String(statementTimeoutMs), ...settings };
  const { rows } = await client.query<WritableRow & { is_used: boolean }>(
    `select coalesce(current_setting('${mark}', true), '') <> '' as is_used, ${writableSql},
       ${Object.entries(all).map(stating).join(', ')}, set_config('${mark}', 'begun', false)`,
  );
  return rows[0];
}

/** Columns that say whether the server takes changes. */
export const writableSql = `pg_is_in_recovery() as is_standby, current_setting('transaction_read_only')::bool as is_read_only`;

export interface WritableRow {
  is_standby: boolean;
  is_read_only: boolean;
}

/** @throws {PostgresUnusable} */
export function requireWritable(row: WritableRow | undefined): void {
  if (row?.is_standby === true) throw new PostgresUnusable('it is a standby, which takes no changes');
  if (row?.is_read_only === true)
    throw new PostgresUnusable('it takes no changes: default_transaction_read_only is on');
}

/** A setting that this version of Postgres does not have is left out. */
const stating = ([name, value]: readonly [string, string]) =>
  `case when current_setting('${name}', true) is not null then set_config('${name}', '${value}', false) end`;

const sharedSessions =
  'the pooler before it lets connections share sessions: it needs pool_mode = session and server_reset_query = DISCARD ALL ' +
  '(docs/operations.md, "A pooler before Postgres")';

const turns = 5;

/**
 * Tries out whether each connection has a process of the server to itself, as every session setting, session lock and named
 * statement needs. Two connections ask in turn: a pooler that gives processes out by transaction or statement gives the second
 * one the process that the first one has just left.
 *
 * @throws {PostgresUnusable}
 */
export async function requireOwnSessions(pool: Pool): Promise<void> {
  const clients: PoolClient[] = [];
  try {
    clients.push(await pool.connect());
    // One after the other: where the second one is refused, the first one is released.
    clients.push(await pool.connect());
    const seen = new Map<number, PoolClient>();
    for (let turn = 0; turn < turns; turn += 1)
      for (const client of clients) {
        const pid = await processOf(client);
        if (!seen.has(pid) && turn === 0) seen.set(pid, client);
        if (seen.get(pid) !== client) throw new PostgresUnusable(sharedSessions);
      }
  } finally {
    for (const client of clients) client.release();
  }
}

async function processOf(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}
