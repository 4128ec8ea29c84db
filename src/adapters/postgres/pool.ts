import { Pool } from 'pg';
import type { PoolConfig } from 'pg';
import type { Logger } from 'pino';
import { outageOf } from '../../ports/outage.ts';
import type { Outages } from '../../ports/outage.ts';
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

const serverPatienceMs = 1_000;

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
    // The server gives up too: else a statement that waits for a lock would keep its connection and its own locks, and each
    // repetition one more. It does so later than the client, whose own error callers know as an outage.
    statement_timeout: queryTimeoutMs + serverPatienceMs,
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
