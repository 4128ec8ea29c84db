import { describe, expect, it } from 'vitest';
import { openAccount, openFirstPeriod } from '../../src/commands/accounts.ts';
import { ownCause } from '../../src/commands/handler/event-metadata.ts';
import { issueCreditNotes } from '../../src/commands/issue-credit-note.ts';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import type { LineNote } from '../../src/domain/invoice.ts';
import type { CreditNoteIssued } from '../../src/domain/invoice-events.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { plan, token, waiveCommand } from '../domain/usage-examples.ts';
import { sum } from '../support/sum.ts';
import { patienceMs } from '../support/wait-for.ts';
import { endAndClose, endPeriods } from './close-books.ts';
import { correct } from './keyed-downloads.ts';
import { logUnderTest } from './log-under-test.ts';
import { expectUnbrokenChain } from './unbroken-chain.ts';
import { openUsage, queueAll, upFrom, type UsageAccount, writersOf } from './usage-account.ts';

const log = logUnderTest();

const december = '2026-12-01T00:00:00.000Z';
const actor = { type: 'system', id: 'test' } as const;
const dependencies = () => ({ store: log.store, now: () => december, newUuid });

const issue = (stream: string, covers: 'opening' | 'period') =>
  issueInvoice(dependencies(), { stream, covers, actor, timeoutMs: patienceMs });

/** An account whose November is closed: five downloads, of which three were charged with 25 cents each. */
async function closedAccount(): Promise<UsageAccount> {
  const account = await openUsage(log.store, { fee_cents: 0 });
  await queueAll(writersOf(log.store), account, upFrom(1, 5));
  const waiver = waiveCommand(token(5), 'EARLY', 10);
  await correct(log.store, account.stream, waiver);
  await endAndClose(log.store, account, december);
  return account;
}

async function invoicesOf(accountId: string) {
  const recorded = await log.store.read(`invoices-${accountId}`, 0);
  expectUnbrokenChain(recorded);
  return recorded;
}

describe('an invoice', () => {
  it('is issued once, however many ask for it at once', async () => {
    const { stream, accountId } = await closedAccount();
    const answers = await Promise.all(upFrom(0, 8).map(() => issue(stream, 'period')));
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    const [recorded, ...more] = await invoicesOf(accountId);
    expect(more).toEqual([]);
    expect(recorded?.data).toMatchObject({
      number: 1,
      covers: 'period',
      total_cents: 65,
      lines: [
        { kind: 'overage', quantity: 3, cents: 75, revisions: [[5, 9, 2]] },
        { kind: 'waivers', quantity: 1, cents: -10 },
      ],
    });
    const closed = (await log.store.read(stream, 0)).find(({ type }) => type === 'UsagePeriodClosed');
    expect(recorded?.metadata).toMatchObject({ $causationId: closed?.id, actor, time: december });
  });

  it('is refused for a period that is not closed, or is not the first', async () => {
    const account = await openUsage(log.store);
    await expect(issue(account.stream, 'period')).rejects.toThrow('the period is not closed');
    await endPeriods(log.store, account, december);
    const next = account.stream.replace('20261101', '20261201');
    await expect(issue(next, 'opening')).rejects.toThrow('is not the account');
    expect(await invoicesOf(account.accountId)).toEqual([]);
  });

  it('of the first fee comes with the opening of an account, and once', async () => {
    const request = { correlationId: newUuid(), actor, timeoutMs: patienceMs };
    const accounts = { ...dependencies(), newId, randomBits };
    const opened = await openAccount(accounts, { email: 'owner@example.com', terms: plan, ...request });
    if (isRefused(opened)) throw new Error(opened.refusal);
    const { accountId } = opened;
    expect((await invoicesOf(accountId)).map(({ data }) => data)).toMatchObject([
      {
        number: 1,
        covers: 'opening',
        period_start: december,
        total_cents: 1900,
        mail_to: [accountId.replace('acc_', 'per_')],
      },
    ]);
    await Promise.all([openFirstPeriod(accounts, accountId, request), openFirstPeriod(accounts, accountId, request)]);
    expect(await invoicesOf(accountId)).toHaveLength(1);
    const free = { ...plan, fee_cents: 0 };
    const other = await openAccount(accounts, { email: 'owner@example.com', terms: free, ...request });
    expect(await invoicesOf(isRefused(other) ? '' : other.accountId)).toEqual([]);
    const told = await openAccount(accounts, { email: 'a@example.com', terms: plan, mails: false, ...request });
    const [unmailed] = await invoicesOf(isRefused(told) ? '' : told.accountId);
    expect(unmailed?.data).toMatchObject({ number: 1, mail_to: [] });
  });
});

