import type { Pool } from 'pg';
import { type RefusalColumn, refusalSql, requireNoRefusal } from '../../../projections/runner/refused-readers.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import { hashOfSecret } from './session-rows.ts';

/** The columns that the sessions of both consoles have. */
export interface SessionRow {
  secret_hash: Buffer;
  session_id: string;
  /** UTC ISO-8601. */
  started_at: string;
  mac: string;
}

interface SessionTable<Row extends SessionRow> {
  table: 'console_sessions' | 'staff_sessions';
  /** The columns that its sessions have beside those. */
  columns: readonly (keyof Row & string)[];
  /** Leaves out sessions `s` of people who may not have one. */
  join?: string;
  /** A condition on `s`. */
  isAlive: string;
  /** The part of a row that its MAC covers. */
  textOf: (row: Row) => string;
}

/** @param times how long a session lasts at most, and without being seen, as Postgres writes intervals */
export const isAliveSql = ({ lifetime, idle }: { lifetime: string; idle: string }): string =>
  `s.started_at > clock_timestamp() - interval '${lifetime}' and s.seen_at > clock_timestamp() - interval '${idle}'`;

/** Finds sessions. A row without a MAC of this installation is none. */
export function sessionFinder<Row extends SessionRow>(
  pool: Pool,
  macs: RowMacs,
  { table, columns, join = '', isAlive, textOf }: SessionTable<Row>,
) {
  const found = (which: string) => `found as (select s.* from ${table} s ${join} where ${which} and ${isAlive})`;
  const selected = ['secret_hash', 'session_id', 'started_at', 'mac', ...columns, refusalSql].join(', ');
  const isBelieved = (row: Row & RefusalColumn): boolean => {
    requireNoRefusal(row);
    return macs.verifies({ table, name: row.session_id, text: textOf(row), mac: row.mac });
  };
  return {
    find: async (secret: string): Promise<Row | undefined> => {
      const { rows } = await pool.query<Row & RefusalColumn>({
        name: `find-${table}`,
        text: `with ${found('s.secret_hash = $1')}, seen as (
           update ${table} s set seen_at = clock_timestamp() from found f
           where s.secret_hash = f.secret_hash and f.seen_at < clock_timestamp() - interval '1 minute'
         )
         select ${selected} from found`,
        values: [hashOfSecret(secret)],
      });
      const [row] = rows;
      return row && isBelieved(row) ? row : undefined;
    },
    /** The ids of those that have not ended. */
    findAlive: async (sessions: readonly { sessionId: string }[]): Promise<Set<string>> => {
      const { rows } = await pool.query<Row & RefusalColumn>({
        name: `find-${table}-alive`,
        text: `with ${found('s.session_id = any($1)')} select ${selected} from found`,
        values: [sessions.map(({ sessionId }) => sessionId)],
      });
      return new Set(rows.filter(isBelieved).map(({ session_id: sessionId }) => sessionId));
    },
  };
}
