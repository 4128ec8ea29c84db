import { describe, expect, it, onTestFinished } from 'vitest';
import { readCredits } from '../../projections/credits.ts';
import { ownCause } from '../../src/commands/handler/event-metadata.ts';
import { issueCreditNotes } from '../../src/commands/issue-credit-note.ts';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import { dispatchDownloads } from '../../src/dispatcher/dispatch-downloads.ts';
import { startReturningServiceFailures } from '../../src/dispatcher/return-service-failures.ts';
import type { Fault } from '../../src/domain/download-job-events.ts';
import type { Terms } from '../../src/domain/plans.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import type { JobMessage } from '../../src/ports/job-queue.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { closeBooks, endPeriods } from '../commands/close-books.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { appendingBy } from '../commands/noted-reads.ts';
import {
  ask,
  downloadOf,
  freshToken,
  midNovember,
  openUsage,
  queueAll,
  readUsage,
  upFrom,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { waiveCommand } from '../domain/usage-examples.ts';
import { believed, silent, testMacs } from '../projections/read-models-under-test.ts';
import { countRows } from '../support/postgres.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { claimOne, dispatchingUnderTest, stepOne } from './dispatching.ts';

const parts = dispatchingUnderTest();
const december = '2026-12-01T00:00:00.000Z';
const reference = (number: number, of: Used) => `service-failure-${of.tokens[number - 1] ?? ''}`;

interface Used {
  account: UsageAccount;
  /** The tokens of its downloads, from the first. */
  tokens: string[];
}

/** An account with one download included; its second and third are charged with 25 cents each. */
async function usedAccount(terms: Partial<Terms> = {}): Promise<Used> {
  const account = await openUsage(parts.store, { downloads_limit: 1, fee_cents: 0, ...terms });
  const tokens = upFrom(1, 3).map(freshToken);
  for (const own of tokens) await ask(writersOf(parts.store), account, downloadOf(own));
  return { account, tokens };
}

/** Three attempts, each of which fails. */
async function fail({ account, tokens }: Used, number: number, fault: Fault = 'service'): Promise<void> {
  const own = tokens[number - 1] ?? '';
  const message: JobMessage = { token: own, usageStream: account.stream, usageRevision: 2 * number };
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const now = `2026-11-14T1${attempt}:00:00.000Z`;
    const claim = await claimOne(parts, message, { workerId: newId('wrk'), now });
    await stepOne(parts, { kind: 'give_up', token: own, claim, reason: 'internal_error', fault }, now);
  }
}

const end = ({ account }: Used) => endPeriods(parts.store, account, december);
const close = ({ account }: Used) => closeBooks(parts.store, account.stream, december);
const issue = ({ account }: Used) =>
  issueInvoice(
    { store: parts.store, now: () => december, newUuid },
    { stream: account.stream, covers: 'period', actor: { type: 'system', id: 'test' }, timeoutMs: patienceMs },
  );

/** The dispatcher's part: notes failures on its way through the log, and gives their charges back. */
async function giveBack(store: EventStore = parts.store, now = december): Promise<void> {
  const { pool } = parts.models;
  await parts.models.caughtUp();
  const dispatching = dispatchDownloads({ store: parts.store, queue: parts.queue, pool });
  // Its checkpoint follows events of other streams late, or not at all.
  const asked = [{ streamPrefixes: ['usage-', 'job-'], after: -1n }];
  const [newest = 0n] = await parts.store.newestPositions(asked);
  await waitFor(async () => (await dispatchedTo()) >= newest, { what: 'the dispatcher to have seen all' });
  await dispatching.close();
  const returning = startReturningServiceFailures({
    store,
    pool,
    logger: silent,
    newUuid,
    now: () => now,
    everyMs: 10,
    setAsideMs: 10,
    readCredits: async (stream) => believed(await readCredits(pool, stream, testMacs)),
  });
  onTestFinished(() => returning.stop());
  await waitFor(async () => (await waiting()) === 0, { what: 'everything to be given back' });
  await returning.stop();
}

const one = async (query: string) => (await parts.models.pool.query<{ value: string | null }>(query)).rows[0]?.value;
const dispatchedTo = async () =>
  BigInt((await one("select position::text as value from checkpoints where name = 'dispatch'")) ?? 0);
const waiting = () => countRows(parts.models.pool, 'service_failures');

async function correctionsOf({ account }: Used) {
  const given = ['ChargeWaived', 'DownloadCreditReturned'];
  return (await readUsage(parts.store, account.stream)).filter(({ event }) => given.includes(event.type));
}

const notesOf = async ({ account }: Used) =>
  (await parts.store.read(`invoices-${account.accountId}`, 0)).filter(({ type }) => type === 'CreditNoteIssued');

