import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readNewestCredits } from '../../../projections/credits.ts';
import { checkpointAt, readCheckpoint, readReached, writeCheckpoint } from '../../../projections/runner/checkpoints.ts';
import { runProjection } from '../../../projections/runner/runner.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { type ConnectedEventStore, connectEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { openUsage, queueAll, writersOf } from '../../commands/usage-account.ts';
import { startEventStore, type TestEventStore } from '../../support/event-store.ts';
import { jsonLines } from '../../support/log-lines.ts';
import { waitFor } from '../../support/wait-for.ts';
import {
  believed,
  createReadModels,
  rememberingLogger,
  testMacs,
  type TestReadModels,
} from '../read-models-under-test.ts';

const { logger, text: logged } = rememberingLogger('debug');
let own: TestEventStore;
let store: ConnectedEventStore;
beforeAll(async () => {
  own = await startEventStore();
  store = connectEventStore({ url: own.url, logger });
});
afterAll(async () => {
  await store.close();
  await own.stop();
});

it('a checkpoint ahead of the log refuses to run, and says why: the log is older than the read models', async () => {
  await openUsage(store);
  await using models = await createReadModels();
  await writeCheckpoint(models.pool, usageAndJobs.name, checkpointAt(10n ** 18n));
  const runner = runProjection(usageAndJobs, { store, macs: testMacs, pool: models.pool, logger });
  try {
    const said = () =>
      jsonLines<{ level: number }>(logged()).filter((line) => JSON.stringify(line).includes('ahead of the log'));
    await waitFor(() => said().length >= 4, { what: 'the refusal, and more attempts' });
    // A person has to solve it: no outage, and said once.
    expect(said().filter(({ level }) => level > 20)).toMatchObject([
      { level: 50, msg: 'a reader of the log cannot go on' },
    ]);
    expect(runner.caughtUp).toBe(false);
    expect((await models.pool.query('select from credits')).rowCount).toBe(0);
    expect(await readReached(models.pool, usageAndJobs.name)).toBe(10n ** 18n);
  } finally {
    await runner.close();
  }
});

it('an event that cannot be read stops the projection before it, and is named', async () => {
  const account = await openUsage(store);
  const { accountId, stream } = account;
  await queueAll(writersOf(store), account, [1]);
  const surprise = { id: newUuid(), type: 'CreditsTeleported', data: { credits: 5 }, metadata: {} };
  expect(await store.append(stream, 2, [surprise])).toBe('stored');
  const position = (await store.read(stream, 3))[0]?.position ?? 0n;
  await using models = await createReadModels();
  const onlyHere = { ...usageAndJobs, streamPrefixes: [stream] };
  const runner = runProjection(onlyHere, { store, macs: testMacs, pool: models.pool, logger });
  try {
    await waitFor(() => logged().includes(`event 3 of ${stream} (CreditsTeleported) cannot be read`), {
      what: 'the refusal',
    });
    const row = believed(await readNewestCredits(models.pool, accountId, testMacs));
    expect(row === undefined || row.revision <= 2).toBe(true);
    expect(await readReached(models.pool, usageAndJobs.name)).toBeLessThan(position);
  } finally {
    await runner.close();
  }
});

it('a checkpoint is undefined before the first event, and is what was written last', async () => {
  await using models = await createReadModels();
  expect(await readCheckpoint(models.pool, 'dispatch')).toBeUndefined();
  const seen = { stream: 'usage-a', revision: 3, id: newUuid(), position: 7n };
  const before = { position: { commit: 9n, prepare: 0n }, eventPosition: 7n, seen };
  for (const checkpoint of [checkpointAt(7n), before, checkpointAt(9n), { ...before, eventPosition: undefined }]) {
    await writeCheckpoint(models.pool, 'dispatch', checkpoint);
    expect(await readCheckpoint(models.pool, 'dispatch')).toEqual(checkpoint);
  }
});

describe('a stored checkpoint of -1, which is no position', () => {
  const put = async (models: TestReadModels, appliedEvents: number) => {
    await models.pool.query('insert into checkpoints (name, position, applied_events) values ($1, $2, $3)', [
      usageAndJobs.name,
      2n ** 64n - 1n,
      appliedEvents,
    ]);
  };

  it('mends itself: the read model is made from the start', async () => {
    const account = await openUsage(store);
    await queueAll(writersOf(store), account, [1, 2]);
    await using models = await createReadModels();
    await put(models, 0);
    expect(await readReached(models.pool, usageAndJobs.name)).toBe(0n);
    const onlyHere = { ...usageAndJobs, streamPrefixes: [account.stream] };
    const runner = runProjection(onlyHere, { store, macs: testMacs, pool: models.pool, logger });
    try {
      await waitFor(
        async () => believed(await readNewestCredits(models.pool, account.accountId, testMacs))?.revision === 4,
        {
          what: 'the read model at the end of the log',
        },
      );
      const { rows } = await models.pool.query('select applied_events::int as applied from checkpoints');
      expect(rows).toEqual([{ applied: 5 }]);
    } finally {
      await runner.close();
    }
  });

  it('is refused where events were applied: they would be applied twice', async () => {
    await using models = await createReadModels();
    await put(models, 3);
    const runner = runProjection(usageAndJobs, { store, macs: testMacs, pool: models.pool, logger });
    try {
      await waitFor(() => logged().includes('is no position of a log, although events were applied'), {
        what: 'the refusal',
      });
    } finally {
      await runner.close();
    }
  });
});
