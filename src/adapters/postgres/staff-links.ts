import type { Pool } from 'pg';
import { maxLinksOfAddress } from '../../domain/session-lifetimes.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import type { StaffLinks } from '../../ports/staff-sessions.ts';
import { isOfBrowser, linkTable } from './link-table.ts';
import { inOwnSession } from './own-session.ts';
import { hashOfSecret, newSecret } from './session-rows.ts';

/** Table `staff_links`. */

const mailedLifetime = '15 minutes';
/** Somebody who is invited may be away. */
const printedLifetime = '1 day';

interface LinkRow {
  staff_id: string;
  browser_hash: Buffer | null;
  /** UTC ISO-8601. */
  created_at: string;
  expires_at: string;
}

interface Dependencies {
  macs: RowMacs;
  randomBits: (bytes: number) => Buffer;
}

export function createStaffLinks(pool: Pool, { macs, randomBits }: Dependencies): StaffLinks {
  const links = linkTable<LinkRow>(macs, {
    table: 'staff_links',
    columns: ['staff_id', 'browser_hash', 'created_at', 'expires_at'],
    isAlive: 'expires_at > clock_timestamp()',
  });
  return {
    create: async ({ staffId, browser }) => {
      const secret = newSecret(randomBits);
      // One at a time for each person: two that count at once would both be the last one that is allowed.
      return await inOwnSession(pool, 'begin', async (client) => {
        await client.query("select pg_advisory_xact_lock(hashtextextended('staff sign-in ' || $1, 0))", [staffId]);
        const { rows } = await client.query<{ now: string; expires: string; is_allowed: boolean }>(
          `with old as (delete from staff_links where expires_at < clock_timestamp() - interval '1 day'),
           clock as (select date_trunc('milliseconds', clock_timestamp()) as now)
           select now, now + interval '${browser === undefined ? printedLifetime : mailedLifetime}' as expires,
             (select count(*) < ${String(maxLinksOfAddress)} from staff_links
              where staff_id = $1 and created_at > now - interval '${mailedLifetime}') as is_allowed
           from clock`,
          [staffId],
        );
        const [asked] = rows;
        if (!asked?.is_allowed) return undefined;
        await links.add(client, secret, {
          staff_id: staffId,
          browser_hash: browser === undefined ? null : hashOfSecret(browser),
          created_at: asked.now,
          expires_at: asked.expires,
        });
        return secret;
      });
    },
    read: async (secret) => {
      const row = await links.read(pool, secret);
      if (!row) return undefined;
      return {
        staffId: row.staff_id,
        isOfBrowser: (browser) => isOfBrowser(row, browser),
        isUnasked: row.browser_hash === null,
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
