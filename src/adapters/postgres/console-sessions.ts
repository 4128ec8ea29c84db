import type { Pool } from 'pg';
import { type RefusalColumn, refusalSql, requireNoRefusal } from '../../../projections/runner/refused-readers.ts';
import type { ConsoleSession, ConsoleSessions } from '../../ports/console-sessions.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import { formTokenOf, hashOfSecret, type ListedRow, listedSession } from './session-rows.ts';
import type { StoreOnStandby } from './store-on-standby.ts';

/** Table `console_sessions`. A row without a MAC of this installation is no session. */

const sessionIdle = '1 day';
export const sessionLifetime = '30 days';
const isAlive = `s.started_at > clock_timestamp() - interval '${sessionLifetime}'
  and s.seen_at > clock_timestamp() - interval '${sessionIdle}'`;

interface SessionRow {
  secret_hash: Buffer;
  session_id: string;
  account_id: string;
  person_id: string;
  started_at: Date;
  mac: string;
}

/** The part of a row that its MAC covers. */
export const sessionText = (row: {
  secretHash: Buffer;
  accountId: string;
  personId: string;
  startedAt: Date;
}): string =>
  JSON.stringify([row.secretHash.toString('hex'), row.accountId, row.personId, row.startedAt.toISOString()]);

interface Dependencies {
  macs: RowMacs;
  /** For what ends: a session that somebody has ended must not be alive again when a standby is promoted. */
  storeOnStandby: StoreOnStandby;
}

/** @param which a condition on `s` */
const found = (which: string) => `found as (
  select s.* from console_sessions s
  join people p on p.account_id = s.account_id and p.person_id = s.person_id and p.removed_at is null
  where ${which} and ${isAlive}
)`;
const columns = `secret_hash, session_id, account_id, person_id, started_at, mac, ${refusalSql}`;

export function createConsoleSessions(pool: Pool, { macs, storeOnStandby }: Dependencies): ConsoleSessions {
  const isBelieved = (row: SessionRow & RefusalColumn): boolean => {
    requireNoRefusal(row);
    const { secret_hash: secretHash, session_id: name, started_at: startedAt, mac } = row;
    const text = sessionText({ secretHash, accountId: row.account_id, personId: row.person_id, startedAt });
    return macs.verifies({ table: 'console_sessions', name, text, mac });
  };

  return {
    find: async (secret) => {
      const { rows } = await pool.query<SessionRow & RefusalColumn>({
        name: 'find-console-session',
        text: `with ${found('s.secret_hash = $1')}, seen as (
           update console_sessions s set seen_at = clock_timestamp() from found f
           where s.secret_hash = f.secret_hash and f.seen_at < clock_timestamp() - interval '1 minute'
         )
         select ${columns} from found`,
        values: [hashOfSecret(secret)],
      });
      const [row] = rows;
      if (!row || !isBelieved(row)) return undefined;
      const { session_id: sessionId, account_id: accountId, person_id: personId } = row;
      return { sessionId, accountId, personId, formToken: formTokenOf(secret) };
    },
    findAlive: async (sessions) => {
      const { rows } = await pool.query<SessionRow & RefusalColumn>({
        name: 'find-console-sessions-alive',
        text: `with ${found('s.session_id = any($1)')} select ${columns} from found`,
        values: [sessions.map(({ sessionId }) => sessionId)],
      });
      return new Set(rows.filter(isBelieved).map(({ session_id: sessionId }) => sessionId));
    },
    list: async ({ accountId, personId }) => {
      const { rows } = await pool.query<ListedRow>(
        `select session_id, started_at, seen_at, browser from console_sessions s
         where account_id = $1 and person_id = $2 and ${isAlive}
         order by started_at desc limit 100`,
        [accountId, personId],
      );
      return rows.map(listedSession);
    },
    end: async ({ accountId, personId }: ConsoleSession, sessionId) => {
      const ended = 'delete from console_sessions where account_id = $1 and person_id = $2 and session_id = $3';
      await storeOnStandby((client) => client.query(ended, [accountId, personId, sessionId]));
    },
    endAll: async ({ accountId, personId }: ConsoleSession) => {
      await storeOnStandby(async (client) => {
        // The links first: whoever uses one at this moment has begun the session before it is looked for, or finds the link used.
        await client.query(
          `update sign_in_links set used_at = clock_timestamp() where used_at is null
             and email_hashes && (select array_agg(email_mac) from people where account_id = $1 and person_id = $2)`,
          [accountId, personId],
        );
        const ended = 'delete from console_sessions where account_id = $1 and person_id = $2';
        await client.query(ended, [accountId, personId]);
      });
    },
  };
}
