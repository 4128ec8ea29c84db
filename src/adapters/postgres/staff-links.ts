import type { Pool } from 'pg';
import type { RowMacs } from '../../ports/row-macs.ts';
import type { StaffLinks } from '../../ports/staff-sessions.ts';
import { inOwnSession } from './own-session.ts';
import { hashOfSecret, isLinkBelieved, isOfBrowser, newSecret } from './session-rows.ts';

/** Table `staff_links`. A row without a MAC of this installation signs nobody in. */

const mailedLifetime = '15 minutes';
/** Somebody who is invited may be away. */
const printedLifetime = '1 day';
/** Within `mailedLifetime`. */
const maxLinksOfPerson = 5;

interface LinkRow {
  staff_id: string;
  browser_hash: Buffer | null;
  /** UTC ISO-8601. */
  created_at: string;
  expires_at: string;
  mac: string;
}

const linkText = (secretHash: Buffer, row: Omit<LinkRow, 'mac'>): string =>
  JSON.stringify([
    secretHash.toString('hex'),
    row.staff_id,
    row.browser_hash?.toString('hex') ?? null,
    row.created_at,
    row.expires_at,
  ]);

interface Dependencies {
  macs: RowMacs;
  randomBits: (bytes: number) => Buffer;
}

export function createStaffLinks(pool: Pool, { macs, randomBits }: Dependencies): StaffLinks {
  return {
    create: async ({ staffId, browser }) => {
      const secret = newSecret(randomBits);
      const secretHash = hashOfSecret(secret);
      // One at a time for each person: two that count at once would both be the last one that is allowed.
      return await inOwnSession(pool, 'begin', async (client) => {
        await client.query("select pg_advisory_xact_lock(hashtextextended('staff sign-in ' || $1, 0))", [staffId]);
        const { rows } = await client.query<{ now: string; expires: string; is_allowed: boolean }>(
          `with old as (delete from staff_links where expires_at < clock_timestamp() - interval '1 day'),
           clock as (select date_trunc('milliseconds', clock_timestamp()) as now)
           select now, now + interval '${browser === undefined ? printedLifetime : mailedLifetime}' as expires,
             (select count(*) < ${String(maxLinksOfPerson)} from staff_links
              where staff_id = $1 and created_at > now - interval '${mailedLifetime}') as is_allowed
           from clock`,
          [staffId],
        );
        const [asked] = rows;
        if (!asked?.is_allowed) return undefined;
        const row = {
          staff_id: staffId,
          browser_hash: browser === undefined ? null : hashOfSecret(browser),
          created_at: asked.now,
          expires_at: asked.expires,
        };
        await client.query(
          `insert into staff_links (secret_hash, staff_id, browser_hash, created_at, expires_at, mac)
           values ($1, $2, $3, $4, $5, $6)`,
          [
            secretHash,
            row.staff_id,
            row.browser_hash,
            row.created_at,
            row.expires_at,
            macs.sign('staff_links', linkText(secretHash, row)),
          ],
        );
        return secret;
      });
    },
    read: async (secret) => {
      const secretHash = hashOfSecret(secret);
      const { rows } = await pool.query<LinkRow>(
        `select staff_id, browser_hash, created_at, expires_at, mac from staff_links
         where secret_hash = $1 and used_at is null and expires_at > clock_timestamp()`,
        [secretHash],
      );
      const [row] = rows;
      if (!row) return undefined;
      const link = { table: 'staff_links', secretHash, text: linkText(secretHash, row), mac: row.mac } as const;
      if (!isLinkBelieved(macs, link)) return undefined;
      return {
        staffId: row.staff_id,
        isOfBrowser: (browser) => isOfBrowser(row.browser_hash, browser),
      };
    },
    use: async (secret) => {
      const { rowCount } = await pool.query(
        'update staff_links set used_at = clock_timestamp() where secret_hash = $1 and used_at is null',
        [hashOfSecret(secret)],
      );
      return rowCount === 1;
    },
  };
}
