import type { Pool } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { projections } from '../../../projections/all.ts';
import { invoices } from '../../../projections/invoices.ts';
import { jobTimeline } from '../../../projections/job-timeline.ts';
import { overageLedger } from '../../../projections/overage-ledger.ts';
import type { RebuildableProjection } from '../../../projections/runner/projection.ts';
import { runProjections } from '../../../projections/runner/runner.ts';
import { catchUp } from '../../../projections/runner/wait-for-checkpoint.ts';
import type { EventStore } from '../../../src/ports/event-store.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { changedLog } from '../../commands/noted-reads.ts';
import { scaled } from '../../support/proof-scale.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { appendAll, GeneratedAccount } from '../generated-account.ts';
import { readModelsOfTest, silent, testMacs, type TestReadModels } from '../read-models-under-test.ts';
import { expectRowsOfQuietRunners, writeLog } from './rebuilding.ts';

/** Read models that read the log together, and what becomes of one that cannot go on with the others. */
const log = logUnderTest();

/** The log, and the names under which it is read now. */
function observedLog(): { store: EventStore; readers: string[] } {
  const readers: string[] = [];
  const subscribe: EventStore['subscribe'] = (options) => {
    const subscription = log.store.subscribe(options);
    readers.push(options.name);
    return {
      get caughtUp() {
        return subscription.caughtUp;
      },
      close: async () => {
        await subscription.close();
        readers.splice(readers.indexOf(options.name), 1);
      },
    };
  };
  return { store: changedLog(log.store, { subscribe }), readers };
}

interface Running {
  models: TestReadModels;
  readers: string[];
  close: () => Promise<void>;
}

async function runAll(
  changed: readonly RebuildableProjection[] = projections,
  existing?: TestReadModels,
): Promise<Running> {
  const models = existing ?? (await readModelsOfTest(log.store));
  const { store, readers } = observedLog();
  const pool = models.openAnother();
  const running = runProjections(changed, { store, pool, macs: testMacs, logger: silent });
  const close = () => running.close();
  onTestFinished(close);
  return { models, readers, close };
}

/** Less than a statement may wait for a lock. */
const withoutLockMs = 8_000;

const caughtUp = async (
  { pool }: { pool: Pool },
  of: readonly RebuildableProjection[] = projections,
  timeoutMs = patienceMs,
) => {
  for (const projection of of) expect(await catchUp({ store: log.store, pool }, projection, timeoutMs)).toBe(true);
};

/** As the last step of a rebuild does it. @returns what lets go of it again */
async function lockCheckpoint(models: TestReadModels, { name }: RebuildableProjection): Promise<() => Promise<void>> {
  const rebuild = await models.openAnother().connect();
  await rebuild.query('begin');
  await rebuild.query('select from checkpoints where name = $1 for update', [name]);
  return async () => {
    await rebuild.query('commit');
    rebuild.release();
  };
}

/** Every read model has the rows of one that was made alone, and the common reader is the only one. */
async function expectTogetherAgain({ models, readers }: Running): Promise<void> {
  await caughtUp(models);
  await expectRowsOfQuietRunners(log.store, models, projections);
  await waitFor(() => readers.join() === 'read models', { what: 'the common reader alone' });
}

const without = (one: RebuildableProjection) => projections.filter((projection) => projection !== one);
const others = without(overageLedger);

