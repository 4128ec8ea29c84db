import { cpSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projections } from '../../../projections/all.ts';
import { readCheckpoint } from '../../../projections/runner/checkpoints.ts';
import { measureLag } from '../../../projections/runner/wait-for-checkpoint.ts';
import { type ConnectedEventStore, connectEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { createReadModelQueries } from '../../../src/adapters/postgres/read-model-queries.ts';
import { Verifier } from '../../../src/audit/compare/verifier.ts';
import { endsOfCatchUp } from '../../../src/embedded/event-store/checkpoints.ts';
import type { Subscription } from '../../../src/ports/event-store.ts';
import { Random } from '../../audit/random.ts';
import { RichHistory } from '../../audit/rich-history.ts';
import { portOf, startEventStore, type TestEventStore } from '../../support/event-store.ts';
import { appendNumbers } from '../../support/event-store-adapter.ts';
import { freshStream } from '../../support/event-store-under-test.ts';
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { readModelsOfTest, rememberingLogger, type TestReadModels } from '../read-models-under-test.ts';
import { expectRowsOfQuietRunners, rebuildOn, rowsOf, writeLog } from './rebuilding.ts';

const { logger, text: logged } = rememberingLogger();

/** Runs every projection until `done`, as a projector that is started and stopped. */
async function project<Result>(
  store: ConnectedEventStore,
  models: TestReadModels,
  done: (runners: readonly Subscription[]) => Promise<Result>,
): Promise<Result> {
  const runners = models.run(store, ...projections);
  try {
    return await done(runners);
  } finally {
    await Promise.all(runners.map((runner) => runner.close()));
  }
}

/** Waits until every read model is said to be behind the last event of the log, where nothing has a name yet. */
async function standBehindLastEvent(store: ConnectedEventStore, { pool }: TestReadModels): Promise<bigint> {
  const next = ((await store.headPosition()) ?? 0n) + 1n;
  for (const { name } of projections) {
    await waitFor(async () => (await readCheckpoint(pool, name))?.position.commit === next, {
      what: `${name} behind the last event`,
    });
    expect((await readCheckpoint(pool, name))?.position.prepare).toBe(0n);
  }
  return next;
}

const expectRowsOfLog = (store: ConnectedEventStore, models: TestReadModels) =>
  expectRowsOfQuietRunners(store, models, projections);

/** The streams of others: no read model wants them. */
const others = (store: ConnectedEventStore) => appendNumbers(store, freshStream(), 0, 2);

describe.each(endsOfCatchUp)('a log whose catch-ups end with the position of the %s', (form) => {
  const isBehind = form === 'behind-last-event';
  let server: TestEventStore;
  let store: ConnectedEventStore;
  beforeEach(async () => {
    server = await startEventStore({ endOfCatchUp: form });
    store = connectEventStore({ url: server.url, logger });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  it('is followed from its first event, however long nothing of it concerned anybody', async () => {
    const models = await readModelsOfTest(store, [], { logger });
    await others(store);
    await project(store, models, async (runners) => {
      await waitFor(() => runners.every(({ caughtUp }) => caughtUp), { what: 'the end of a log of others' });
      if (isBehind) await standBehindLastEvent(store, models);
      await writeLog(store, 1);
      await models.caughtUp();
      for (const projection of projections)
        expect((await measureLag({ store, pool: models.pool }, projection)).lag).toBe(0n);
    });
    await expectRowsOfLog(store, models);
  });

  it('is applied exactly once, rebuilt and verified, across stops of the projector', async () => {
    const random = new Random(4_711);
    const models = await readModelsOfTest(store, [], { logger });
    const verify = () => new Verifier({ log: store, queries: createReadModelQueries(models.pool) }).catchUp();
    for (let round = 0; round < 2; round += 1) {
      await project(store, models, async () => {
        await new RichHistory(store, random, '2026-01-31T10:00:00.000Z').live(1, 4);
        await others(store);
        await models.caughtUp();
      });
      // The second start finds nothing to do, and is told so.
      const next = await project(store, models, async () =>
        isBehind ? standBehindLastEvent(store, models) : ((await store.headPosition()) ?? 0n) + 1n,
      );
      await verify();
      for (const projection of projections) {
        const { position, before, tables } = await rebuildOn(store, models, projection);
        expect(position).toBe(before);
        for (const { missing, surplus } of tables) expect({ missing, surplus }).toEqual({ missing: 0, surplus: 0 });
      }
      const last = new RichHistory(store, random, '2026-01-31T10:00:00.000Z');
      await last.live(1, 2);
      await last.employStaff();
      expect(await store.readAll(next - 1n, 1)).toMatchObject([{ position: next, revision: 0 }]);
    }
    for (const projection of projections)
      expect((await measureLag({ store, pool: models.pool }, projection)).lag).toBeGreaterThan(0n);
    await project(store, models, async () => {
      await models.caughtUp();
      await verify();
    });
    await expectRowsOfLog(store, models);
  });
});

describe('a log that was replaced by an older one while the read models stood behind its last event', () => {
  /** Reads the log, puts an older copy of it in its place, and goes on with what `then` says of the read models. */
  async function replaced(
    beforeCopy: (store: ConnectedEventStore) => Promise<void>,
    afterCopy: (store: ConnectedEventStore) => Promise<void>,
    then: (store: ConnectedEventStore, models: TestReadModels) => Promise<void>,
  ): Promise<void> {
    const directory = makeTemporaryDirectory();
    const [folder, backup] = [`${directory}/log`, `${directory}/backup`];
    const start = (port = 0) => startEventStore({ dataDirectory: folder, port, endOfCatchUp: 'behind-last-event' });
    let server = await start();
    const store = connectEventStore({ url: server.url, logger });
    try {
      await beforeCopy(store);
      const port = portOf(server.url);
      await server.stop();
      cpSync(folder, backup, { recursive: true });
      server = await start(port);
      const models = await readModelsOfTest(store, [], { logger });
      await project(store, models, async () => {
        await afterCopy(store);
        await models.caughtUp();
      });
      await project(store, models, () => standBehindLastEvent(store, models));
      await server.stop();
      rmSync(folder, { recursive: true });
      cpSync(backup, folder, { recursive: true });
      server = await start(port);
      await waitFor(() => store.ready({ timeoutMs: 500 }), { what: 'the event store to be back' });
      await then(store, models);
    } finally {
      await store.close();
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  }

  it('is refused where it has lost events that were applied', async () => {
    const loseApplied = async (store: ConnectedEventStore) => {
      await writeLog(store, 1);
      await others(store);
    };
    await replaced(others, loseApplied, async (store, models) => {
      await project(store, models, async () => {
        for (const { name } of projections)
          await waitFor(() => logged().includes(`the checkpoint of ${name} (`), { what: `the refusal of ${name}` });
      });
      for (const projection of projections)
        await expect(rebuildOn(store, models, projection)).rejects.toThrow('beyond the end of the log');
    });
  });

  it('is followed, with nothing skipped, where it has lost only what was passed over', async () => {
    await replaced(
      (store) => writeLog(store, 1),
      async (store) => {
        for (let stream = 0; stream < 20; stream += 1) await others(store);
      },
      async (store, models) => {
        // Before the position of the checkpoint, which this log has not reached.
        await writeLog(store, 1);
        for (const projection of projections) {
          const { tables } = await rebuildOn(store, models, projection);
          for (const { missing, surplus } of tables) expect({ missing, surplus }).toEqual({ missing: 0, surplus: 0 });
        }
        await project(store, models, () => expectRowsSoon(store, models));
      },
    );
  });
});

/** A read model that stands behind the end of its log cannot say how far it is; its rows can. */
async function expectRowsSoon(store: ConnectedEventStore, models: TestReadModels): Promise<void> {
  const quiet = await readModelsOfTest(store, projections);
  await quiet.caughtUp();
  for (const projection of projections) {
    const expected = JSON.stringify(await rowsOf(quiet, projection));
    await waitFor(async () => JSON.stringify(await rowsOf(models, projection)) === expected, {
      what: `the rows of ${projection.name}`,
    });
  }
}