describe('a failure of the service', () => {
  it('is given back while the period is open: the credit, and the charge, each once and by its JobFailed', async () => {
    const used = await usedAccount();
    await fail(used, 1);
    await fail(used, 3);
    await giveBack(parts.store, midNovember);
    const corrections = await correctionsOf(used);
    expect(corrections.map(({ event }) => event)).toMatchObject([
      { type: 'DownloadCreditReturned', data: { token: used.tokens[0] } },
      { type: 'ChargeWaived', data: { token: used.tokens[2], cents: 25, reference: reference(3, used) } },
    ]);
    for (const [index, number] of [1, 3].entries()) {
      const failed = (await parts.store.read(`job-${used.tokens[number - 1] ?? ''}`, 0)).at(-1);
      expect(corrections[index]?.metadata).toMatchObject({
        actor: { type: 'system', id: 'service-failures' },
        $causationId: failed?.id,
        $correlationId: (failed?.metadata as { $correlationId: string }).$correlationId,
      });
    }
    await parts.models.caughtUp();
    const credits = believed(await readCredits(parts.models.pool, used.account.stream, testMacs));
    expect(credits?.usage).toMatchObject({ downloads: 3, downloadCredits: 0, overageDownloads: 1, overageCents: 25 });
    // The credit is there for the next download, which has the next ordinal.
    const [next] = await queueAll(writersOf(parts.store), used.account, [9]);
    expect(next).toMatchObject({ events: [{ type: 'DownloadCreditDebited', data: { ordinal: 4 } }, {}] });
  });

  it('is given back once it has ended, into the period that it was charged in', async () => {
    const used = await usedAccount();
    await fail(used, 1);
    await fail(used, 2);
    await end(used);
    await giveBack();
    expect((await correctionsOf(used)).map(({ event }) => event.type)).toEqual([
      'DownloadCreditReturned',
      'ChargeWaived',
    ]);
    await close(used);
    expect((await issue(used))?.lines).toMatchObject([
      { kind: 'overage', quantity: 2, cents: 50 },
      { kind: 'waivers', quantity: 1, cents: -25 },
    ]);
  });

  it('is credited after the close, once its invoice is there; a credit is worth nothing any more', async () => {
    const used = await usedAccount();
    await fail(used, 1);
    await fail(used, 2);
    await end(used);
    await close(used);
    const giving = giveBack();
    await issue(used);
    await giving;
    expect(await correctionsOf(used)).toEqual([]);
    const notes = await notesOf(used);
    const charge = (await parts.store.read(used.account.stream, 3, 1))[0];
    expect(notes.map(({ data }) => data)).toEqual([
      {
        number: 1,
        account_id: used.account.accountId,
        reference: reference(2, used),
        invoice_number: 1,
        line: 1,
        charges: [{ token: expect.any(String) as unknown, charge_event_id: charge?.id, cents: 25 }],
        currency: 'USD',
        cents: 25,
        // The account was never opened: it has no people.
        mail_to: [],
      },
    ]);
    const failed = (await parts.store.read(`job-${used.tokens[1] ?? ''}`, 0)).at(-1);
    const actor = { type: 'system', id: 'service-failures' };
    expect(notes[0]?.metadata).toMatchObject({ actor, $causationId: failed?.id });
  });

  it('that somebody gave back already is not given back again', async () => {
    const used = await usedAccount();
    const [, second = '', third = ''] = used.tokens;
    await fail(used, 2);
    await fail(used, 3);
    const [{ store }, { stream }] = [parts, used.account];
    await correct(store, stream, waiveCommand(second, 'CASE-1'));
    await correct(store, stream, waiveCommand(third, 'CASE-1', 10));
    await giveBack();
    const ours = (await correctionsOf(used)).map(({ event }) => event.data).slice(2);
    expect(ours).toMatchObject([{ token: third, cents: 15, reference: reference(3, used) }]);
  });

  it('that was credited already leaves less of its line', async () => {
    const used = await usedAccount();
    await fail(used, 2);
    await end(used);
    await close(used);
    await issue(used);
    const note = { account_id: used.account.accountId, reference: 'CASE-1', invoice_number: 1, line: 1, cents: 40 };
    await issueCreditNotes(
      { store: parts.store, now: () => december },
      {
        credit: note,
        cause: ownCause(newUuid(), { type: 'staff', id: 'Ada', role: 'operator', reason: 'outage' }),
        timeoutMs: patienceMs,
      },
    );
    await giveBack();
    expect((await notesOf(used)).map(({ data }) => (data as { cents: number }).cents)).toEqual([40, 10]);
  });

  it('stays charged where it is the fault of the video, or where the terms do not give back', async () => {
    const [video, off] = [await usedAccount(), await usedAccount({ service_failures_returned: false })];
    await fail(video, 2, 'video');
    for (const number of [1, 2]) await fail(off, number);
    await giveBack();
    expect(await correctionsOf(video)).toEqual([]);
    expect(await correctionsOf(off)).toEqual([]);
  });

  it('is given back once by two dispatchers at once, and whatever was killed in between', async () => {
    const used = await usedAccount();
    for (const number of [1, 2, 3]) await fail(used, number);
    let lost = 0;
    // Each append is stored, and nobody hears of the first: the round that made it fails.
    const forgetful = appendingBy(parts.store, async (...given) => {
      const outcome = await parts.store.append(...given);
      if (lost++ < 3) throw new Error('killed');
      return outcome;
    });
    await giveBack(forgetful);
    expect(lost).toBe(3);
    // The list is lost and made again, and two look at it at once.
    const { pool } = parts.models;
    await pool.query('insert into service_failures (token) select unnest($1::text[])', [used.tokens]);
    await Promise.all([giveBack(), giveBack()]);
    expect((await correctionsOf(used)).map(({ event }) => (event.data as { token: string }).token)).toEqual(
      used.tokens,
    );
  });

  it('is not believed from a row alone', async () => {
    const used = await usedAccount();
    await fail(used, 3, 'video');
    // One that has not failed, and one by another's fault.
    await parts.models.pool.query('insert into service_failures (token) select unnest($1::text[])', [
      used.tokens.slice(1),
    ]);
    await giveBack();
    expect(await correctionsOf(used)).toEqual([]);
  });
});
