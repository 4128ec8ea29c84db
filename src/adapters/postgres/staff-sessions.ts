import type { Pool } from 'pg';
import { sessionLifetimes } from '../../domain/session-lifetimes.ts';
import type { StaffRole } from '../../domain/staff-events.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import type { StaffSessions } from '../../ports/staff-sessions.ts';
import { formTokenOf, hashOfSecret, maxBrowserCharacters, newSecret } from './session-rows.ts';
import { isAliveSql, sessionFinder, type SessionRow } from './session-table.ts';
import type { StoreOnStandby } from './store-on-standby.ts';

/** Table `staff_sessions`. A row without a MAC of this installation is no session. */

interface StaffSessionRow extends SessionRow {
  staff_id: string;
  role: StaffRole;
}

/** The part of a row that its MAC covers. */
const sessionText = (row: Omit<StaffSessionRow, 'mac'>): string =>
  JSON.stringify([row.secret_hash.toString('hex'), row.session_id, row.staff_id, row.role, row.started_at]);

interface Dependencies {
  macs: RowMacs;
  /** As in `console-sessions.ts`. */
  storeOnStandby: StoreOnStandby;
  randomBits: (bytes: number) => Buffer;
}

export function createStaffSessions(pool: Pool, { macs, storeOnStandby, randomBits }: Dependencies): StaffSessions {
  const { find, findAlive } = sessionFinder<StaffSessionRow>(pool, macs, {
    table: 'staff_sessions',
    columns: ['staff_id', 'role'],
    isAlive: isAliveSql(sessionLifetimes.staff),
    textOf: sessionText,
  });

  return {
    find: async (secret) => {
      const row = await find(secret);
      if (!row) return undefined;
      const { session_id: sessionId, staff_id: staffId, role } = row;
      return { sessionId, staffId, role, formToken: formTokenOf(secret) };
    },
    findAlive,
    start: async ({ staffId, role, browser, replaces }) => {
      const secret = newSecret(randomBits);
      const { rows } = await pool.query<{ now: string }>(
        `with replaced as (delete from staff_sessions where secret_hash = $1),
         old as (delete from staff_sessions where started_at < clock_timestamp() - interval '${sessionLifetimes.staff.lifetime}')
         select date_trunc('milliseconds', clock_timestamp()) as now`,
        [replaces === undefined ? null : hashOfSecret(replaces)],
      );
      const [clock] = rows;
      if (!clock) throw new Error('Postgres has not told the time');
      const row = {
        secret_hash: hashOfSecret(secret),
        session_id: `ses_${randomBits(10).toString('hex')}`,
        staff_id: staffId,
        role,
        started_at: clock.now,
      };
      await pool.query(
        `insert into staff_sessions (secret_hash, session_id, staff_id, role, started_at, seen_at, browser, mac)
         values ($1, $2, $3, $4, $5, $5, $6, $7)`,
        [
          row.secret_hash,
          row.session_id,
          row.staff_id,
          row.role,
          row.started_at,
          browser.slice(0, maxBrowserCharacters),
          macs.sign('staff_sessions', sessionText(row)),
        ],
      );
      return secret;
    },
    end: async (staffId, sessionId) => {
      const ended = 'delete from staff_sessions where staff_id = $1 and session_id = $2';
      await storeOnStandby((client) => client.query(ended, [staffId, sessionId]));
    },
    endAll: async (staffId) => {
      await storeOnStandby((client) => client.query('delete from staff_sessions where staff_id = $1', [staffId]));
    },
  };
}
