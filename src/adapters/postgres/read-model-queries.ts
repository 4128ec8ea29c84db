import { DatabaseError } from 'pg';
import type { Pool } from 'pg';
import { inOwnSession } from './own-session.ts';

/** The type of a row (`null::credits`) locks no table: a rebuild may replace it while the query waits for the table itself. */
const isOfReplacedTable = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === 'XX000' && error.message.startsWith('could not open relation');

type Query = (sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** The audit's queries: one by one, or several as of one instant. */
export function createReadModelQueries(pool: Pool): {
  query: Query;
  snapshot: <Result>(tables: readonly string[], work: (query: Query) => Promise<Result>) => Promise<Result>;
} {
  const queryOf =
    (client: Pick<Pool, 'query'>): Query =>
    async (sql, values) =>
      (await client.query<Record<string, unknown>>(sql, values)).rows;
  return {
    // The names stand for the new tables then.
    query: (sql, values) =>
      queryOf(pool)(sql, values).catch((error: unknown) => {
        if (!isOfReplacedTable(error)) throw error;
        return queryOf(pool)(sql, values);
      }),
    snapshot: (tables, work) =>
      inOwnSession(pool, 'begin isolation level repeatable read read only', async (client) => {
        // Before the instant is taken: the rows of a table that replaces one of them later would be those of after it, and unseen.
        if (tables.length > 0) await client.query(`lock table ${tables.join(', ')} in access share mode`);
        // A refused query must not end the transaction.
        return await work(async (sql, values) => {
          await client.query('savepoint query');
          return queryOf(client)(sql, values).catch(async (error: unknown) => {
            await client.query('rollback to savepoint query');
            throw error;
          });
        });
      }),
  };
}
