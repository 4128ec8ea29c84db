import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { isLongProof } from '../support/proof-scale.ts';
import { browserOfFile, isWithoutBrowser } from '../support/browser.ts';
import { inPage } from './in-page.ts';
import { lookAt, lookedAt, prepareLookers } from './looked-at.ts';
import type { Lookers } from './looked-at.ts';
import { consoleOfFile } from './owners.ts';
import { pngFile } from './png-file.ts';

/**
 * How every page looks, against pictures that were accepted. After a wanted change, look at the new ones that a failure names,
 * and accept them by `npm run update:pictures`.
 */

const acceptedFolder = fileURLToPath(new URL('pictures', import.meta.url));
const changedFolder = join(tmpdir(), 'reeltally-changed-pictures');
const isAccepting = process.env['ACCEPT_PICTURES'] === '1';
/** The share of a picture that may differ: the edges of letters on another processor, never a word. */
const tolerance = 0.0005;

describe.skipIf(isWithoutBrowser || process.env['BROWSER_PATH'] !== undefined)('the pictures of the pages', () => {
  const console = consoleOfFile();
  const browser = browserOfFile();
  let lookers: Lookers;
  beforeAll(async () => {
    lookers = await prepareLookers(browser, console, 'pictures');
    mkdirSync(isAccepting ? acceptedFolder : changedFolder, { recursive: true });
  });

  test.each(lookedAt)('$name', async (looked) => {
    const comparer = await browser.open(console.url);
    const changed: string[] = [];
    await lookAt(looked, { browser, lookers, areAll: isAccepting || isLongProof }, async (page, picture) => {
      if (!(await isAsAccepted(page, picture, comparer))) changed.push(join(changedFolder, `${picture}.png`));
    });
    expect(changed, 'changed; beside each is a .difference.png').toEqual([]);
  });
});

async function isAsAccepted(page: Page, picture: string, comparer: Page): Promise<boolean> {
  await inPage(page, 'settle');
  const shot = (await page.screenshot({ fullPage: true, animations: 'disabled' })).toString('base64');
  const accepted = join(acceptedFolder, `${picture}.png`);
  const kept = existsSync(accepted) ? readFileSync(accepted, 'base64') : undefined;
  const { reduced, changed, difference } = await inPage(comparer, 'compare', {
    shot,
    ...(kept !== undefined && { kept }),
  });
  const isSame = kept !== undefined && changed <= tolerance;
  if (isSame) return true;
  const folder = isAccepting ? acceptedFolder : changedFolder;
  writeFileSync(join(folder, `${picture}.png`), pngFile(reduced));
  if (isAccepting) return true;
  writeFileSync(join(folder, `${picture}.difference.png`), Buffer.from(difference, 'base64'));
  return false;
}
