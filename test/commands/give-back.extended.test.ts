import { describe, expect, it } from 'vitest';
import { giveBack, giveBackCharges } from '../../src/commands/give-back.ts';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import { newStaffCache } from '../../src/commands/staff.ts';
import { maxChargesOfCorrection } from '../../src/domain/correction-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { token, waiveCommand } from '../domain/usage-examples.ts';
import { accepted } from '../support/accepted.ts';
import { patienceMs } from '../support/wait-for.ts';
import { endAndClose } from './close-books.ts';
import { chargeOf, correctionsOf, desk, documentsOf } from './corrections-under-test.ts';
import { correct } from './keyed-downloads.ts';
import { logUnderTest } from './log-under-test.ts';
import { appendingBy } from './noted-reads.ts';
import { hire } from './staff-under-test.ts';
import { midNovember, openUsage, queueAll, readUsage, upFrom, type UsageAccount, writersOf } from './usage-account.ts';

const log = logUnderTest();
const now = () => midNovember;
const december = '2026-12-01T00:00:00.000Z';
/** As long as it may be: the waivers of a correction are one append. */
const wordy = { type: 'staff', id: '語'.repeat(500), role: 'operator', reason: '語'.repeat(500) } as const;

async function chargedAccount(count: number): Promise<UsageAccount> {
  const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 5 });
  const writers = writersOf(log.store);
  for (let first = 1; first <= count; first += 250)
    await queueAll(writers, account, upFrom(first, Math.min(250, count - first + 1)));
  return account;
}

const waive = (
  store: EventStore,
  { accountId, stream }: UsageAccount,
  numbers: readonly number[],
  { reference = 'CASE-1', operator = wordy } = {},
) =>
  giveBackCharges(
    { store, now, newUuid, staffCache: newStaffCache() },
    {
      accountId,
      stream,
      charges: numbers.map(chargeOf),
      reference,
      operator,
      limitCents: 5_000,
      timeoutMs: patienceMs,
    },
  );

async function waivedIn({ stream }: UsageAccount) {
  const stored = await readUsage(log.store, stream);
  return stored.flatMap(({ event }) => (event.type === 'ChargeWaived' ? [event.data] : []));
}

class Killed extends Error {}

/** A process that is killed after its n-th append, which leaves the same as a kill before the next one. */
function killedAfter(append: number): EventStore {
  let appends = 0;
  return appendingBy(log.store, async (...given) => {
    const outcome = await log.store.append(...given);
    appends += 1;
    if (appends === append) throw new Killed();
    return outcome;
  });
}

describe('an operator who gives back many charges', () => {
  it('names each once and exactly, in as many corrections as needed, and again nothing', async () => {
    const account = await chargedAccount(700);
    const numbers = upFrom(1, 700).filter((number) => number % 7 !== 0);
    expect(await waive(log.store, account, numbers)).toBeUndefined();
    const events = await waivedIn(account);
    expect(events.map((each) => each.token)).toEqual(numbers.map(token));
    expect(events.every(({ cents, reference }) => cents === 5 && reference === 'CASE-1')).toBe(true);
    expect(await waive(log.store, account, numbers)).toBeUndefined();
    expect(await waivedIn(account)).toHaveLength(numbers.length);
    const corrections = await correctionsOf(log.store, account);
    expect(corrections.map(({ event }) => event.type)).toEqual(
      [1, 2, 3].flatMap(() => ['CorrectionAsked', 'CorrectionMade']),
    );
  });

  it.each([1, 2, 3, 4, 5, 6])('goes on where it was killed, after append %i', async (append) => {
    const numbers = upFrom(1, maxChargesOfCorrection + 1);
    const account = await chargedAccount(numbers.length);
    await expect(waive(killedAfter(append), account, numbers)).rejects.toThrow(Killed);
    // Somebody else goes on, with a read model that knows of more failures, and no more of the earlier ones.
    const operator = { ...wordy, id: 'Grace', reason: 'goes on' };
    expect(await waive(log.store, account, numbers, { operator })).toBeUndefined();
    expect((await waivedIn(account)).map((each) => each.token)).toEqual(numbers.map(token));
    const ends = (await correctionsOf(log.store, account)).filter(({ event }) => event.type === 'CorrectionMade');
    expect(ends).toHaveLength(2);
  });

  it('passes over what nothing is left of', async () => {
    const account = await chargedAccount(3);
    const waiver = waiveCommand(token(1), 'PART', 2);
    await correct(log.store, account.stream, waiver);
    await correct(log.store, account.stream, { kind: 'void_download', token: token(2) });
    expect(await waive(log.store, account, [1, 2, 3])).toBeUndefined();
    expect((await waivedIn(account)).map((each) => [each.token, each.cents])).toEqual([
      [token(1), 2],
      [token(1), 3],
      [token(3), 5],
    ]);
  });

  it('credits them once the books are closed, in as many notes, and waits for the invoice', async () => {
    const count = maxChargesOfCorrection + 2;
    const account = await chargedAccount(count);
    await endAndClose(log.store, account, december);
    const numbers = upFrom(1, count);
    expect(await waive(log.store, account, numbers)).toEqual({ refusal: 'invoice_not_found' });
    await issueInvoice(
      { store: log.store, now: () => december, newUuid },
      { stream: account.stream, covers: 'period', actor: { type: 'system', id: 'test' }, timeoutMs: patienceMs },
    );
    for (let time = 0; time < 2; time += 1) {
      expect(await waive(log.store, account, numbers)).toBeUndefined();
      const notes = (await documentsOf(log.store, account)).flatMap(({ event }) =>
        event.type === 'CreditNoteIssued' ? [event.data] : [],
      );
      expect(notes.map(({ reference, charges, cents }) => [reference, charges.length, cents])).toEqual([
        ['CASE-1', maxChargesOfCorrection, 5 * maxChargesOfCorrection],
        ['CASE-1', 2, 10],
      ]);
      expect(notes.flatMap(({ charges }) => charges.map((each) => each.token))).toEqual(numbers.map(token));
    }
  });

  it('leaves an invoice that fits, however many they are', async () => {
    const account = await chargedAccount(4_600);
    const charges = upFrom(1, 4_600).map((number) => ({ token: token(number), cents: 5 }));
    for (let first = 0; first < charges.length; first += 460) {
      const some = charges.slice(first, first + 460);
      await correct(log.store, account.stream, { kind: 'waive_charges', charges: some, reference: 'CASE-1' });
    }
    await endAndClose(log.store, account, december);
    const invoice = await issueInvoice(
      { store: log.store, now: () => december, newUuid },
      { stream: account.stream, covers: 'period', actor: { type: 'system', id: 'test' }, timeoutMs: patienceMs },
    );
    expect(invoice?.lines).toMatchObject([
      { kind: 'overage', quantity: 4_600, cents: 23_000 },
      { kind: 'waivers', quantity: 4_600, cents: -23_000 },
      { kind: 'fee' },
    ]);
  });
});

