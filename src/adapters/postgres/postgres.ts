import { readFile, readdir } from 'node:fs/promises';
import { Pool } from 'pg';
import type { PoolConfig } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import { outageOf } from '../../ports/outage.ts';
import type { Outages } from '../../ports/outage.ts';
import { sleep } from '../../async/sleep.ts';
import { withDeadline } from '../../async/deadline.ts';

interface PoolOptions {
  logger: Logger;
  outages?: Outages;
  /** Names the pool's purpose, where a process has several. */
  name?: string;
  max: number;
  options?: string;
  queryTimeoutMs: number;
  connectionTimeoutMs?: number;
}

/**
 * A pool that never ends the process: errors of idle connections are logged, and a server that is away or silent is an error
 * of the query that met it.
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
  // Without it, a connection that is lost while somebody holds it would end the process; the query that met it fails anyway.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    outage.works();
  });
  pool.on('error', (error) => {
    // A pool that has been ended may still hear of its last connections. Only the error's text: it carries the client along.
    if (!pool.ending) outage.failed('an idle connection', undefined, { reason: error.message });
  });
  return pool;
}

const endLimitMs = 1_000;

/** Ends a pool or a connection; a server that says nothing would let that wait for ever. */
export async function endInTime(ended: Promise<void>): Promise<void> {
  await withDeadline(ended, endLimitMs, () => undefined).catch(() => undefined);
}

/** Any number will do, as long as it is this service's own: it keeps two processes from migrating at once. */
const migrationLock = 7_325_001;

/** Brings the schema up to date: each numbered file once, in order, each in its own transaction. @returns those that were new */
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
    // Ends the session, and with it the lock and whatever a failed migration left open.
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

/** Asks again and again; while Postgres is away, the time goes on from its last answer. */
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

type Ask = (sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** Postgres as the audit asks it: one question, or several as of one instant. */
export function createReadModelQueries(pool: Pool): {
  query: Ask;
  snapshot: <Result>(work: (query: Ask) => Promise<Result>) => Promise<Result>;
} {
  const asked =
    (client: Pick<Pool, 'query'>): Ask =>
    async (sql, values) =>
      (await client.query<Record<string, unknown>>(sql, values)).rows;
  return {
    query: asked(pool),
    snapshot: async (work) => {
      const client = await pool.connect();
      let failure: Error | undefined;
      try {
        await client.query('begin isolation level repeatable read read only');
        const ask = asked(client);
        // A question that Postgres refuses does not end the instant.
        const result = await work(async (sql, values) => {
          await client.query('savepoint question');
          return ask(sql, values).catch(async (error: unknown) => {
            await client.query('rollback to savepoint question');
            throw error;
          });
        });
        await client.query('commit');
        return result;
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        throw failure;
      } finally {
        client.release(failure);
      }
    },
  };
}
