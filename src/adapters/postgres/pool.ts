import { Pool } from 'pg';
import type { Logger } from 'pino';
import { rowTypes } from '../../../projections/runner/rows.ts';
import { withDeadline } from '../../async/deadline.ts';
import { servicePart, type ServiceParts } from '../../ports/service-parts.ts';
import { beginSession } from './session.ts';

export interface PoolOptions {
  logger: Logger;
  serviceParts?: ServiceParts;
  /** The pool's purpose, for a process that has several. */
  name?: string;
  max: number;
  /** Settings of its sessions, beside those that all have. */
  settings?: Readonly<Record<string, string>>;
  queryTimeoutMs: number;
  /** Default: as long as a request waits. */
  connectionTimeoutMs?: number;
}

const serverPatienceMs = 1_000;
/** How long a request waits for a connection. */
const requestPatienceMs = 3_000;
/** How long a start waits for one: a busy machine may take longer to begin it than a request should wait. */
export const startPatienceMs = 10_000;

/** Once a start is over. @param pool that was opened with the patience of a start */
export function waitAsRequestsDo(pool: Pool): void {
  pool.options.connectionTimeoutMillis = requestPatienceMs;
}

/**
 * A pool that never ends the process: errors of idle connections are logged, and a server that is away or silent makes the
 * current query fail.
 */
export function openPool(url: string, { logger, serviceParts, name = 'Postgres', ...config }: PoolOptions): Pool {
  const { queryTimeoutMs, connectionTimeoutMs = requestPatienceMs, settings, max } = config;
  // The server gives up too: else a statement that waits for a lock would keep its connection and its own locks, and each
  // repetition one more. It does so later than the client, whose own error callers know as an outage.
  const session = { statementTimeoutMs: queryTimeoutMs + serverPatienceMs, ...(settings && { settings }) };
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: connectionTimeoutMs,
    // To begin one takes longer than most queries: one that was needed is kept for the next burst of requests.
    idleTimeoutMillis: 60_000,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    application_name: 'reeltally',
    types: rowTypes,
    max,
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- the pool waits for it; only its types do not say so
    onConnect: (client) => beginSession(client, session),
  });
  const part = servicePart({ serviceParts, logger }, name);
  // Without a listener, losing a connection in use would end the process; its query fails anyway.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    part.works();
  });
  pool.on('error', (error) => {
    // Errors of the last connections may follow the pool's end. Only the text is logged, since the error refers to the client.
    if (!pool.ending) part.failed('an idle connection', undefined, { server: 'postgres', reason: error.message });
  });
  return pool;
}

const endLimitMs = 1_000;

/** Waits for the end of a pool or a connection, but not for a silent server. */
export async function endInTime(ended: Promise<void>): Promise<void> {
  await withDeadline(ended, endLimitMs, () => undefined).catch(() => undefined);
}
