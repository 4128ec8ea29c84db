import type { Pool } from 'pg';
import { sessionLifetimes } from '../../domain/session-lifetimes.ts';
import type { ConsoleSession, ConsoleSessions, ListedSession } from '../../ports/console-sessions.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import { formTokenOf } from './session-rows.ts';
import { isAliveSql, sessionFinder, type SessionRow } from './session-table.ts';
import type { StoreOnStandby } from './store-on-standby.ts';

/** Table `console_sessions`. A row without a MAC of this installation is no session. */

const isAlive = isAliveSql(sessionLifetimes.owner);

interface ConsoleSessionRow extends SessionRow {
  account_id: string;
  person_id: string;
}

/** The part of a row that its MAC covers. */
export const sessionText = (row: Omit<ConsoleSessionRow, 'session_id' | 'mac'>): string =>
  JSON.stringify([row.secret_hash.toString('hex'), row.account_id, row.person_id, row.started_at]);

interface Dependencies {
  macs: RowMacs;
  /** For what ends: a session that somebody has ended must not be alive again when a standby is promoted. */
  storeOnStandby: StoreOnStandby;
}

export function createConsoleSessions(pool: Pool, { macs, storeOnStandby }: Dependencies): ConsoleSessions {
  const { find, findAlive } = sessionFinder<ConsoleSessionRow>(pool, macs, {
    table: 'console_sessions',
    columns: ['account_id', 'person_id'],
    join: `join people p on p.account_id = s.account_id and p.person_id = s.person_id and p.removed_at is null
           join account_heads h on h.account_id = s.account_id and not h.closed`,
    isAlive,
    textOf: sessionText,
  });

  return {
    find: async (secret) => {
      const row = await find(secret);
      if (!row) return undefined;
      const { session_id: sessionId, account_id: accountId, person_id: personId } = row;
      return { sessionId, accountId, personId, formToken: formTokenOf(secret) };
    },
    findAlive,
    list: async ({ accountId, personId }) => {
      const { rows } = await pool.query<ListedSession>(
        `select session_id as "sessionId", started_at as "startedAt", seen_at as "seenAt", browser from console_sessions s
         where account_id = $1 and person_id = $2 and ${isAlive}
         order by started_at desc limit 100`,
        [accountId, personId],
      );
      return rows;
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
