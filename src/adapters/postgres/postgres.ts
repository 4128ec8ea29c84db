import { readFile, readdir } from 'node:fs/promises';
import { Pool } from 'pg';
import type { PoolClient, PoolConfig } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import { outageOf } from '../../ports/outage.ts';
import type { Outages } from '../../ports/outage.ts';
import { sleep } from '../../async/sleep.ts';
import { withDeadline } from '../../async/deadline.ts';

interface PoolOptions {
  logger: Logger;
  outages?: Outages;
  /** The pool's purpose, for a process that has several. */
  name?: string;
  max: number;
  options?: string;
  queryTimeoutMs: number;
  connectionTimeoutMs?: number;
}

/**
 * A pool that never ends the process: errors of idle connections are logged, and a server that is away or silent makes the
 * current query fail.
 */
export function openPool(url: string, { logger, outages, name = 'Postgres', ...config }: PoolOptions): Pool {
  const { queryTimeoutMs, connectionTimeoutMs = 3_000, ...rest } = config;
  const settings: PoolConfig = {
    connectionString: url,
    connectionTimeoutMillis: connectionTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    application_name: 'reeltally',
    ...rest,
  };
  const pool = new Pool(settings);
  const outage = outageOf({ outages, logger }, name);
  // Without a listener, losing a connection in use would end the process; its query fails anyway.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    outage.works();
  });
  pool.on('error', (error) => {
    // Errors of the last connections may follow the pool's end. Only the text is logged, since the error refers to the client.
    if (!pool.ending) outage.failed('an idle connection', undefined, { reason: error.message });
  });
  return pool;
}

const endLimitMs = 1_000;

/** Waits for the end of a pool or a connection, but not for a silent server. */
export async function endInTime(ended: Promise<void>): Promise<void> {
  await withDeadline(ended, endLimitMs, () => undefined).catch(() => undefined);
}

/** Runs work in a transaction. A failure ends the session, and with it what the transaction left open. */
export async function inTransaction<Result>(
  pool: Pool,
  begin: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Keeps two processes from migrating at once. Any number will do that other programs do not use. */
const migrationLock = 7_325_001;

/** Applies the numbered migrations, each once, in order, and in a transaction of its own. @returns the newly applied ones */
export async function migrate(pool: Pool, directory: string): Promise<string[]> {
  const files = (await readdir(directory)).filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name)).sort();
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    await client.query(
      'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())',
    );
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations');
    const applied = new Set(rows.map(({ name }) => name));
    for (const { name } of rows) {
      if (!files.includes(name))
        throw new Error(`the database has migration ${name}, which this version does not know: it is newer`);
    }
    const fresh = files.filter((name) => !applied.has(name));
    for (const name of fresh) {
      await client.query('begin');
      await client.query(await readFile(`${directory}/${name}`, 'utf8'));
      await client.query('insert into schema_migrations (name) values ($1)', [name]);
      await client.query('commit');
    }
    return fresh;
  } finally {
    // Ends the session, and with it the lock and an open transaction of a failed migration.
    client.release(true);
  }
}

/** Asks Postgres for its time. @throws when it is away */
export async function measureClock(pool: Pool, { measureTime }: Pick<Clock, 'measureTime'>): Promise<void> {
  const told = measureTime();
  const { rows } = await pool.query<{ ms: string }>('select extract(epoch from clock_timestamp()) * 1000 as ms');
  told(Number(rows[0]?.ms));
}

const defaultMeasureEveryMs = 2_000;

/** Measures the clock regularly. While Postgres is away, the time continues from the last measurement. */
export function keepMeasuring(
  pool: Pool,
  clock: Pick<Clock, 'measureTime'>,
  everyMs = defaultMeasureEveryMs,
): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await measureClock(pool, clock).catch(() => undefined);
      await sleep(everyMs, stopping.signal);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

type Query = (sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** The audit's queries: one by one, or several as of one instant. */
export function createReadModelQueries(pool: Pool): {
  query: Query;
  snapshot: <Result>(work: (query: Query) => Promise<Result>) => Promise<Result>;
} {
  const queryOf =
    (client: Pick<Pool, 'query'>): Query =>
    async (sql, values) =>
      (await client.query<Record<string, unknown>>(sql, values)).rows;
  return {
    query: queryOf(pool),
    snapshot: (work) =>
      inTransaction(pool, 'begin isolation level repeatable read read only', (client) =>
        // A refused query must not end the transaction.
        work(async (sql, values) => {
          await client.query('savepoint query');
          return queryOf(client)(sql, values).catch(async (error: unknown) => {
            await client.query('rollback to savepoint query');
            throw error;
          });
        }),
      ),
  };
}
