import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signTreeHead } from '../../../src/dispatcher/sign-tree-heads.ts';
import { documentNumber } from '../../../src/domain/document-number.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { verify } from '../../../src/proof/verifier.mjs';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { silent } from '../../projections/read-models-under-test.ts';
import { publicKey, signer } from '../../proof/proven-log.ts';
import { notesOfTest } from '../../proof/signing.ts';
import { openTestPool } from '../../support/postgres.ts';
import { temporaryDirectoryOfFile } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, textOf } from '../browser.ts';
import { chargedAccount, closeAndInvoice } from './charged-accounts.ts';
import { staffOfFile } from './staff-of-file.ts';

/** The proof of a document, as its owner and staff see and save it. */

const service = await staffOfFile();
const notes = notesOfTest(temporaryDirectoryOfFile());
let pool: ReturnType<typeof openTestPool>;
let owner: Browser;
let support: Browser;
let accountId: string;
let invoices: string;
const paths: { browser: () => Browser; path: () => string; name: () => string }[] = [
  { browser: () => owner, path: () => '/console/invoices/1', name: () => nameOf('invoice', 1) },
  { browser: () => owner, path: () => '/console/credit-notes/1', name: () => nameOf('credit_note', 1) },
  { browser: () => support, path: () => `${invoices}/invoices/1`, name: () => nameOf('invoice', 1) },
  { browser: () => support, path: () => `${invoices}/credit-notes/1`, name: () => nameOf('credit_note', 1) },
];
const nameOf = (type: 'invoice' | 'credit_note', number: number) =>
  documentNumber(type, { account_id: accountId, number });

async function creditLine(account: string, reference: string): Promise<void> {
  const why = ['--cents', '5', '--reason', 'a test', '--by', 'a tester', '--reference', reference];
  await service.installation.cli(['invoices', 'credit', account, '1', '--line', '1', ...why]);
  await leavesAreThere(account, 2);
}

/** In the tree of the read model, so that the next head covers them. */
const leavesAreThere = (account: string, count: number) =>
  waitFor(
    async () =>
      (await service.sql('select from proof_leaves where stream = $1', [`invoices-${account}`])).length === count,
    { what: 'the documents in the tree' },
  );

/** Signs as a dispatcher does. */
async function sign(): Promise<void> {
  const { store } = service.commands;
  const now = () => new Date().toISOString();
  const by = { origin: signer.name, signerFor: () => signer, newUuid, now, logger: silent };
  await signTreeHead({ store, pool, files: notes, ...by });
  await waitFor(
    async () => {
      const size = 'select (select max(size) from proof_heads) = (select count(*) from proof_leaves) as is_signed';
      return (await service.sql<{ is_signed: boolean | null }>(size))[0]?.is_signed === true;
    },
    { what: 'the head in the read model' },
  );
}

/** The bytes of a file, which `Browser` reads as text. */
async function bytesOf({ url, cookies }: Browser, path: string): Promise<{ headers: Headers; bytes: Buffer }> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const answer = await fetch(`${url}${path}`, { headers: { cookie } });
  return { headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
}

beforeAll(async () => {
  pool = openTestPool(service.installation.environment.DATABASE_URL);
  support = await service.signedInAs('support');
  accountId = await service.openAccount('proven@example.com', 'dev_100');
  invoices = `/staff/accounts/${accountId}`;
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  await creditLine(accountId, 'CASE-1');
});

afterAll(() => pool.end());

describe('a document', () => {
  it('has no proof where nothing is signed: its page says nothing, its file why', async () => {
    for (const { browser, path } of paths) {
      expect(textOf(await browser().get(path()))).not.toContain('Proof');
      for (const as of ['proof', 'case_file']) {
        const answer = await browser().get(`${path()}?as=${as}`);
        expect([answer.status, textOf(answer)]).toEqual([409, expect.stringContaining('is not in the signed log yet')]);
      }
    }
  });

  it('shows the newest head that covers it', async () => {
    await sign();
    const [head] = await service.sql<{ note: string }>('select note from proof_heads order by size desc limit 1');
    const lines = head?.note.split('\n', 3) ?? [];
    expect(lines).toHaveLength(3);
    for (const { browser, path } of paths) {
      const page = await browser().get(path());
      expect(page.text).toContain(`<pre><code>${lines.join('\n')}</code></pre>`);
      expect(textOf(page)).toMatch(/Proof This document is in the signed log.* Download the proof Case file/);
    }
  });

  it.each([0, 1, 2, 3])('is proved by its file, and by its case file without personal data (%i)', async (which) => {
    const { browser, path, name } = paths[which]!;
    const proof = await bytesOf(browser(), `${path()}?as=proof`);
    expect(proof.headers.get('content-disposition')).toBe(`attachment; filename="${name()}.proof.json.gz"`);
    expect((await verify(gunzipSync(proof.bytes).toString(), publicKey, name())).verdict).toMatch(/^(INV|CN)-/);
    const page = await bytesOf(browser(), `${path()}?as=case_file`);
    expect(page.headers.get('content-disposition')).toBe(`attachment; filename="${name()}.case.html"`);
    const text = page.bytes.toString();
    expect(text).toContain(`Case file of ${name()}`);
    expect(text).not.toContain('proven@example.com');
    const [, inside = ''] = /<script id="proof" type="application\/gzip">([^<]+)</.exec(text) ?? [];
    expect(gunzipSync(Buffer.from(inside, 'base64')).equals(gunzipSync(proof.bytes))).toBe(true);
  });

  it('of another account is as one that there is not', async () => {
    const foreign = await service.openAccount('foreign@example.com', 'dev_100');
    const theirs = await service.newSession({ accountId: foreign, personId: openerOf(foreign) });
    await leavesAreThere(foreign, 1);
    for (const as of ['proof', 'case_file']) {
      expect((await theirs.get(`/console/credit-notes/1?as=${as}`)).status).toBe(404);
      expect((await theirs.get(`/console/invoices/2?as=${as}`)).status).toBe(404);
      expect((await support.get(`${invoices}/invoices/2?as=${as}`)).status).toBe(404);
    }
    // Its own is issued, and no head has it yet.
    const page = textOf(await theirs.get('/console/invoices/1'));
    expect(page).toMatch(/Proof This document is not in the signed log yet\. Its proof is here a few seconds after/);
    expect(page).not.toContain('Download the proof');
    expect((await theirs.get('/console/invoices/1?as=proof')).status).toBe(409);
    await sign();
    expect((await theirs.get('/console/invoices/1?as=proof')).status).toBe(200);
  });

  it('of a closed period is proved with each of its charges', async () => {
    const account = await chargedAccount(service, 3, { fee_cents: 100 });
    await closeAndInvoice(service, account);
    await leavesAreThere(account.accountId, 1);
    await sign();
    const path = `/staff/accounts/${account.accountId}/invoices/1`;
    const { bytes } = await bytesOf(support, `${path}?as=proof`);
    expect((await verify(gunzipSync(bytes).toString(), publicKey)).verdict).toContain('follows from 3 charges');
  });
});