describe('read models that read the log together', () => {
  it('have the rows of those that read it alone, over a log that grows and over one that is there', async () => {
    const live = await runAll();
    await writeLog(log.store, 10);
    await expectTogetherAgain(live);
    await expectTogetherAgain(await runAll());
  });

  it('go on while one of them fails, which comes back', async () => {
    let failures = 0;
    let isBroken = false;
    const failing: RebuildableProjection = {
      ...overageLedger,
      start: (tools) => async (events, client) => {
        await overageLedger.start(tools)(events, client);
        if (!isBroken) return;
        failures += 1;
        throw new Error('a planted failure');
      },
    };
    const live = await runAll(projections.map((projection) => (projection === overageLedger ? failing : projection)));
    await writeLog(log.store, 2);
    await caughtUp(live.models);
    isBroken = true;
    await writeLog(log.store, 2);
    await caughtUp(live.models, others);
    await waitFor(() => failures >= 3, { what: 'the failing one to be tried again' });
    expect(live.readers).toEqual(['read models', 'overage_ledger']);
    isBroken = false;
    await expectTogetherAgain(live);
  });

  it('go on while the checkpoint of one of them is locked, as the end of a rebuild does it', async () => {
    const live = await runAll();
    await writeLog(log.store, 2);
    await caughtUp(live.models);
    const unlock = await lockCheckpoint(live.models, overageLedger);
    await writeLog(log.store, 2);
    await caughtUp(live.models, others);
    expect(live.readers).toEqual(['read models', 'overage_ledger']);
    await unlock();
    await expectTogetherAgain(live);
  });

  it.each([
    ['nothing comes for it', invoices],
    ['events come for it', overageLedger],
  ])('never wait for a locked checkpoint while %s, however often its read model returns', async (_, locked) => {
    const live = await runAll();
    const account = new GeneratedAccount();
    await appendAll(log.store, account.open());
    await caughtUp(live.models);
    const unlock = await lockCheckpoint(live.models, locked);
    const beginMs = performance.now();
    await appendAll(log.store, [account.issueKey().append]);
    while (performance.now() - beginMs < scaled(5_000, 30_000)) {
      await appendAll(log.store, [account.queue(1)]);
      await caughtUp(live.models, without(locked), withoutLockMs);
    }
    await unlock();
    await expectTogetherAgain(live);
  });

  it('never wait for a locked checkpoint when another of them fails', async () => {
    let isBroken = false;
    const failing: RebuildableProjection = {
      ...jobTimeline,
      start: (tools) => {
        const apply = jobTimeline.start(tools);
        return async (events, client) => {
          await apply(events, client);
          if (!isBroken) return;
          isBroken = false;
          throw new Error('a planted failure');
        };
      },
    };
    const live = await runAll(projections.map((projection) => (projection === jobTimeline ? failing : projection)));
    const account = new GeneratedAccount();
    await appendAll(log.store, account.open());
    await caughtUp(live.models);
    const unlock = await lockCheckpoint(live.models, overageLedger);
    isBroken = true;
    // One event for both.
    await appendAll(log.store, [account.queue(1)]);
    await caughtUp(live.models, without(overageLedger), withoutLockMs);
    await unlock();
    await expectTogetherAgain(live);
  });

  it('do not wait for one that begins behind them', async () => {
    await writeLog(log.store, 2);
    const before = await runAll();
    await caughtUp(before.models);
    await before.close();
    await before.models.pool.query(`delete from checkpoints where name = '${jobTimeline.name}'; truncate job_timeline`);
    const after = await runAll(projections, before.models);
    await waitFor(() => after.readers.join() === `read models,${jobTimeline.name}`, {
      what: 'the one that is behind to read by itself',
    });
    await expectTogetherAgain(after);
  });

  it('apply no event twice although transactions fail again and again, and two projectors overlap', async () => {
    let failures = 0;
    const failing = projections.map((projection) => ({
      ...projection,
      start: (tools: Parameters<RebuildableProjection['start']>[0]) => {
        const apply = projection.start(tools);
        return async (...given: Parameters<typeof apply>) => {
          await apply(...given);
          if ((failures += 1) % 3 === 0) await given[1].query('select pg_terminate_backend(pg_backend_pid())');
        };
      },
    }));
    const live = await runAll(failing);
    await runAll(failing, live.models);
    while (failures < 12) await writeLog(log.store, 1);
    await caughtUp(live.models);
    await expectRowsOfQuietRunners(log.store, live.models, projections);
  });
});
