import type { Pool } from 'pg';
import type { ChargeToVoid, PendingVoids } from '../commands/billing-ports.ts';
import type { EventToAppend } from '../commands/ports.ts';

interface Row {
  account_id: string;
  stream: string;
  expected_revision: string;
  events: string;
  voids: ChargeToVoid[];
}

/**
 * Table `pending_voids`. Whoever closes a period's books takes the same lock, says so in `period_closings`, and looks whether
 * anything of the period is pending: of the two, one always sees the other.
 */
export function createPendingVoids(pool: Pool): PendingVoids {
  return {
    add: async ({ accountId, stream, expected, events }, charge) => {
      const client = await pool.connect();
      let failure: Error | undefined;
      try {
        await client.query('begin');
        await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [stream]);
        // A statement of its own, so that it sees what was committed before the lock was taken.
        const { rowCount } = await client.query(
          `insert into pending_voids (append_id, account_id, stream, expected_revision, events, voids)
           select $1, $2, $3, $4, $5, $6 where not exists (select from period_closings where stream = $3)
           on conflict (append_id) do update set voids = pending_voids.voids || excluded.voids`,
          [
            events[0]?.id,
            accountId,
            stream,
            expected === 'no_stream' ? -1 : expected,
            JSON.stringify(events),
            JSON.stringify([charge]),
          ],
        );
        await client.query('commit');
        return rowCount === 1;
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        throw failure;
      } finally {
        // What is left open by a failure ends with its session.
        client.release(failure);
      }
    },
    list: async (limit) => {
      const { rows } = await pool.query<Row>(
        `select account_id, stream, expected_revision, events, voids
         from pending_voids order by created_at, append_id limit $1`,
        [limit],
      );
      return rows.map(({ account_id: accountId, stream, expected_revision: revision, events, voids }) => ({
        append: {
          accountId,
          stream,
          expected: Number(revision) < 0 ? 'no_stream' : Number(revision),
          events: JSON.parse(events) as EventToAppend[],
        },
        voids,
      }));
    },
    remove: async ({ append, voids }) => {
      await pool.query('delete from pending_voids where append_id = $1 and voids = $2', [
        append.events[0]?.id,
        JSON.stringify(voids),
      ]);
    },
  };
}

/** Promises that were not kept yet, and how long ago the oldest was made; 0 if there is none. */
export async function measurePendingVoids(pool: Pool): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await pool.query<{ count: number; oldest_seconds: number }>(
    `select count(*)::float8 as count,
            coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as oldest_seconds
     from pending_voids`,
  );
  const [row] = rows;
  return { count: row?.count ?? 0, oldestSeconds: Math.max(0, row?.oldest_seconds ?? 0) };
}
