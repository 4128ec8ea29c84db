import { Client, type Pool } from 'pg';
import type { Logger } from 'pino';
import { runInBackground } from '../../async/background.ts';
import { sleep } from '../../async/sleep.ts';
import { servicePart, type ServiceParts } from '../../ports/service-parts.ts';
import { endInTime, startPatienceMs } from './pool.ts';
import { beginSession } from './session.ts';

/** The locks of roles that act in one process at a time. The numbers only have to differ from each other. */
const lockIds = { projector: 7_325_002, dispatcher: 7_325_003 } as const;

const retryMs = 1_000;
const checkMs = 5_000;

export type Leadership = ReturnType<typeof leadWhenAlone>;

/**
 * Leads while it holds a Postgres advisory lock on a connection of its own; other processes stand by. A lost connection is
 * noticed late, so two processes may lead for a moment. The lock only avoids double work: the role must be safe without it.
 *
 * @param lead starts the role and returns a function that stops it
 */
export function leadWhenAlone(
  role: keyof typeof lockIds,
  {
    url,
    logger,
    serviceParts,
    lead,
  }: { url: string; logger: Logger; serviceParts?: ServiceParts; lead: () => () => Promise<void> },
) {
  const part = servicePart({ serviceParts, logger }, `the leadership of the ${role}`);
  let leading = false;
  let connectionTimeoutMillis = startPatienceMs;

  const run = async (stopping: AbortSignal): Promise<void> => {
    do {
      const client = new Client({
        connectionString: url,
        connectionTimeoutMillis,
        query_timeout: 3_000,
        keepAlive: true,
        application_name: 'reeltally',
      });
      const lost = new AbortController();
      client.on('error', () => lost.abort());
      try {
        await client.connect();
        await beginSession(client);
        connectionTimeoutMillis = 3_000;
        part.works();
        if (await acquire(client, lockIds[role], stopping)) {
          logger.info({ role }, 'leading');
          leading = true;
          const stop = lead();
          await holdOn(client, AbortSignal.any([stopping, lost.signal])).finally(stop);
          if (lost.signal.aborted) part.failed('the connection', undefined, { server: 'postgres' });
        }
      } catch (error) {
        if (!stopping.aborted) part.failed('the lock', error);
      } finally {
        leading = false;
        await endInTime(client.end());
      }
      await sleep(retryMs, stopping);
    } while (!stopping.aborted);
  };

  const { stop: close } = runInBackground(run);
  return {
    /** True if this process leads now, as far as it knows. */
    get leading() {
      return leading;
    },
    close,
  };
}

/** True if any process leads a role now. */
export async function isLed(pool: Pool, role: keyof typeof lockIds): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from pg_locks
     where locktype = 'advisory' and classid = 0 and objid = $1 and granted
       and database = (select oid from pg_database where datname = current_database())`,
    [lockIds[role]],
  );
  return rowCount !== null && rowCount > 0;
}

async function acquire(client: Client, lockId: number, stopping: AbortSignal): Promise<boolean> {
  while (!stopping.aborted) {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [lockId]);
    if (rows[0]?.held === true) return true;
    await sleep(retryMs, stopping);
  }
  return false;
}

/** Returns when told to stop; throws when the connection, and with it the lock, is gone. */
async function holdOn(client: Client, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await client.query('select 1');
    await sleep(checkMs, signal);
  }
}
