import { DatabaseError, type Pool } from 'pg';
import { inOwnSession } from './own-session.ts';

/**
 * The type of a row (`null::credits`) locks no table: a rebuild may replace it while the query waits. Postgres calls that a lost
 * relation or type (class XX) or an unfit one (class 42), depending on how far the query has come.
 */
const isOfReplacedTable = (error: unknown): boolean =>
  error instanceof DatabaseError && /^(?:XX|42)/.test(error.code ?? '');

type Query = (sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** The audit's queries: one by one, or several as of one instant. */
export function createReadModelQueries(pool: Pool) {
  const queryOf =
    (client: Pick<Pool, 'query'>): Query =>
    async (sql, values) =>
      (await client.query<Record<string, unknown>>(sql, values)).rows;
  return {
    // The names stand for the new tables then. An error of another cause comes again.
    query: (...query: Parameters<Query>) =>
      queryOf(pool)(...query).catch((error: unknown) => {
        if (!isOfReplacedTable(error)) throw error;
        return queryOf(pool)(...query);
      }),
    snapshot: <Result>(tables: readonly string[], work: (query: Query) => Promise<Result>) =>
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
