import type { Pool, PoolClient } from 'pg';
import { withDeadline } from '../../async/deadline.ts';
import { NotOnStandby } from '../../ports/standby.ts';
import { inOwnSession } from './own-session.ts';

/**
 * Runs a transaction for what Postgres alone has and nobody may lose: it is committed once a standby has stored it too. Postgres
 * waits for the standbys of its setting `synchronous_standby_names`; without one, this is a usual transaction.
 *
 * @throws {NotOnStandby} if the standby is too slow or away: the primary has stored it all the same
 */
export type StoreOnStandby = <Result>(work: (client: PoolClient) => Promise<Result>) => Promise<Result>;

/** Within the time that a request has for its pending void. */
const waitMs = 2_000;

interface Dependencies {
  /** Its connections are held while they wait, so nothing else uses it. */
  waiting: Pool;
  /** Cancels commits that have waited for too long. */
  cancelling: Pool;
}

export const createStoreOnStandby =
  ({ waiting, cancelling }: Dependencies): StoreOnStandby =>
  (work) =>
    inOwnSession(waiting, 'begin', work, (client) => commit(client, cancelling));

/** Tells whether Postgres waits for a standby, and none is connected. Administrators alone may see which one it is. */
export async function isStandbyMissing(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ is_missing: boolean }>(
    `select current_setting('synchronous_standby_names') <> '' and not exists (select from pg_stat_replication) as is_missing`,
  );
  return rows[0]?.is_missing === true;
}

/** Tells whether every commit of this user waits for a standby, and not only those that `StoreOnStandby` makes. */
export async function everyCommitWaits(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `select current_setting('synchronous_standby_names') <> ''
       and current_setting('synchronous_commit') not in ('local', 'off') as waits`,
  );
  return rows[0]?.waits === true;
}

/**
 * A commit that waits is stored already. Nothing but a cancellation ends its wait: `statement_timeout` does not count there, and
 * the server does not notice that its client is gone. Then Postgres warns, and calls the commit a success. So the warning is the
 * failure here, and must come whatever the session wants to hear.
 */
async function commit(client: PoolClient, cancelling: Pool): Promise<void> {
  // The message is there to be written: Postgres does not wait for a transaction that has written nothing, as when somebody repeats
  // a change that the primary has and the standby lacks.
  const { rows } = await client.query<{ pid: number }>(
    `select pg_backend_pid() as pid, pg_logical_emit_message(true, 'reeltally', ''),
            set_config('synchronous_commit', 'on', true), set_config('client_min_messages', 'warning', true)`,
  );
  let warning: string | undefined;
  const listen = ({ message }: { message?: string | undefined }) => void (warning = message);
  client.on('notice', listen);
  try {
    const committing = client.query('commit');
    const isInTime = await withDeadline(
      committing.then(() => true),
      waitMs,
      () => false,
    );
    if (!isInTime) {
      await cancelling.query('select pg_cancel_backend($1)', [rows[0]?.pid]);
      await committing;
      // Also if the commit came just before: the connection ends with the error, and nobody else's statement is cancelled.
      throw new NotOnStandby(warning ?? 'too late');
    }
  } finally {
    client.off('notice', listen);
  }
  if (warning !== undefined) throw new NotOnStandby(warning);
}
