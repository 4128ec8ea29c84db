import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { casePage } from '../../src/documents/case-page.ts';
import { documentNumber } from '../../src/domain/document-number.ts';
import { proveDocument } from '../../src/proof/proof-file.ts';
import { publicKeyText, signerOf } from '../../src/proof/signed-note.ts';
import { browserOfFile, isWithoutBrowser } from '../support/browser.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { documentsOf, provenHistory, publicKey, signer, wantedOf } from './proven-log.ts';

const browser = browserOfFile();
const directory = temporaryDirectoryOfFile();

it.skipIf(isWithoutBrowser)('a case file verifies itself in a browser, from disk and offline', async () => {
  const log = await provenHistory(1);
  const wanted = documentsOf(log)
    .map(wantedOf)
    .find(({ number }) => number === 2)!;
  const proof = await proveDocument(log, log.signed, wanted);
  const verifier = readFileSync(new URL('../../src/proof/verifier.mjs', import.meta.url), 'utf8');
  const page = casePage({
    number: documentNumber(wanted.type, { account_id: wanted.accountId, number: wanted.number }),
    proof,
    compressed: gzipSync(proof.text).toString('base64'),
    verifier,
    sha256: (text) => hash('sha256', text, 'base64'),
    parties: undefined,
  });
  expect(page).toContain(hash('sha256', verifier, 'hex'));
  const file = join(directory, 'case.html');
  writeFileSync(file, page);
  const opened = await browser.open('file://');
  await opened.context().setOffline(true);
  await opened.goto(pathToFileURL(file).href);
  const isWithinWindow = 'document.documentElement.scrollWidth <= window.innerWidth';
  expect(await opened.evaluate(isWithinWindow)).toBe(true);
  const said = opened.locator('output');
  const verified = async (key: string) => {
    await opened.getByLabel('Public key of the log').fill(key);
    await opened.getByRole('button', { name: 'Verify' }).click();
  };
  await verified(publicKeyText(signerOf(signer.name, Buffer.alloc(32, 8)).publicKey));
  await expect
    .poll(() => said.textContent())
    .toBe('NOT VERIFIED: the checkpoint is not one of the log of this key, signed with it');
  await verified(publicKey);
  await expect.poll(() => said.textContent()).toMatch(/^Verified: INV-\S+ \(\d+\.\d\d USD\) follows from \d+ charges/);
  expect(await opened.getByRole('heading').allTextContents()).toEqual(
    expect.arrayContaining(['Verify', 'The invoice', 'Timeline', 'Money', 'Events']),
  );
});
