import type { Pool } from 'pg';
import type { Queryable } from '../runner/rows.ts';
import { pagesInSnapshot } from '../runner/transaction.ts';

interface Select {
  text: string;
  values: readonly unknown[];
  rowsAtOnce: number;
}

/**
 * The rows of a select, some at a time: as of one instant, and in constant memory. It holds a connection and a transaction of
 * Postgres until it ends, or is left.
 *
 * @param gone aborted once nobody wants the rows: a statement that is under way ends at once, by another connection of the pool
 */
export async function* readByCursor<Row extends object>(
  pool: Pool,
  { text, values, rowsAtOnce }: Select,
  gone: AbortSignal,
): AsyncGenerator<Row[]> {
  yield* pagesInSnapshot(pool, async function* (client) {
    let cancelled: Promise<void> | undefined;
    try {
      const processId = await processIdOf(client);
      const cancel = () => void (cancelled = cancelStatement(pool, processId));
      gone.addEventListener('abort', cancel, { once: true });
      gone.throwIfAborted();
      await client.query(`declare rows no scroll cursor for ${text}`, [...values]);
      for (;;) {
        const { rows } = await client.query<Row>(`fetch ${String(rowsAtOnce)} from rows`);
        if (rows.length > 0) yield rows;
        if (rows.length < rowsAtOnce) break;
      }
    } finally {
      // It must not meet the next statement of this connection.
      await cancelled;
    }
  });
}

async function processIdOf(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ process_id: number }>('select pg_backend_pid() as process_id');
  return rows[0]?.process_id ?? 0;
}

/** Where that cannot be done, the statement ends by its time limit. */
async function cancelStatement(pool: Pool, processId: number): Promise<void> {
  await pool.query('select pg_cancel_backend($1)', [processId]).catch(() => undefined);
}
