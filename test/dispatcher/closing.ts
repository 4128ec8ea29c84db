import { expect } from 'vitest';
import type { RebuildableProjection } from '../../projections/runner/projection.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import type { ClosingRound } from '../../src/commands/close-period.ts';
import { WriterRegistry } from '../../src/commands/usage/writer-registry.ts';
import { closePeriods, type ClosePeriodsDependencies } from '../../src/dispatcher/close-periods.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import type { InvoiceIssued } from '../../src/domain/invoice-events.ts';
import { parseInvoiceEvent } from '../../src/domain/parse-event.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { appendingBy } from '../commands/noted-reads.ts';
import { expectUnbrokenChain } from '../commands/unbroken-chain.ts';
import { readUsage, type UsageAccount } from '../commands/usage-account.ts';
import { readModelsOfFile, silent, testMacs, type TestReadModels } from '../projections/read-models-under-test.ts';
import { sum } from '../support/sum.ts';

/** A log and the read model of credits, both real, and the dispatcher's clock at any hour. */
export interface Closing {
  readonly store: EventStore;
  models: TestReadModels;
}

/** @param others read models besides that of credits */
export function closingUnderTest(...others: readonly RebuildableProjection[]): Closing {
  const log = logUnderTest();
  const models = readModelsOfFile(log, usageAndJobs, ...others);
  return {
    models,
    get store() {
      return log.store;
    },
  };
}

type Changed = Partial<Omit<ClosePeriodsDependencies, 'now'>> & { now: string };

/** The dependencies of a dispatcher whose clock stands; fresh ones each time, as after a restart. */
export function dispatcherAt({ store, models }: Closing, { now, ...changed }: Changed): ClosePeriodsDependencies {
  const own = { store, now: () => now, newUuid, ...changed };
  const writers = new WriterRegistry({ store: own.store, now: own.now, newId: newUuid });
  return {
    ...own,
    pool: models.pool,
    macs: testMacs,
    writers,
    logger: silent,
    graceSeconds: changed.graceSeconds ?? 3_600,
  };
}

/** One round on a read model that knows everything. */
export async function roundAt(parts: Closing, changed: Changed): Promise<ClosingRound> {
  await parts.models.caughtUp();
  return closePeriods(dispatcherAt(parts, changed), { setAside: new Map() });
}

/** Rounds until one does nothing more to this account. */
export async function roundsAt(parts: Closing, account: UsageAccount, changed: Changed): Promise<void> {
  for (;;) {
    const { rolledOver, closed, issued } = await roundAt(parts, changed);
    const isOfAccount = (name: string) => name.includes(account.accountId);
    const done = [...rolledOver, ...closed, ...issued.map(({ account_id: id }) => id)].filter(isOfAccount);
    if (done.length === 0) return;
  }
}

/** Types of the events of an account's period that starts on a day. */
export async function typesOf({ store }: Closing, { accountId }: UsageAccount, day: string): Promise<string[]> {
  return (await readUsage(store, usageStream(accountId, { start: day }))).map(({ event }) => event.type);
}

export async function invoicesOf({ store }: Closing, { accountId }: Pick<UsageAccount, 'accountId'>) {
  const recorded = await store.read(`invoices-${accountId}`, 0);
  expectUnbrokenChain(recorded);
  return recorded.map(parseInvoiceEvent);
}

/** Each invoice: what it covers, the day on which its period starts, and its total. */
export async function issuedTo(parts: Closing, account: UsageAccount): Promise<string[]> {
  const issued = (await invoicesOf(parts, account)).map(({ event }) => event.data as InvoiceIssued);
  expect(issued.map(({ number }) => number)).toEqual(issued.map((_, index) => index + 1));
  for (const { lines, total_cents: total } of issued) {
    expect(sum(lines.map(({ cents }) => cents))).toBe(total);
  }
  return issued.map(({ covers, period_start: start, total_cents }) => `${covers} ${start.slice(0, 10)} ${total_cents}`);
}

/** The same log, and how many appends to each account's streams were stored through it. */
export function countingAppends(store: EventStore): { store: EventStore; appends: string[] } {
  const appends: string[] = [];
  const append: EventStore['append'] = async (stream, ...rest) => {
    const outcome = await store.append(stream, ...rest);
    if (outcome === 'stored') appends.push(stream);
    return outcome;
  };
  return { appends, store: appendingBy(store, append) };
}
