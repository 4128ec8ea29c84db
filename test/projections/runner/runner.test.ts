import { describe, expect, it } from 'vitest';

import { readReached } from '../../../projections/runner/checkpoints.ts';
import type { Projection } from '../../../projections/runner/projection.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { claimJob, readQueuedJob } from '../../../src/commands/record-job-progress.ts';
import type { WriterRegistry } from '../../../src/commands/usage/writer-registry.ts';
import type { Subscription } from '../../../src/ports/event-store.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { ask, writersOf, midNovember, openUsage, upFrom } from '../../commands/usage-account.ts';
import type { UsageAccount } from '../../commands/usage-account.ts';
import { queueDownload } from '../../domain/usage-examples.ts';
import { scaled } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';
import { keptReadModels } from '../kept-read-models.ts';
import type { TestReadModels } from '../read-models-under-test.ts';

const log = logUnderTest();

const { create: readModels, run } = keptReadModels(log);

const start = (models: TestReadModels, projection: Projection = usageAndJobs): Subscription => run(models, projection);

/** A download under a token that no other account has. */
function queueOne(writers: WriterRegistry, account: UsageAccount, number: number) {
  const token = newUuid().replaceAll('-', '_');
  return ask(writers, account, { ...queueDownload(number), token } as ReturnType<typeof queueDownload>);
}

/** Downloads of several accounts, in small appends, some of them claimed. */
async function queueDownloads(accountCount: number, downloadsEach: number): Promise<void> {
  const writers = writersOf(log.store);
  const accounts = await Promise.all(
    Array.from({ length: accountCount }, () => openUsage(log.store, { downloads_limit: 5 })),
  );
  await Promise.all(
    accounts.map(async (account) => {
      for (let first = 1; first <= downloadsEach; first += 5) {
        const answers = await Promise.all(upFrom(first, 5).map((number) => queueOne(writers, account, number)));
        expect(answers.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'accepted'));
      }
      const [, , queued] = await log.store.read(account.stream, 0, 3);
      const { token } = queued!.data as { token: string };
      const message = { token, usageStream: account.stream, usageRevision: 2 };
      const job = await readQueuedJob(log.store, message);
      const dependencies = { store: log.store, now: () => midNovember, newUuid };
      await claimJob(dependencies, { workerId: 'wrk_aaaaaaaaaaaaaaaa', job: job!, message, timeoutMs: 20_000 });
    }),
  );
}

/** Waits until everything that is in the log now has been applied. */
async function applied(models: TestReadModels): Promise<void> {
  const head = await log.store.headPosition();
  await waitFor(async () => (await readReached(models.pool, usageAndJobs.name)) >= (head ?? 0n), {
    timeoutMs: 25_000,
    what: 'the end of the log in the read models',
  });
}

async function rowsOf({ pool }: TestReadModels): Promise<{ credits: string[]; jobs: string[] }> {
  const [credits, jobs] = await Promise.all([
    pool.query<{ row: string }>('select to_jsonb(c)::text as row from credits c order by stream'),
    pool.query<{ row: string }>('select to_jsonb(j)::text as row from jobs j order by token'),
  ]);
  return { credits: credits.rows.map(({ row }) => row), jobs: jobs.rows.map(({ row }) => row) };
}

/** What one runner that nothing happens to makes of the same log. */
async function rowsOfQuietRunner() {
  const models = await readModels();
  start(models);
  await applied(models);
  return rowsOf(models);
}

const accountCount = scaled(16, 60);
const downloadsEach = scaled(40, 500);

describe('every event is applied exactly once', { timeout: 120_000 }, () => {
  it('by two runners at once, over a log that grows and over one that is there', async () => {
    const live = await readModels();
    start(live);
    start(live);
    await queueDownloads(accountCount, downloadsEach);
    await applied(live);
    const expected = await rowsOfQuietRunner();
    expect(expected.credits).toHaveLength(accountCount);
    expect(expected.jobs).toHaveLength(accountCount * downloadsEach);
    expect(await rowsOf(live)).toEqual(expected);

    const late = await readModels();
    start(late);
    start(late);
    start(late);
    await applied(late);
    expect(await rowsOf(late)).toEqual(expected);
  });

  it('by runners of which each takes over from the one before it, between two batches', async () => {
    const models = await readModels();
    const writing = queueDownloads(accountCount, downloadsEach);
    let position = await readReached(models.pool, usageAndJobs.name);
    for (let turn = 0; turn < 8; turn += 1) {
      const runner = start(models);
      position = await waitFor(
        async () => {
          const now = await readReached(models.pool, usageAndJobs.name);
          return now !== position && now;
        },
        { timeoutMs: 20_000, what: 'a batch' },
      );
      await runner.close();
      if (turn === 5) await writing;
      if (turn === 6) await queueDownloads(1, 5);
    }
    start(models);
    await applied(models);
    expect(await rowsOf(models)).toEqual(await rowsOfQuietRunner());
  });

  it.each([
    ['fails after it has written its rows', () => Promise.reject(new Error('a planted failure'))],
    ['loses its connection', (terminate: () => Promise<unknown>) => terminate()],
  ])('although a transaction %s, three times', async (_what, fail) => {
    await queueDownloads(4, 10);
    const models = await readModels();
    let failures = 0;
    const failing: Projection = {
      ...usageAndJobs,
      start: (tools) => async (events, client) => {
        await usageAndJobs.start(tools)(events, client);
        if ((failures += 1) <= 3) await fail(() => client.query('select pg_terminate_backend(pg_backend_pid())'));
      },
    };
    start(models, failing);
    await applied(models);
    expect(failures).toBeGreaterThan(3);
    expect(await rowsOf(models)).toEqual(await rowsOfQuietRunner());
  });
});
