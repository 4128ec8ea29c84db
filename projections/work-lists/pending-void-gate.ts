import type { Pool } from 'pg';
import type { Queryable } from '../runner/rows.ts';
import { inPoolTransaction } from '../runner/transaction.ts';

/**
 * The gate between the closing of a period and the pending voids of its charges. Either side takes the lock of the period's
 * stream, and then looks for what the other one leaves: a row in `pending_voids`, or one in `period_closings`. So one of the two
 * always sees the other, and no client is told "not charged" about a charge that can no longer be given back.
 */

/** Until the end of the transaction. What follows is a statement of its own, which sees all that was committed before. */
export async function lockGate(client: Queryable, stream: string): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [stream]);
}

/** A condition in SQL. @param stream in SQL: the name of the period's stream */
export const isNotClosingSql = (stream: string): string =>
  `not exists (select from period_closings where stream = ${stream})`;

/**
 * After its success no charge of the stream can become a pending void.
 *
 * @returns false, with nothing changed, while a pending void names the stream
 */
export async function beginClosing(pool: Pool, stream: string): Promise<boolean> {
  return inPoolTransaction(pool, async (client) => {
    await lockGate(client, stream);
    const { rowCount: pending } = await client.query('select from pending_voids where stream = $1 limit 1', [stream]);
    if (pending !== 0) return false;
    await client.query('insert into period_closings (stream) values ($1) on conflict do nothing', [stream]);
    return true;
  });
}
