import { beforeAll, onTestFinished } from 'vitest';
import { createPendingVoids } from '../../src/adapters/postgres/pending-voids.ts';
import { readJob } from '../../src/commands/record-job-progress.ts';
import { startResolving } from '../../src/dispatcher/resolve-unknown-outcomes.ts';
import type { ChargeToVoid, PendingVoids, UnknownAppend } from '../../src/ports/billing.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { appendingBy } from '../commands/noted-reads.ts';
import { ask, midNovember, readUsage, type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { readModelsOfFile, silent, testMacs, type TestReadModels } from '../projections/read-models-under-test.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';

/** The process and the time that every pending void of these tests names. */
export const promised = { process: 'api test 1', at: '2026-11-14T11:59:59.000Z' };

/** A log, the table of promises, and whoever keeps them. */
export function resolvingUnderTest() {
  const log = logUnderTest();
  const models = readModelsOfFile();
  const parts = { models } as { models: TestReadModels; pendingVoids: PendingVoids };
  beforeAll(() => {
    const given = {
      storeOnStandby: models.storeOnStandby,
      macs: testMacs,
      now: () => promised.at,
      process: promised.process,
    };
    parts.pendingVoids = createPendingVoids(models.pool, given);
  });

  /** A log that notes what it is told to append to usage streams, and does it or not. */
  function noting(isStored: boolean): { store: EventStore; appends: UnknownAppend[] } {
    const appends: UnknownAppend[] = [];
    const append: EventStore['append'] = (stream, expected, events, options) => {
      appends.push({ accountId: stream.split('-')[1] ?? '', stream, expected, events });
      return isStored ? log.store.append(stream, expected, events, options) : Promise.resolve('not_sent');
    };
    return { store: appendingBy(log.store, append), appends };
  }

  /** Asks for something, and gives the append in which it was, or would have been, stored. */
  async function appendOf(
    account: UsageAccount,
    command: Parameters<typeof ask>[2],
    { isStored }: { isStored: boolean },
  ): Promise<UnknownAppend> {
    const { store, appends } = noting(isStored);
    await ask(writersOf(store), account, command, { timeoutMs: isStored ? patienceMs : 400 });
    const [append] = appends;
    if (!append) throw new Error('nothing was appended');
    return append;
  }

  function resolving(store: EventStore = log.store, pendingVoids = parts.pendingVoids) {
    const became: string[] = [];
    const resolver = startResolving({
      store,
      pendingVoids,
      newUuid,
      logger: silent,
      now: () => midNovember,
      everyMs: 20,
      voids: { unknownOutcomeResolved: (outcome) => void became.push(outcome) },
    });
    onTestFinished(() => resolver.stop());
    return { became, ...resolver };
  }

  const isPending = async (stream: string) =>
    (await parts.pendingVoids.list(1_000)).some(({ append }) => append.stream === stream);
  const resolved = (stream: string) =>
    waitFor(async () => !(await isPending(stream)), { what: 'the unknown outcome to be resolved' });
  const eventsIn = async (stream: string) => (await readUsage(log.store, stream)).map(({ event }) => event);
  const jobOf = (jobToken: string) => readJob(log.store, jobToken);
  return { log, parts, noting, appendOf, resolving, isPending, resolved, eventsIn, jobOf };
}

export const chargeFor = (jobToken: string): ChargeToVoid => ({ kind: 'download', token: jobToken });
