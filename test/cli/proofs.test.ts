import { execFile } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { signTreeHead } from '../../src/dispatcher/sign-tree-heads.ts';
import { documentNumber } from '../../src/domain/document-number.ts';
import { treeHeadsStream } from '../../src/domain/tree-head-events.ts';
import { publicKeyText, signerOf } from '../../src/proof/signed-note.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { silent } from '../projections/read-models-under-test.ts';
import { publicKey, signer } from '../proof/proven-log.ts';
import { notesOfTest } from '../proof/signing.ts';
import { temporaryDirectory, temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { booksOfFile } from './books.ts';
import { expectRefusal, expectText } from './command-line.ts';

const { log, models, run, laterBy, chargedAccount } = booksOfFile({ feeCents: 1900 });
const fiveWeeks = 35 * 24;
const later = laterBy(fiveWeeks + 2);
const notes = temporaryDirectoryOfFile();
const verifier = fileURLToPath(new URL('../../src/proof/verifier.mjs', import.meta.url));

/** Runs the verifier as somebody else does: with Node and nothing of ours. */
async function verifies(...words: string[]): Promise<{ code: number; said: string }> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [verifier, ...words]);
    return { code: 0, said: stdout };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, said: stderr };
  }
}

let number: (of: number) => string;

const signerFor = (name: string) => signerOf(name, Buffer.alloc(32, 7));

const now = () => new Date().toISOString();

/** Signs the log as a dispatcher does. */
const sign = () =>
  signTreeHead({
    store: log.store,
    pool: models.pool,
    files: notesOfTest(notes),
    origin: signer.name,
    signerFor,
    newUuid,
    now,
    logger: silent,
  });

beforeAll(async () => {
  const { accountId } = await chargedAccount(2);
  number = (of) => documentNumber('invoice', { account_id: accountId, number: of });
  await laterBy(fiveWeeks)('invoices', 'issue-due');
});

it('proofs new-origin wants a reason, and a name to begin with', async () => {
  expectRefusal(await run('proofs', 'new-origin'), /--reason/);
  expectRefusal(
    await run('proofs', 'new-origin', '--reason', 'lost disks'),
    /no head was signed yet: set PROOF_ORIGIN/,
  );
  expect(await log.store.read(treeHeadsStream, 0)).toEqual([]);
});

