import { beforeEach, describe, expect, it } from 'vitest';
import { invoices } from '../../projections/invoices.ts';
import { overageLedger } from '../../projections/overage-ledger.ts';
import { findCreditNote, findInvoice, listDocuments } from '../../projections/queries/account-documents.ts';
import { ItemsMissing } from '../../projections/queries/line-items.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { changeBillingDetails } from '../../src/commands/accounts.ts';
import { ownCause } from '../../src/commands/handler/event-metadata.ts';
import { issueCreditNotes } from '../../src/commands/issue-credit-note.ts';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import { changeIssuerDetails } from '../../src/commands/issuer.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { endAndClose } from '../commands/close-books.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { ask, freshToken, type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { openOwned } from '../dispatcher/mailing.ts';
import { plan, video, waiveCommand } from '../domain/usage-examples.ts';
import { readModelsOfTest, type TestReadModels } from '../projections/read-models-under-test.ts';
import { patienceMs } from '../support/wait-for.ts';

const log = logUnderTest();
let models: TestReadModels;
beforeEach(async () => {
  models = await readModelsOfTest(log.store, [usageAndJobs, overageLedger, invoices]);
});

const january = '2027-01-01T00:00:00.000Z';
const dependencies = () => ({ store: log.store, now: () => january, newUuid, newId, randomBits });
const shown = () => ({ store: log.store, pool: models.pool, issuer: 'By Setting' });
const staff = { type: 'staff', id: 'R. Example', role: 'operator', reason: 'the file was broken' } as const;
const request = () => ({ correlationId: newUuid(), actor: staff, timeoutMs: patienceMs });

async function download(account: UsageAccount): Promise<string> {
  const token = freshToken();
  await ask(writersOf(log.store), account, { kind: 'queue_download', token, video, ...defaultOptions });
  return token;
}

/** Downloads at 25 cents and at 10, one voided, three waived in part or in whole, in a period that is closed and invoiced. */
async function invoicedAccount() {
  const account = await openOwned(log.store, { downloads_limit: 0, overage_cents: 25, fee_cents: 1900 });
  const dear = [await download(account), await download(account), await download(account)];
  const cheaper = { ...plan, downloads_limit: 0, overage_cents: 10, rate_version: 'cheaper', warning_percents: [] };
  await ask(writersOf(log.store), account, { kind: 'change_plan', terms: cheaper, effective: 'now' });
  const cheap = [await download(account), await download(account)];
  const waive = (token: string, reference: string, cents: number) =>
    correct(log.store, account.stream, waiveCommand(token, reference, cents), { actor: staff });
  await waive(dear[0]!, 'CASE-1', 5);
  await waive(cheap[0]!, 'CASE-2', 10);
  await waive(dear[1]!, 'CASE-3', 20);
  await correct(log.store, account.stream, { kind: 'void_download', token: dear[1]! });
  await correct(
    log.store,
    account.stream,
    { kind: 'return_service_failure', token: dear[2]!, reference: `service-failure-${dear[2]!}` },
    { actor: { type: 'system', id: 'service-failures' } },
  );
  await endAndClose(log.store, account, january);
  const actor = { type: 'system', id: 'test' } as const;
  await issueInvoice(dependencies(), { stream: account.stream, covers: 'period', actor, timeoutMs: patienceMs });
  return { account, accountId: account.accountId, dear, cheap };
}

describe('an invoice', () => {
  it('names of each waiver the download and the reason, by the rate of its line, and nothing that was voided', async () => {
    const { accountId, dear, cheap } = await invoicedAccount();
    await models.caughtUp();
    const invoice = await findInvoice(shown(), { accountId, number: 2, charges: false });
    const of = { platform: video.platform, video_id: video.videoId };
    const failed = { reference: `service-failure-${dear[2]!}`, reason: 'failure of the service' };
    expect(invoice?.lines).toMatchObject([
      { kind: 'overage', rate_cents: 25, quantity: 2 },
      { kind: 'overage', rate_cents: 10, quantity: 2 },
      {
        kind: 'waivers',
        rate_cents: 25,
        cents: -30,
        items: [
          { ...of, token: dear[0], reference: 'CASE-1', reason: 'the file was broken', cents: -5 },
          { ...of, token: dear[2], ...failed, cents: -25 },
        ],
      },
      { kind: 'waivers', rate_cents: 10, items: [{ ...of, token: cheap[0], reference: 'CASE-2', cents: -10 }] },
      { kind: 'fee' },
    ]);
    expect(invoice?.lines[0]).not.toHaveProperty('items');
    const charged = await findInvoice(shown(), { accountId, number: 2, charges: true });
    const tokensOf = (line: number) => charged?.lines[line]?.items?.map(({ token }) => token);
    expect(tokensOf(0)).toEqual([dear[0], dear[2]]);
    expect(tokensOf(1)).toEqual(cheap);
    expect(charged?.lines[0]?.items?.[0]).toMatchObject({ ...of, reference: null, reason: null, cents: 25 });
  });

  it('is not shown in part, where a read model lacks some of its events', async () => {
    const { account, accountId } = await invoicedAccount();
    await models.caughtUp();
    await models.pool.query("delete from overage_ledger where stream = $1 and reference = 'CASE-1'", [account.stream]);
    const found = findInvoice(shown(), { accountId, number: 2, charges: false });
    await expect(found).rejects.toThrow(ItemsMissing);
    await expect(found).rejects.toThrow('has 2 events over -30 cents, and the read models have 1 over -25 cents');
  });

  it('is undefined where there is none', async () => {
    expect(await findInvoice(shown(), { accountId: newId('acc'), number: 1, charges: false })).toBeUndefined();
    expect(await findCreditNote(shown(), { accountId: newId('acc'), number: 1 })).toBeUndefined();
  });
});

describe('names and addresses', () => {
  it('are those in force when the document was issued, whatever is changed later and with whatever time', async () => {
    const { accountId } = await invoicedAccount();
    const early = { ...dependencies(), now: () => '2026-11-14T12:00:00.000Z' };
    const rename = async (name: string) => {
      // The clock of this process is behind: the place in the log decides.
      await changeBillingDetails(early, { accountId, details: { name, country: 'GB' }, ...request() });
      await changeIssuerDetails(early, { name: 'By Setting', details: { name: `${name}’s issuer` }, ...request() });
    };
    const credit = (reference: string) =>
      issueCreditNotes(dependencies(), {
        credit: { account_id: accountId, reference, invoice_number: 1, line: 1, cents: 1 },
        cause: ownCause(newUuid(), staff),
        timeoutMs: patienceMs,
      });
    await rename('Ada');
    await credit('CASE-7');
    await rename('Grace');
    await credit('CASE-8');
    await models.caughtUp();
    const invoice = await findInvoice(shown(), { accountId, number: 1, charges: false });
    const email = expect.stringContaining('@example.com') as unknown;
    expect(invoice).toMatchObject({
      issuer: { name: 'By Setting', country: null },
      billed_to: { name: null, address_lines: [], country: null, tax_id: null, email },
    });
    expect(await findCreditNote(shown(), { accountId, number: 1 })).toMatchObject({
      issuer: { name: 'Ada’s issuer' },
      billed_to: { name: 'Ada', country: 'GB', email },
    });
    expect(await findCreditNote(shown(), { accountId, number: 2 })).toMatchObject({
      issuer: { name: 'Grace’s issuer' },
      billed_to: { name: 'Grace' },
    });
    const { invoices: listed, credit_notes: notes } = await listDocuments(shown(), accountId);
    expect(listed.map(({ number, credited_cents: cents }) => [number, cents])).toEqual([
      [1, 2],
      [2, 0],
    ]);
    const group = accountId.slice(4, 8).toUpperCase();
    expect(listed.map((one) => one.document_number)).toEqual([
      expect.stringMatching(new RegExp(`^INV-${group}-.*-1$`)),
      expect.stringMatching(new RegExp(`^INV-${group}-.*-2$`)),
    ]);
    expect(notes.map((one) => one.document_number)).toEqual([
      expect.stringMatching(/^CN-.*-1$/),
      expect.stringMatching(/^CN-.*-2$/),
    ]);
  });
});
