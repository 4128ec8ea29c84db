import type { Pool, PoolClient } from 'pg';

/** Runs work in a transaction, on a connection of the pool. A failure ends the session, and with it what the transaction left open. */
export async function inOwnSession<Result>(
  pool: Pool,
  begin: string,
  work: (client: PoolClient) => Promise<Result>,
  commit: (client: PoolClient) => Promise<unknown> = (client) => client.query('commit'),
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await work(client);
    await commit(client);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
