import { afterEach } from 'vitest';

import { runProjection } from '../../projections/runner/runner.ts';
import type { Projection } from '../../projections/runner/projection.ts';
import type { EventStore, Subscription } from '../../src/ports/event-store.ts';
import { createReadModels, silent, testMacs } from './read-models-under-test.ts';
import type { TestReadModels } from './read-models-under-test.ts';

export interface KeptReadModels {
  /** Empty read models in a database of their own. */
  create: () => Promise<TestReadModels>;
  /** Keeps one up to date, over connections of its own, as another process would. */
  run: (models: TestReadModels, projection: Projection) => Subscription;
}

/** Read models and their runners for the tests of a file; after each test, what it has made is stopped and removed. */
export function keptReadModels(log: { readonly store: EventStore }): KeptReadModels {
  let running: Subscription[] = [];
  let databases: TestReadModels[] = [];
  afterEach(async () => {
    await Promise.all(running.map((runner) => runner.close()));
    await Promise.all(databases.map((each) => each[Symbol.asyncDispose]()));
    [running, databases] = [[], []];
  });
  return {
    create: async () => {
      const models = await createReadModels();
      databases.push(models);
      return models;
    },
    run: (models, projection) => {
      const runner = runProjection(projection, {
        store: log.store,
        macs: testMacs,
        pool: models.openAnother(),
        logger: silent,
      });
      running.push(runner);
      return runner;
    },
  };
}
