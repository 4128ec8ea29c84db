import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type {
  ConsoleSession,
  ConsoleSessions,
  ListedSession,
  SessionAdmission,
  SignInChoice,
  SignInLinks,
} from '../../ports/console-sessions.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import { inOwnSession } from './own-session.ts';

/** Tables `sign_in_links` and `console_sessions`. Rows without a MAC of this installation sign nobody in. */

const linkLifetime = '15 minutes';
const maxLinksOfAddress = 5;
const maxLinksOfAccount = 30;
const sessionIdle = '1 day';
const sessionLifetime = '30 days';
/** Longer descriptions of browsers are cut. */
const maxBrowserCharacters = 300;

interface Dependencies {
  macs: RowMacs;
  randomBits: (bytes: number) => Buffer;
}

const newSecret = ({ randomBits }: Dependencies) => randomBits(20).toString('base64url');
const hashOf = (secret: string): Buffer => hash('sha256', secret, 'buffer');

interface LinkRow {
  /** Postgres's clock. */
  now: Date;
  email_hashes: string[];
  account_ids: string[];
  browser_hash: Buffer | null;
  created_at: Date;
  mac: string;
}

const linkText = (secretHash: Buffer, row: Omit<LinkRow, 'mac' | 'now'>): string =>
  JSON.stringify([
    secretHash.toString('hex'),
    row.email_hashes,
    row.account_ids,
    row.browser_hash?.toString('hex') ?? null,
    row.created_at.toISOString(),
  ]);

export function createSignInLinks(pool: Pool, dependencies: Dependencies): SignInLinks {
  const { macs } = dependencies;

  const readValid = async (secret: string): Promise<LinkRow | undefined> => {
    const secretHash = hashOf(secret);
    const { rows } = await pool.query<LinkRow>(
      `select date_trunc('milliseconds', clock_timestamp()) as now, email_hashes, account_ids, browser_hash, created_at, mac
       from sign_in_links
       where secret_hash = $1 and used_at is null and created_at > clock_timestamp() - interval '${linkLifetime}'`,
      [secretHash],
    );
    const [row] = rows;
    if (!row) return undefined;
    const text = linkText(secretHash, row);
    const name = secretHash.toString('hex').slice(0, 12);
    return macs.verifies({ table: 'sign_in_links', name, text, mac: row.mac }) ? row : undefined;
  };

  return {
    create: async ({ emailHashes, browser }) => {
      const secret = newSecret(dependencies);
      const secretHash = hashOf(secret);
      const accountIds = (await choicesOf(pool, emailHashes)).map(({ accountId }) => accountId);
      if (accountIds.length === 0) return undefined;
      // One at a time for each account: two that count at once would both be the last one that is allowed.
      return await inOwnSession(pool, 'begin', async (client) => {
        await client.query(
          "select pg_advisory_xact_lock(hashtextextended('sign-in ' || account, 0)) from unnest($1::text[]) account",
          [accountIds],
        );
        const { rows } = await client.query<{ now: Date; is_allowed: boolean }>(
          `with old as (delete from sign_in_links where created_at < clock_timestamp() - interval '1 day')
         select date_trunc('milliseconds', clock_timestamp()) as now,
           (select count(*) < ${String(maxLinksOfAddress)} from sign_in_links
            where created_at > clock_timestamp() - interval '${linkLifetime}' and email_hashes && $1)
           and not exists (
             select from unnest($2::text[]) account
             where (select count(*) from sign_in_links where created_at > clock_timestamp() - interval '1 hour'
                    and account = any(account_ids)) >= ${String(maxLinksOfAccount)}) as is_allowed`,
          [emailHashes, accountIds],
        );
        const [asked] = rows;
        if (!asked?.is_allowed) return undefined;
        const row = {
          email_hashes: [...emailHashes],
          account_ids: accountIds,
          browser_hash: browser === undefined ? null : hashOf(browser),
          created_at: asked.now,
        };
        await client.query(
          `insert into sign_in_links (secret_hash, email_hashes, account_ids, browser_hash, created_at, mac)
         values ($1, $2, $3, $4, $5, $6)`,
          [secretHash, ...Object.values(row), macs.sign('sign_in_links', linkText(secretHash, row))],
        );
        return secret;
      });
    },
    read: async (secret) => {
      const row = await readValid(secret);
      if (!row) return undefined;
      const choices = await choicesOf(pool, row.email_hashes);
      return {
        emailHashes: row.email_hashes,
        choices,
        isOfBrowser: (browser) => browser !== undefined && row.browser_hash?.equals(hashOf(browser)) === true,
      };
    },
    use: async (secret, { accountId, personId, browser, replaces }) => {
      const link = await readValid(secret);
      const choices = await choicesOf(pool, link?.email_hashes ?? []);
      const choice = choices.find((each) => each.accountId === accountId && each.personId === personId);
      if (!link || !choice) return undefined;
      const startedAt = link.now;
      const started = newSecret(dependencies);
      const session = {
        secretHash: hashOf(started),
        sessionId: `ses_${dependencies.randomBits(10).toString('hex')}`,
        ...choice,
        startedAt,
      };
      // The first of two browsers that use the link takes it; the other one finds no row to change.
      const { rowCount } = await pool.query(
        `with link as (
           update sign_in_links set used_at = $8 where secret_hash = $1 and used_at is null returning 1
         ), replaced as (delete from console_sessions where secret_hash = $2 and exists (select from link)),
         old as (delete from console_sessions where started_at < $8 - interval '${sessionLifetime}')
         insert into console_sessions (secret_hash, session_id, account_id, person_id, browser, started_at, seen_at, mac)
         select $3, $4, $5, $6, $7, $8, $8, $9 from link`,
        [
          ...[hashOf(secret), replaces === undefined ? null : hashOf(replaces)],
          ...[session.secretHash, session.sessionId, session.accountId, session.personId],
          ...[browser.slice(0, maxBrowserCharacters), startedAt, macs.sign('console_sessions', sessionText(session))],
        ],
      );
      if (rowCount !== 1) return undefined;
      return started;
    },
  };
}

/** The accounts of an address: as the newest read model has them. */
async function choicesOf(pool: Pool, emailHashes: readonly string[]): Promise<SignInChoice[]> {
  const { rows } = await pool.query<{ account_id: string; person_id: string }>(
    'select account_id, person_id from people where email_mac = any($1) and removed_at is null order by account_id limit 100',
    [emailHashes],
  );
  return rows.map(({ account_id: accountId, person_id: personId }) => ({ accountId, personId }));
}

const sessionText = (row: { secretHash: Buffer; accountId: string; personId: string; startedAt: Date }): string =>
  JSON.stringify([row.secretHash.toString('hex'), row.accountId, row.personId, row.startedAt.toISOString()]);

export function createConsoleSessions(pool: Pool, { macs }: Pick<Dependencies, 'macs'>): ConsoleSessions {
  return {
    find: async (secret) => {
      const secretHash = hashOf(secret);
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
