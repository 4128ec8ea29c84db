import { describe, expect, it } from 'vitest';
import { jobTimeline } from '../../../projections/job-timeline.ts';
import { applyBatch } from '../../../projections/runner/apply-batch.ts';
import { openCheckpoint, readReached } from '../../../projections/runner/checkpoints.ts';
import type { Apply, Projection } from '../../../projections/runner/projection.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { claimJob, readQueuedJob } from '../../../src/commands/record-job-progress.ts';
import { positionOfEvent } from '../../../src/ports/log-position.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import {
  ask,
  downloadOf,
  freshToken,
  midNovember,
  openUsage,
  queueAll,
  upFrom,
  writersOf,
} from '../../commands/usage-account.ts';
import { scaled } from '../../support/proof-scale.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { createReadModels, readModelsOfTest, type TestReadModels } from '../read-models-under-test.ts';
import { rowsOf, rowsOfQuietRunner } from './rebuilding.ts';

const log = logUnderTest();

/** Downloads of several accounts, in small appends, some of them claimed. */
async function queueDownloads(accountCount: number, downloadsEach: number): Promise<void> {
  const writers = writersOf(log.store);
  const accounts = await Promise.all(
    Array.from({ length: accountCount }, () => openUsage(log.store, { downloads_limit: 5 })),
  );
  await Promise.all(
    accounts.map(async (account) => {
      for (let first = 1; first <= downloadsEach; first += 5) {
        const answers = await Promise.all(upFrom(first, 5).map(() => ask(writers, account, downloadOf(freshToken()))));
        expect(answers.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'accepted'));
      }
      const [, , queued] = await log.store.read(account.stream, 0, 3);
      const { token } = queued!.data as { token: string };
      const message = { token, usageStream: account.stream, usageRevision: 2 };
      const job = await readQueuedJob(log.store, message);
      const dependencies = { store: log.store, now: () => midNovember, newUuid };
      await claimJob(dependencies, { workerId: 'wrk_aaaaaaaaaaaaaaaa', job: job!, message, timeoutMs: patienceMs });
    }),
  );
}

const rowsInAll = (models: TestReadModels) => rowsOf(models, usageAndJobs);
const rowsOfQuiet = () => rowsOfQuietRunner(log.store, usageAndJobs);

const accountCount = scaled(16, 60);
const downloadsEach = scaled(40, 500);

describe('every event is applied exactly once', () => {
  it('by two runners at once, over a log that grows and over one that is there', async () => {
    const live = await readModelsOfTest(log.store, [usageAndJobs, usageAndJobs]);
    await queueDownloads(accountCount, downloadsEach);
    await live.caughtUp();
    const expected = await rowsOfQuiet();
    expect(expected['credits']).toHaveLength(accountCount);
    expect(expected['jobs']).toHaveLength(accountCount * downloadsEach);
    expect(await rowsInAll(live)).toEqual(expected);

    const late = await readModelsOfTest(log.store, [usageAndJobs, usageAndJobs, usageAndJobs]);
    await late.caughtUp();
    expect(await rowsInAll(late)).toEqual(expected);
  });

  it('by runners of which each takes over from the one before it, between two batches', async () => {
    const models = await readModelsOfTest(log.store);
    const writing = queueDownloads(accountCount, downloadsEach);
    let position = await readReached(models.pool, usageAndJobs.name);
    for (let turn = 0; turn < 8; turn += 1) {
      const [runner] = models.run(log.store, usageAndJobs);
      position = await waitFor(
        async () => {
          const now = await readReached(models.pool, usageAndJobs.name);
          return now !== position && now;
        },
        { what: 'a batch' },
      );
      await runner!.close();
      if (turn === 5) await writing;
      if (turn === 6) await queueDownloads(1, 5);
    }
    models.run(log.store, usageAndJobs);
    await models.caughtUp();
    expect(await rowsInAll(models)).toEqual(await rowsOfQuiet());
  });

  it('to read models of which one is ahead of the other', async () => {
    await using models = await createReadModels();
    const account = await openUsage(log.store);
    await queueAll(writersOf(log.store), account, [1, 2]);
    const events = await log.store.read(account.stream, 0);
    const taken: string[][] = [];
    const running = await Promise.all(
      [usageAndJobs, jobTimeline].map(async (projection, index) => {
        const ids: string[] = (taken[index] = []);
        const checkpoint = await openCheckpoint(models.pool, projection.name);
        const apply: Apply = async (applied) => void ids.push(...applied.map(({ id }) => id));
        return { projection, apply, checkpoint, position: checkpoint?.position };
      }),
    );
    const batchOf = (of: typeof events) => ({ events: of, position: positionOfEvent(of.at(-1)!.position) });
    await applyBatch(models.pool, running.slice(0, 1), batchOf(events.slice(0, 1)));
    await applyBatch(models.pool, running, batchOf(events));
    const ids = events.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(1);
    expect(taken).toEqual([ids, ids]);
  });

  it.each([
    ['fails after it has written its rows', () => Promise.reject(new Error('a planted failure'))],
    ['loses its connection', (terminate: () => Promise<unknown>) => terminate()],
  ])('although a transaction %s, three times', async (_what, fail) => {
    await queueDownloads(4, 10);
    const models = await readModelsOfTest(log.store);
    let failures = 0;
    const failing: Projection = {
      ...usageAndJobs,
      start: (tools) => async (events, client) => {
        await usageAndJobs.start(tools)(events, client);
        if ((failures += 1) <= 3) await fail(() => client.query('select pg_terminate_backend(pg_backend_pid())'));
      },
    };
    models.run(log.store, failing);
    await models.caughtUp();
    expect(failures).toBeGreaterThan(3);
    expect(await rowsInAll(models)).toEqual(await rowsOfQuiet());
  });
});
