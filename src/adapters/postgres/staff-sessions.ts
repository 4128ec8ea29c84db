import type { Pool } from 'pg';
import { type RefusalColumn, refusalSql, requireNoRefusal } from '../../../projections/runner/refused-readers.ts';
import type { StaffRole } from '../../domain/staff-events.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import type { StaffSessions } from '../../ports/staff-sessions.ts';
import {
  formTokenOf,
  hashOfSecret,
  type ListedRow,
  listedSession,
  maxBrowserCharacters,
  newSecret,
} from './session-rows.ts';
import type { StoreOnStandby } from './store-on-standby.ts';

/** Table `staff_sessions`. A row without a MAC of this installation is no session. */

const sessionIdle = '1 hour';
const sessionLifetime = '12 hours';

interface SessionRow {
  secret_hash: Buffer;
  session_id: string;
  staff_id: string;
  role: StaffRole;
  started_at: Date;
  mac: string;
}

/** The part of a row that its MAC covers. */
const sessionText = (secretHash: Buffer, row: Omit<SessionRow, 'mac' | 'secret_hash'>): string =>
  JSON.stringify([secretHash.toString('hex'), row.session_id, row.staff_id, row.role, row.started_at.toISOString()]);

interface Dependencies {
  macs: RowMacs;
  /** As in `console-sessions.ts`. */
  storeOnStandby: StoreOnStandby;
  randomBits: (bytes: number) => Buffer;
}

const isAlive = `started_at > clock_timestamp() - interval '${sessionLifetime}'
  and seen_at > clock_timestamp() - interval '${sessionIdle}'`;

const columns = `secret_hash, session_id, staff_id, role, started_at, mac, ${refusalSql}`;

export function createStaffSessions(pool: Pool, { macs, storeOnStandby, randomBits }: Dependencies): StaffSessions {
  const isBelieved = (row: SessionRow & RefusalColumn): boolean => {
    requireNoRefusal(row);
    const { session_id: name, mac } = row;
    return macs.verifies({ table: 'staff_sessions', name, text: sessionText(row.secret_hash, row), mac });
  };

  return {
    find: async (secret) => {
      const { rows } = await pool.query<SessionRow & RefusalColumn>({
        name: 'find-staff-session',
        text: `with found as (select * from staff_sessions where secret_hash = $1 and ${isAlive}),
         seen as (
           update staff_sessions s set seen_at = clock_timestamp() from found f
           where s.secret_hash = f.secret_hash and f.seen_at < clock_timestamp() - interval '1 minute'
         )
         select ${columns} from found`,
        values: [hashOfSecret(secret)],
      });
      const [row] = rows;
      if (!row || !isBelieved(row)) return undefined;
      const { session_id: sessionId, staff_id: staffId, role } = row;
      return { sessionId, staffId, role, formToken: formTokenOf(secret) };
    },
    findAlive: async (sessions) => {
      const { rows } = await pool.query<SessionRow & RefusalColumn>({
        name: 'find-staff-sessions-alive',
        text: `select ${columns} from staff_sessions where session_id = any($1) and ${isAlive}`,
        values: [sessions.map(({ sessionId }) => sessionId)],
      });
      return new Set(rows.filter(isBelieved).map(({ session_id: sessionId }) => sessionId));
    },
    start: async ({ staffId, role, browser, replaces }) => {
      const secret = newSecret(randomBits);
      const secretHash = hashOfSecret(secret);
      const { rows } = await pool.query<{ now: Date }>(
        `with replaced as (delete from staff_sessions where secret_hash = $1),
         old as (delete from staff_sessions where started_at < clock_timestamp() - interval '${sessionLifetime}')
         select date_trunc('milliseconds', clock_timestamp()) as now`,
        [replaces === undefined ? null : hashOfSecret(replaces)],
      );
      const [clock] = rows;
      if (!clock) throw new Error('Postgres has not told the time');
      const row = {
        session_id: `ses_${randomBits(10).toString('hex')}`,
        staff_id: staffId,
        role,
        started_at: clock.now,
      };
      await pool.query(
        `insert into staff_sessions (secret_hash, session_id, staff_id, role, started_at, seen_at, browser, mac)
         values ($1, $2, $3, $4, $5, $5, $6, $7)`,
        [
          secretHash,
          row.session_id,
          row.staff_id,
          row.role,
          row.started_at,
          browser.slice(0, maxBrowserCharacters),
          macs.sign('staff_sessions', sessionText(secretHash, row)),
        ],
      );
      return secret;
    },
    list: async (staffId) => {
      const { rows } = await pool.query<ListedRow>(
        `select session_id, started_at, seen_at, browser from staff_sessions where staff_id = $1 and ${isAlive}
         order by started_at desc limit 100`,
        [staffId],
      );
      return rows.map(listedSession);
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
