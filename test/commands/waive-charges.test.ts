import { describe, expect, it } from 'vitest';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import { eventsPerAppend, waiveCharges } from '../../src/commands/waive-charges.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { token } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { endAndClose } from './close-books.ts';
import { chargeOf } from './corrections-under-test.ts';
import { correct } from './keyed-downloads.ts';
import { logUnderTest } from './log-under-test.ts';
import { appendingBy, noteReads } from './noted-reads.ts';
import { midNovember, openUsage, queueAll, readUsage, upFrom, type UsageAccount, writersOf } from './usage-account.ts';

const log = logUnderTest();
const now = () => midNovember;
const december = '2026-12-01T00:00:00.000Z';
/** So long that few events fit into an append. */
const actor = { type: 'staff', id: 'Ada', role: 'operator', reason: 'ö'.repeat(500) } as const;

async function chargedAccount(count: number): Promise<UsageAccount> {
  const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 5 });
  const writers = writersOf(log.store);
  for (let first = 1; first <= count; first += 250)
    await queueAll(writers, account, upFrom(first, Math.min(250, count - first + 1)));
  return account;
}

const waive = (store: EventStore, { stream }: UsageAccount, numbers: readonly number[], reference = 'CASE-1') =>
  waiveCharges(
    { store, now, newUuid },
    { stream, charges: numbers.map(chargeOf), reference, actor, timeoutMs: patienceMs },
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

describe('waiving many charges', () => {
  it('names each once and exactly, in as many appends as needed, and again nothing', async () => {
    const account = await chargedAccount(700);
    const numbers = upFrom(1, 700).filter((number) => number % 7 !== 0);
    const { store, reads } = noteReads(log.store);
    const { waived } = await waive(store, account, numbers);
    // From the first charge on, and then what comes behind: the charges are read once.
    const [first, ...others] = reads(account.stream);
    expect(first).toBe(1);
    expect(others.filter((from) => from <= 2 * 700)).toEqual([]);
    const events = await waivedIn(account);
    expect(events).toEqual(waived);
    expect(events.map((each) => each.token)).toEqual(numbers.map(token));
    expect(events.every(({ cents, reference }) => cents === 5 && reference === 'CASE-1')).toBe(true);
    expect(await waive(log.store, account, numbers)).toEqual({ waived: [] });
    expect(await waivedIn(account)).toHaveLength(numbers.length);
  });

  it.each([1, 2, 3])('goes on where it was killed, after append %i', async (append) => {
    const perAppend = eventsPerAppend({ actor, reference: 'CASE-1' });
    const numbers = upFrom(1, 3 * perAppend);
    const account = await chargedAccount(numbers.length);
    await expect(waive(killedAfter(append), account, numbers)).rejects.toThrow(Killed);
    expect(await waivedIn(account)).toHaveLength(append * perAppend);
    await waive(log.store, account, numbers);
    expect((await waivedIn(account)).map((each) => each.token)).toEqual(numbers.map(token));
  });

  it('passes over what nothing is left of, and what is not there', async () => {
    const account = await chargedAccount(3);
    const waiver = { kind: 'waive_charge', token: token(1), cents: 2, reference: 'PART' } as const;
    await correct(log.store, account.stream, waiver);
    await correct(log.store, account.stream, { kind: 'void_download', token: token(2) });
    const { waived } = await waive(log.store, account, [1, 2, 3, 4]);
    expect(waived.map((each) => [each.token, each.cents])).toEqual([
      [token(1), 3],
      [token(3), 5],
    ]);
  });

  it('is refused once the books are closed, with what was done before that', async () => {
    const account = await chargedAccount(2);
    await endAndClose(log.store, account, december);
    expect(await waive(log.store, account, [1, 2])).toEqual({ waived: [], refused: { refusal: 'period_closed' } });
  });

  it('keeps every append below what an event store takes, whatever the reason', () => {
    expect(eventsPerAppend({ actor: { id: 'Ada', reason: 'x' }, reference: 'x' })).toBe(498);
    const longest = { actor: { id: '"'.repeat(500), reason: '語'.repeat(500) }, reference: '\\'.repeat(100) };
    expect(eventsPerAppend(longest) * (1_000 + Buffer.byteLength(JSON.stringify(longest)))).toBeLessThan(1024 * 1024);
  });

  it('leaves an invoice that fits, however many they are', async () => {
    const account = await chargedAccount(4_600);
    const request = { stream: account.stream, reference: 'CASE-1', timeoutMs: patienceMs };
    const brief = { ...actor, reason: 'outage' };
    await waiveCharges(
      { store: log.store, now, newUuid },
      { ...request, charges: upFrom(1, 4_600).map(chargeOf), actor: brief },
    );
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