describe('an operator who gives something back', () => {
  const operator = { type: 'staff', id: 'Ada', role: 'operator', reason: 'it failed' } as const;

  async function deskOfOperator(store: EventStore = log.store) {
    const account = await chargedAccount(2);
    const { accountId, stream } = account;
    const give = (changed: { cents?: number; reference?: string; by?: string } = {}) => {
      const { cents, reference = 'CASE-1', by = 'Ada' } = changed;
      const correction = { kind: 'charges', stream, charges: [{ ...chargeOf(1), cents }] } as const;
      const order = { accountId, reference, correction, limitCents: 0, timeoutMs: patienceMs };
      const dependencies = { store, now, newUuid, staffCache: newStaffCache() };
      return giveBack(dependencies, { ...order, operator: { ...operator, id: by } });
    };
    return { account, give };
  }

  it('asks for it like everybody, and nobody has to approve it, whatever the limit is', async () => {
    const { account, give } = await deskOfOperator();
    expect(accepted(await give())).toMatchObject({ status: 'made', madeCents: 5, needsApproval: false });
    const [asked, made] = await correctionsOf(log.store, account);
    expect(asked).toMatchObject({
      event: { type: 'CorrectionAsked', data: { cents: 5 } },
      metadata: { actor: operator },
    });
    expect(made).toMatchObject({ event: { type: 'CorrectionMade' }, metadata: { $causationId: asked?.id } });
    const [waiver] = (await log.store.read(account.stream, 0)).filter(({ type }) => type === 'ChargeWaived');
    expect(waiver?.metadata).toMatchObject({ actor: operator, $causationId: asked?.id });
  });

  it('gives back once, however often and by whom it is repeated; another amount is another order', async () => {
    const { account, give } = await deskOfOperator();
    await Promise.all([give(), give(), give({ by: 'Grace' })]);
    expect(accepted(await give({ by: 'Grace' })).madeCents).toBe(5);
    expect(await give({ cents: 4 })).toEqual({ refusal: 'reference_reused' });
    expect(await waivedIn(account)).toHaveLength(1);
  });

  it('is told why nothing is given back', async () => {
    const { account, give } = await deskOfOperator();
    expect(await give({ cents: 6 })).toEqual({ refusal: 'exceeds_charge' });
    await give();
    expect(await give({ reference: 'CASE-2' })).toEqual({ refusal: 'nothing_to_give_back' });
    expect((await correctionsOf(log.store, account)).map(({ event }) => event.type)).toEqual([
      'CorrectionAsked',
      'CorrectionMade',
    ]);
  });

  it('counts for nobody’s limit of a day', async () => {
    const { account, give } = await deskOfOperator();
    await give();
    const fay = await hire(log.store, 'finance');
    const asked = await desk(log.store, account).ask(fay, {
      correction: { kind: 'charges', stream: account.stream, charges: [chargeOf(2)] },
      cents: 5,
    });
    expect(accepted(asked)).toMatchObject({ status: 'permitted', needsApproval: false });
  });
});
