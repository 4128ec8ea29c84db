import type { Pool, PoolClient } from 'pg';
import { isPostgresAway } from '../../src/ports/service-parts.ts';
import type { Queryable } from './rows.ts';

/** Runs work in a transaction of this connection: commits when the work fulfils, and rolls back when it throws. */
export async function inTransaction<Result>(client: PoolClient, work: () => Promise<Result>): Promise<Result> {
  const ended = await runTransaction(client, work);
  if ('error' in ended) throw ended.error;
  return ended.result;
}

/** As `inTransaction`, on a connection of the pool. One that is broken, or whose server takes no changes, is not given to others. */
export async function inPoolTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
  begin = 'begin',
): Promise<Result> {
  const client = await pool.connect();
  const ended = await runTransaction(client, () => work(client), begin);
  client.release('error' in ended && (!ended.isRolledBack || isPostgresAway(ended.error)));
  if ('error' in ended) throw ended.error;
  return ended.result;
}

const beginSnapshot = 'begin transaction isolation level repeatable read, read only';

/** Runs queries that see the tables as of one instant, so that sums agree with the rows beside them. They write nothing. */
export const inSnapshot = <Result>(pool: Pool, read: (client: Queryable) => Promise<Result>): Promise<Result> =>
  inPoolTransaction(pool, read, beginSnapshot);

/** The same for rows that come page by page. It holds a connection and a transaction of Postgres until it ends, or is left. */
export async function* pagesInSnapshot<Row>(
  pool: Pool,
  pages: (client: Queryable) => AsyncGenerator<Row>,
): AsyncGenerator<Row> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query(beginSnapshot);
    yield* pages(client);
  } finally {
    await client.query('rollback').then(
      () => (isBroken = false),
      () => undefined,
    );
    client.release(isBroken);
  }
}

async function runTransaction<Result>(
  client: PoolClient,
  work: () => Promise<Result>,
  begin = 'begin',
): Promise<{ result: Result } | { error: unknown; isRolledBack: boolean }> {
  try {
    await client.query(begin);
    const result = await work();
    await client.query('commit');
    return { result };
  } catch (error) {
    const isRolledBack = await client.query('rollback').then(
      () => true,
      () => false,
    );
    return { error, isRolledBack };
  }
}
