import { hash } from 'node:crypto';
import type { ListedSession } from '../../ports/console-sessions.ts';
import type { RowMacs } from '../../ports/row-macs.ts';

/** What sessions and links of both consoles have in common. */

/** Longer descriptions of browsers are cut. */
export const maxBrowserCharacters = 300;

/** The secret of a session or a link: only the browser or the mail has it. */
export const newSecret = (randomBits: (bytes: number) => Buffer): string => randomBits(20).toString('base64url');
export const hashOfSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** Follows from the session's secret: whoever cannot read its cookie cannot know it. */
export const formTokenOf = (secret: string): string => hash('sha256', `form ${secret}`, 'base64url');

/** Whether a link was asked for in this browser; one that the service prints is of none. */
export const isOfBrowser = (browserHash: Buffer | null, browser: string | undefined): boolean =>
  browser !== undefined && browserHash?.equals(hashOfSecret(browser)) === true;

/** Tells whether this installation has written a link. @param text the part of its row that the MAC covers */
export const isLinkBelieved = (
  macs: RowMacs,
  {
    table,
    secretHash,
    text,
    mac,
  }: { table: 'sign_in_links' | 'staff_links'; secretHash: Buffer; text: string; mac: string },
): boolean => macs.verifies({ table, name: secretHash.toString('hex').slice(0, 12), text, mac });

export interface ListedRow {
  session_id: string;
  /** UTC ISO-8601. */
  started_at: string;
  seen_at: string;
  browser: string;
}

export const listedSession = (row: ListedRow): ListedSession => ({
  sessionId: row.session_id,
  startedAt: row.started_at,
  seenAt: row.seen_at,
  browser: row.browser,
});