describe('proofs export', () => {
  it('says that no head is signed yet, or none that has the document', async () => {
    expectRefusal(await run('proofs', 'export', number(1)), /no head of the log is signed yet/, 2);
    await sign();
    await later('invoices', 'issue-due');
    expectRefusal(await run('proofs', 'export', number(2)), /is not in the signed log yet/, 2);
  });

  it('writes what the verifier accepts, compressed if asked, for its reader alone', async () => {
    await sign();
    const directory = temporaryDirectory();
    const [plain, compressed] = [join(directory, 'proof.json'), join(directory, 'proof.json.gz')];
    expect((await run('proofs', 'export', number(2), '--output', plain)).code).toBe(0);
    expect((await run('proofs', 'export', number(2), '--output', compressed)).code).toBe(0);
    expect(gunzipSync(readFileSync(compressed)).equals(readFileSync(plain))).toBe(true);
    expect(statSync(plain).mode & 0o777).toBe(0o600);
    for (const file of [plain, compressed]) {
      const { code, said } = await verifies(file, '--key', publicKey, '--invoice', number(2));
      expect(said).toMatch(
        /^INV-\S+-2 \(19\.50 USD\) follows from 2 charges of these downloads, none left out, none twice/,
      );
      expect(code).toBe(0);
    }
    const opening = join(directory, 'opening.json');
    await run('proofs', 'export', number(1), '--output', opening);
    expect(await verifies(opening, '--key', publicKey)).toMatchObject({ code: 0 });

    const another = publicKeyText(signerOf(signer.name, Buffer.alloc(32, 8)).publicKey);
    const refused: [words: string[], said: RegExp][] = [
      [[plain, '--key', 'nonsense'], /the public key is missing, or is not written as name\+id\+base64/],
      [[plain, '--key', another], /the checkpoint is not one of the log of this key, signed with it/],
      [[plain, '--key', publicKey, '--invoice', number(1)], /the file is a proof of INV-\S+-2, not of INV-\S+-1/],
    ];
    for (const [words, said] of refused) {
      const answer = await verifies(...words);
      expect(answer.said).toMatch(said);
      expect(answer.code).toBe(1);
    }
    // What it would not read is refused: nobody believes that a check was made which was not.
    for (const words of [
      [],
      [plain],
      [plain, '--key', publicKey, '--invioce', number(1)],
      [plain, '--key', publicKey, '--invoice'],
    ])
      expect(await verifies(...words)).toMatchObject({
        code: 2,
        said: expect.stringContaining('write: node verifier.mjs') as string,
      });
    writeFileSync(plain, readFileSync(plain).subarray(0, -100));
    expect(await verifies(plain, '--key', publicKey)).toEqual({
      code: 2,
      said: 'NOT VERIFIED: the file is truncated, or is no proof\n',
    });
    writeFileSync(compressed, readFileSync(compressed).subarray(0, -100));
    expect((await verifies(compressed, '--key', publicKey)).code).toBe(2);
    expect((await verifies(join(directory, 'nothing'), '--key', publicKey)).said).toMatch(/ENOENT/);
  });

  it('refuses a document that there is not', async () => {
    expectRefusal(await run('proofs', 'export', number(9)), /there is no INV-\S+-9/);
    expectRefusal(await run('proofs', 'export', 'nonsense'), /a document has a number such as INV-/);
  });

  it('writes a page, with names and addresses only if asked', async () => {
    const page = await run('proofs', 'export', number(2), '--html');
    expect(page.stdout).toContain(`Case file of ${number(2)}`);
    expect(page.stdout).not.toContain('owner@example.com');
    expect((await later('proofs', 'export', number(2), '--html', '--personal')).stdout).toContain('Billed to');
  });
});

describe('proofs new-origin', () => {
  it('goes on under a name with its time, and the log keeps who decided it and why', async () => {
    const words = ['proofs', 'new-origin', '--reason', 'a lost disk', '--by', 'maria'];
    const first = await run(...words, '--json');
    const { origin } = JSON.parse(first.stdout) as { origin: string };
    expect(origin).toMatch(/^reeltally\.example\/log\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/);
    const [event] = (await log.store.read(treeHeadsStream, 0)).slice(-1);
    expect(event).toMatchObject({ type: 'TreeOriginBegun', data: { origin } });
    expect(event?.metadata).toMatchObject({ actor: { type: 'staff', id: 'maria', reason: 'a lost disk' } });
    // The time of the one before is no part of the next name.
    expectText(await later(...words), /^From now on, heads are signed as reeltally\.example\/log\/[-\dT]+Z\n$/);
  });

  it('is where the next head is signed, and what is proved with it', async () => {
    await chargedAccount(1);
    await laterBy(fiveWeeks)('invoices', 'issue-due');
    const [begun] = (await log.store.read(treeHeadsStream, 0)).slice(-1);
    await models.caughtUp();
    await sign();
    const [head] = (await log.store.read(treeHeadsStream, 0)).slice(-1);
    const { origin } = begun?.data as { origin: string };
    expect(head).toMatchObject({ type: 'TreeHeadSigned', data: { origin } });
    const proof = join(temporaryDirectory(), 'proof.json');
    expect((await later('proofs', 'export', number(2), '--output', proof)).code).toBe(0);
    expect(await verifies(proof, '--key', publicKey)).toMatchObject({ code: 1 });
    expect(await verifies(proof, '--key', publicKeyText(signerFor(origin).publicKey))).toMatchObject({ code: 0 });
  });
});
