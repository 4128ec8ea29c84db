import type { Pool } from 'pg';
import type { SessionAdmission } from '../../ports/console-sessions.ts';
import { inOwnSession } from './own-session.ts';

/** Table `session_windows`. Requests with a session are rare, so that each may lock its account's row for two statements. */
export async function admitSession(pool: Pool, accountId: string, hourlyLimit: number): Promise<SessionAdmission> {
  return await inOwnSession(pool, 'begin', async (client) => {
    await client.query("insert into session_windows values ($1, '{}') on conflict do nothing", [accountId]);
    await client.query('select from session_windows where account_id = $1 for update', [accountId]);
    // A statement of its own: its clock is read after the lock.
    const { rows } = await client.query<{ is_admitted: boolean; admitted: Date[] }>(
      `with kept as (
         select coalesce(array_agg(instant order by instant), '{}') as instants
         from session_windows, unnest(admitted) instant
         where account_id = $1 and instant > clock_timestamp() - interval '1 hour'
       )
       update session_windows set admitted = case when cardinality(instants) < $2 then instants || clock_timestamp() else instants end
       from kept where account_id = $1 returning cardinality(instants) < $2 as is_admitted, admitted`,
      [accountId, hourlyLimit],
    );
    const [row] = rows;
    if (!row) throw new Error(`the window of ${accountId} is gone`);
    return {
      isAdmitted: row.is_admitted,
      counted: row.admitted.length,
      oldestMs: row.admitted[0]?.getTime() ?? 0,
    };
  });
}