describe('a credit note', () => {
  const staff = { type: 'staff', id: 'R. Example', role: 'operator', reason: 'they failed' } as const;

  async function invoicedAccount() {
    const account = await closedAccount();
    await issue(account.stream, 'period');
    const { accountId, stream } = account;
    const order = () => ({ cause: ownCause(newUuid(), staff), timeoutMs: patienceMs });
    const credit = (note: Partial<LineNote>) =>
      issueCreditNotes(dependencies(), {
        credit: { account_id: accountId, reference: 'CASE-1', invoice_number: 1, line: 1, cents: 25, ...note },
        ...order(),
      });
    /** @param charges by the numbers of their downloads */
    const creditCharges = (reference: string, ...charges: [number: number, cents: number][]) =>
      issueCreditNotes(dependencies(), {
        credit: {
          accountId,
          reference,
          stream,
          charges: charges.map(([number, cents]) => ({ token: token(number), revision: 2 * number - 1, cents })),
        },
        ...order(),
      });
    return { accountId, credit, creditCharges };
  }

  const isIssued = (answer: object) => !isRefused(answer) && (answer as { events: object[] }).events.length > 0;

  it('is issued once for its reference, however often and at once it is asked for', async () => {
    const { accountId, credit } = await invoicedAccount();
    const answers = await Promise.all(upFrom(0, 8).map(() => credit({})));
    expect(answers.filter(isIssued)).toHaveLength(1);
    expect(answers.some(isRefused)).toBe(false);
    expect(await credit({ cents: 24 })).toEqual({ refusal: 'reference_reused' });
    const [, note, ...more] = await invoicesOf(accountId);
    expect(more).toEqual([]);
    expect(note).toMatchObject({
      type: 'CreditNoteIssued',
      data: { number: 1, cents: 25 },
      metadata: { actor: staff },
    });
  });

  it('never gives back more than the line or the invoice came to, nor than is left of a charge', async () => {
    const { accountId, credit, creditCharges } = await invoicedAccount();
    const exceeds = { refusal: 'exceeds_charge' };
    expect(await credit({ cents: 66 })).toEqual(exceeds);
    // Cents that were waived before the close are not given back once more.
    expect(isIssued(await creditCharges('CASE-1', [5, 16], [9, 1]))).toBe(true);
    expect(await creditCharges('CASE-2', [5, 1])).toEqual({ refusal: 'nothing_to_give_back' });
    expect(await creditCharges('CASE-3', [9, 1])).toEqual({ refusal: 'nothing_to_give_back' });
    const raced = await Promise.all(upFrom(1, 10).map((number) => credit({ cents: 10, reference: `RACE-${number}` })));
    expect(raced.filter((answer) => !isRefused(answer))).toHaveLength(5);
    expect(await credit({ cents: 1, reference: 'LAST' })).toEqual(exceeds);
    expect(await creditCharges('LAST', [3, 25])).toEqual({ refusal: 'nothing_to_give_back' });
    expect(await credit({ line: 2, cents: 1, reference: 'WAIVER' })).toEqual(exceeds);
    expect(await credit({ line: 3, cents: 1, reference: 'NONE' })).toEqual({ refusal: 'invoice_not_found' });
    expect(await credit({ invoice_number: 2, reference: 'NONE' })).toEqual({ refusal: 'invoice_not_found' });
    const [, ofCharge] = await invoicesOf(accountId);
    expect(ofCharge?.data).toMatchObject({ cents: 15, charges: [{ token: token(5), cents: 15 }] });
  });

  it('about charges never gives back one of them twice, however many ask at once', async () => {
    const { accountId, creditCharges } = await invoicedAccount();
    const answers = await Promise.all(
      upFrom(1, 8).map((number) => creditCharges(`CASE-${String(number)}`, [3, 20], [4, 20], [5, 20])),
    );
    expect(answers.filter(isIssued).length).toBeGreaterThan(0);
    const notes = (await invoicesOf(accountId)).slice(1).map(({ data }) => data as CreditNoteIssued);
    const ofCharge = (number: number) =>
      sum(
        notes
          .flatMap(({ charges }) => charges.filter((each) => each.token === token(number)))
          .map((each) => each.cents),
      );
    expect([3, 4, 5].map(ofCharge)).toEqual([25, 25, 15]);
    expect(notes.every(({ cents, charges }) => cents === sum(charges.map((each) => each.cents)))).toBe(true);
  });
});
