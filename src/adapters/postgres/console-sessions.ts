import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ConsoleSession, ConsoleSessions, ListedSession } from '../../ports/console-sessions.ts';
import type { RowMacs } from '../../ports/row-macs.ts';

/** Table `console_sessions`. A row without a MAC of this installation is no session. */

const sessionIdle = '1 day';
export const sessionLifetime = '30 days';
/** Longer descriptions of browsers are cut. */
export const maxBrowserCharacters = 300;

/** The secret of a session or a link: only the browser or the mail has it. */
export const newSecret = (randomBits: (bytes: number) => Buffer): string => randomBits(20).toString('base64url');
export const hashOfSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** The part of a row that its MAC covers. */
export const sessionText = (row: {
  secretHash: Buffer;
  accountId: string;
  personId: string;
  startedAt: Date;
}): string =>
  JSON.stringify([row.secretHash.toString('hex'), row.accountId, row.personId, row.startedAt.toISOString()]);

export function createConsoleSessions(pool: Pool, { macs }: { macs: RowMacs }): ConsoleSessions {
  return {
    find: async (secret) => {
      const secretHash = hashOfSecret(secret);
      const { rows } = await pool.query<{
        session_id: string;
        account_id: string;
        person_id: string;
        started_at: Date;
        mac: string;
      }>({
        name: 'find-console-session',
        text: `with found as (
           select s.* from console_sessions s
           join people p on p.account_id = s.account_id and p.person_id = s.person_id and p.removed_at is null
           where s.secret_hash = $1 and s.started_at > clock_timestamp() - interval '${sessionLifetime}'
             and s.seen_at > clock_timestamp() - interval '${sessionIdle}'
         ), seen as (
           update console_sessions s set seen_at = clock_timestamp() from found f
           where s.secret_hash = f.secret_hash and f.seen_at < clock_timestamp() - interval '1 minute'
         )
         select session_id, account_id, person_id, started_at, mac from found`,
        values: [secretHash],
      });
      const [row] = rows;
      if (!row) return undefined;
      const { session_id: sessionId, account_id: accountId, person_id: personId, started_at: startedAt, mac } = row;
      const text = sessionText({ secretHash, accountId, personId, startedAt });
      if (!macs.verifies({ table: 'console_sessions', name: sessionId, text, mac })) return undefined;
      return { sessionId, accountId, personId, formToken: hash('sha256', `form ${secret}`, 'base64url') };
    },
    list: async ({ accountId, personId }) => {
      const { rows } = await pool.query<{ session_id: string; started_at: Date; seen_at: Date; browser: string }>(
        `select session_id, started_at, seen_at, browser from console_sessions
         where account_id = $1 and person_id = $2 and started_at > clock_timestamp() - interval '${sessionLifetime}'
           and seen_at > clock_timestamp() - interval '${sessionIdle}'
         order by started_at desc limit 100`,
        [accountId, personId],
      );
      return rows.map((row): ListedSession => ({
        sessionId: row.session_id,
        startedAt: row.started_at.toISOString(),
        seenAt: row.seen_at.toISOString(),
        browser: row.browser,
      }));
    },
    end: async ({ accountId, personId }: ConsoleSession, sessionId) => {
      await pool.query('delete from console_sessions where account_id = $1 and person_id = $2 and session_id = $3', [
        accountId,
        personId,
        sessionId,
      ]);
    },
    endAll: async ({ accountId, personId }: ConsoleSession) => {
      await pool.query('delete from console_sessions where account_id = $1 and person_id = $2', [accountId, personId]);
    },
  };
}
