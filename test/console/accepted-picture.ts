import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { inPage } from './in-page.ts';
import { pngFile } from './png-file.ts';

/**
 * How a page looks, against a picture that was accepted. After a wanted change, look at the new ones that a failure names, and
 * accept them by `npm run update:pictures`.
 */

const acceptedFolder = fileURLToPath(new URL('pictures', import.meta.url));
const changedFolder = join(tmpdir(), 'reeltally-changed-pictures');
export const isAccepting = process.env['ACCEPT_PICTURES'] === '1';
/** Another browser draws letters in its own way. */
const isComparable = process.env['BROWSER_PATH'] === undefined;

/** @param comparer a page that compares them @returns what differs, for the person who looks into it */
export async function differencesOf(page: Page, picture: string, comparer: Page): Promise<string[]> {
  if (!isComparable) return [];
  await inPage(page, 'settle');
  const shot = (await page.screenshot({ fullPage: true, animations: 'disabled' })).toString('base64');
  const accepted = join(acceptedFolder, `${picture}.png`);
  const kept = existsSync(accepted) ? readFileSync(accepted, 'base64') : undefined;
  const different = await inPage(comparer, 'compare', { shot, ...(kept !== undefined && { kept }) });
  if (!different) return [];
  const { reduced, difference } = different;
  if (isAccepting) {
    writeFileSync(accepted, pngFile(reduced));
    return [];
  }
  mkdirSync(changedFolder, { recursive: true });
  const file = join(changedFolder, picture);
  writeFileSync(`${file}.png`, pngFile(reduced));
  writeFileSync(`${file}.difference.png`, Buffer.from(difference, 'base64'));
  return [`it looks different: see ${file}.png, and .difference.png beside it`];
}
