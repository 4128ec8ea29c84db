import type { Pool } from 'pg';
import { maxLinksOfAddress, sessionLifetimes } from '../../domain/session-lifetimes.ts';
import type { SignInChoice, SignInLinks } from '../../ports/console-sessions.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import { sessionText } from './console-sessions.ts';
import { isOfBrowser, linkTable } from './link-table.ts';
import { inOwnSession } from './own-session.ts';
import { hashOfSecret, maxBrowserCharacters, newSecret } from './session-rows.ts';

/** Table `sign_in_links`. */

const linkLifetime = '15 minutes';
const maxLinksOfAccount = 30;

interface Dependencies {
  macs: RowMacs;
  randomBits: (bytes: number) => Buffer;
}

interface LinkRow {
  email_hashes: string[];
  account_ids: string[];
  browser_hash: Buffer | null;
  created_at: string;
}

export function createSignInLinks(pool: Pool, dependencies: Dependencies): SignInLinks {
  const { macs } = dependencies;
  const links = linkTable<LinkRow>(macs, {
    table: 'sign_in_links',
    columns: ['email_hashes', 'account_ids', 'browser_hash', 'created_at'],
    isAlive: `created_at > clock_timestamp() - interval '${linkLifetime}'`,
  });
  return {
    create: async ({ emailHashes, browser }) => {
      const secret = newSecret(dependencies.randomBits);
      const accountIds = (await choicesOf(pool, emailHashes)).map(({ accountId }) => accountId);
      if (accountIds.length === 0) return undefined;
      // One at a time for each account: two that count at once would both be the last one that is allowed.
      return await inOwnSession(pool, 'begin', async (client) => {
        await client.query(
          "select pg_advisory_xact_lock(hashtextextended('sign-in ' || account, 0)) from unnest($1::text[]) account",
          [accountIds],
        );
        const { rows } = await client.query<{ now: string; is_allowed: boolean }>(
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
        await links.add(client, secret, {
          email_hashes: [...emailHashes],
          account_ids: accountIds,
          browser_hash: browser === undefined ? null : hashOfSecret(browser),
          created_at: asked.now,
        });
        return secret;
      });
    },
    read: async (secret) => {
      const row = await links.read(pool, secret);
      if (!row) return undefined;
      const choices = await choicesOf(pool, row.email_hashes);
      return {
        emailHashes: row.email_hashes,
        choices,
        isOfBrowser: (browser) => isOfBrowser(row, browser),
        isUnasked: row.browser_hash === null,
      };
    },
    use: async (secret, { accountId, personId, browser, replaces }) => {
      const link = await links.read(pool, secret);
      const choices = await choicesOf(pool, link?.email_hashes ?? []);
      const isTheirs = choices.some((each) => each.accountId === accountId && each.personId === personId);
      if (!link || !isTheirs) return undefined;
      const started = newSecret(dependencies.randomBits);
      const session = {
        secret_hash: hashOfSecret(started),
        account_id: accountId,
        person_id: personId,
        started_at: link.now,
      };
      // The first of two browsers that use the link takes it; the other one finds no row to change.
      const { rowCount } = await pool.query(
        `with link as (
           update sign_in_links set used_at = $8 where secret_hash = $1 and used_at is null returning 1
         ), replaced as (delete from console_sessions where secret_hash = $2 and exists (select from link)),
         old as (delete from console_sessions where started_at < $8 - interval '${sessionLifetimes.owner.lifetime}')
         insert into console_sessions (secret_hash, session_id, account_id, person_id, browser, started_at, seen_at, mac)
         select $3, $4, $5, $6, $7, $8, $8, $9 from link`,
        [
          hashOfSecret(secret),
          replaces === undefined ? null : hashOfSecret(replaces),
          session.secret_hash,
          `ses_${dependencies.randomBits(10).toString('hex')}`,
          accountId,
          personId,
          browser.slice(0, maxBrowserCharacters),
          session.started_at,
          macs.sign('console_sessions', sessionText(session)),
        ],
      );
      return rowCount === 1 ? started : undefined;
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
