import { beforeEach, describe, expect, it } from 'vitest';
import { listChargesLeft } from '../../projections/charge-left.ts';
import { invoices } from '../../projections/invoices.ts';
import { overageLedger } from '../../projections/overage-ledger.ts';
import {
  beforeAllEnds,
  listEnded,
  listPlacesPassed,
  readEnded,
  readLastEnded,
} from '../../projections/queries/ended-downloads.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { ownCause } from '../../src/commands/handler/event-metadata.ts';
import { issueCreditNotes } from '../../src/commands/issue-credit-note.ts';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { chargeDownloads, failDownload } from '../commands/charged-account.ts';
import { endAndClose } from '../commands/close-books.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { ask, freshToken, midNovember, openUsage, type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { openOwned } from '../dispatcher/mailing.ts';
import { video } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { readModelsOfTest, type TestReadModels } from './read-models-under-test.ts';

const log = logUnderTest();
let models: TestReadModels;
beforeEach(async () => {
  models = await readModelsOfTest(log.store, [usageAndJobs, overageLedger, invoices]);
});

const january = '2027-01-01T00:00:00.000Z';
const staff = { type: 'staff', id: 'R. Example', role: 'operator', reason: 'the file was broken' } as const;

async function download(account: UsageAccount): Promise<string> {
  const token = freshToken();
  await ask(writersOf(log.store), account, { kind: 'queue_download', token, video, ...defaultOptions });
  return token;
}

/** With one credit, and 25 cents for each download more. */
const openAccount = () => openOwned(log.store, { downloads_limit: 1, overage_cents: 25, fee_cents: 1900 });

const chargeRevisionOf = async ({ stream }: UsageAccount, token: string): Promise<number> => {
  const events = (await log.store.read(stream, 0)).map(parseUsageEvent);
  const charge = events.find(({ event }) => event.type === 'OverageCharged' && event.data.token === token);
  return charge?.revision ?? 0;
};

describe('the charge of a download', () => {
  const leftOf = async (...tokens: string[]) => {
    await models.caughtUp();
    const left = await listChargesLeft(models.pool, tokens);
    return tokens.map((token) => left.get(token));
  };

  it('holds its credit until that is given back by a void, or for a failure of the service', async () => {
    const [voided, returned] = [await openAccount(), await openAccount()];
    const tokens = [await download(voided), await download(returned)] as const;
    expect(await leftOf(...tokens)).toEqual(tokens.map(() => ({ credits: 1, given_back_cents: 0 })));
    await correct(log.store, voided.stream, { kind: 'void_download', token: tokens[0] });
    const reference = `service-failure-${tokens[1]}`;
    await correct(
      log.store,
      returned.stream,
      { kind: 'return_service_failure', token: tokens[1], reference },
      { actor: { type: 'system', id: 'service-failures' } },
    );
    expect(await leftOf(...tokens)).toEqual(tokens.map(() => ({ credits: 0, given_back_cents: 0 })));
  });

  it('beyond the allowance is less waivers, a void, and credit notes about it', async () => {
    const account = await openAccount();
    const onCredit = await download(account);
    const [kept, waived, voided, credited] = [
      await download(account),
      await download(account),
      await download(account),
      await download(account),
    ] as const;
    const waive = (token: string, reference: string, cents: number) =>
      correct(
        log.store,
        account.stream,
        { kind: 'waive_charges', charges: [{ token, cents }], reference },
        { actor: staff },
      );
    await waive(waived, 'CASE-1', 5);
    await waive(waived, 'CASE-2', 7);
    await waive(voided, 'CASE-3', 5);
    await waive(credited, 'CASE-4', 5);
    await correct(log.store, account.stream, { kind: 'void_download', token: voided });
    await endAndClose(log.store, account, january);
    const dependencies = { store: log.store, now: () => january, newUuid };
    const actor = { type: 'system', id: 'test' } as const;
    await issueInvoice(dependencies, { stream: account.stream, covers: 'period', actor, timeoutMs: patienceMs });
    const revision = await chargeRevisionOf(account, credited);
    for (const [reference, cents] of [['CASE-5', 4] as const, ['CASE-6', 6] as const]) {
      const { accountId, stream } = account;
      const credit = { accountId, stream, reference, charges: [{ token: credited, revision, cents }] };
      await issueCreditNotes(dependencies, { credit, cause: ownCause(newUuid(), staff), timeoutMs: patienceMs });
    }
    // A note about the line as a whole: nobody has said of which download.
    const { accountId } = account;
    const credit = { account_id: accountId, invoice_number: 1, line: 1, reference: 'CASE-7', cents: 2 };
    await issueCreditNotes(dependencies, { credit, cause: ownCause(newUuid(), staff), timeoutMs: patienceMs });
    expect(await leftOf(onCredit, kept, waived, voided, credited)).toEqual([
      { credits: 1, given_back_cents: 0 },
      { credits: 0, given_back_cents: 0 },
      { credits: 0, given_back_cents: 12 },
      { credits: 0, given_back_cents: 25 },
      { credits: 0, given_back_cents: 15 },
    ]);
  });
});

describe('ended downloads', () => {
  it('come in the order of their ends, page by page, of one account', async () => {
    const open = async (downloads: number) =>
      chargeDownloads(writersOf(log.store), await openUsage(log.store), { downloads });
    const [account, other] = [await open(5), await open(1)];
    const [foreign = ''] = other.tokens;
    const order = [3, 1, 4, 0].map((at) => account.tokens[at] ?? '');
    const [first = '', ...others] = order;
    // By the clocks of several machines: the log alone has an order.
    const minutes = [5, 9, 1, 7, 3];
    for (const [index, token] of [first, foreign, ...others].entries()) {
      const now = () => midNovember.replace('12:00', `12:0${String(minutes[index])}`);
      const of = { token, reason: 'private_video', fault: 'video' } as const;
      await failDownload({ store: log.store, now }, token === foreign ? other : account, of);
    }
    await models.caughtUp();
    const { accountId } = account;
    const read = async (position: bigint, limit = 100) => listEnded(models.pool, { accountId, position, limit });
    const all = await read(beforeAllEnds);
    expect(all.map(({ job }) => job.token)).toEqual(order);
    const pages = [];
    for (let position = beforeAllEnds; ;) {
      const page = await read(position, 3);
      if (page.length === 0) break;
      pages.push(page.map(({ job }) => job.token));
      position = page.at(-1)?.position ?? position;
    }
    expect(pages).toEqual([order.slice(0, 3), order.slice(3)]);
    const last = all.at(-1)?.position ?? 0n;
    expect(await readLastEnded(models.pool, { accountId })).toEqual({ token: order[3], position: last });
    expect(await readLastEnded(models.pool, { accountId, before: '2000-01-01T00:00:00.000Z' })).toBeUndefined();
    expect(await readEnded(models.pool, { accountId, token: order[3] ?? '' })).toMatchObject({ position: last });
    for (const token of [foreign, account.tokens[2] ?? '', 'nobody'])
      expect(await readEnded(models.pool, { accountId, token })).toBeUndefined();
    const places = [
      { accountId, position: last },
      { accountId, position: last - 1n },
      { accountId: other.accountId, position: beforeAllEnds },
      { accountId: other.accountId, position: last },
    ];
    expect(new Set(await listPlacesPassed(models.pool, places))).toEqual(new Set([places[1], places[2]]));
  });
});
