import type { Pool } from 'pg';
import { type Logger, pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { type Admissions, createAdmissions } from '../../projections/admission/admission.ts';
import { admissionSessionSettings } from '../../projections/admission/admission-statement.ts';
import { projections } from '../../projections/all.ts';
import { type NotBelieved, notBelieved } from '../../projections/credits-macs.ts';
import type { Projection } from '../../projections/runner/projection.ts';
import { connectionsOfRebuild } from '../../projections/runner/rebuild.ts';
import { runProjection } from '../../projections/runner/runner.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { withPersonalData } from '../../src/adapters/event-store/personal-data.ts';
import { createPersonalKeys } from '../../src/adapters/postgres/personal-keys.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { createStoreOnStandby, type StoreOnStandby } from '../../src/adapters/postgres/store-on-standby.ts';
import type { EventStore, Subscription } from '../../src/ports/event-store.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import { patienceMs } from '../support/wait-for.ts';

export const silent: Logger = pino({ level: 'silent' });

/** A logger, and what it was told. */
export function rememberingLogger(level: 'info' | 'debug' = 'info'): { logger: Logger; text: () => string } {
  let text = '';
  const logger = pino({ level }, { write: (line: string) => void (text += line) });
  return { logger, text: () => text };
}

export const testSecret = 'a secret that is long enough for a test';
/** The secrets of an installation that has never changed them. */
export const testSecrets = { current: deriveKeys(testSecret), others: [] };
export const testMacs = createRowMacs(testSecrets, { logger: silent });

export interface TestReadModels extends AsyncDisposable {
  url: string;
  pool: Pool;
  /** Another pool on the same database, as another process would have. */
  openAnother: (settings?: Readonly<Record<string, string>>) => Pool;
  openAdmissions: () => Admissions;
  storeOnStandby: StoreOnStandby;
  /** Keeps read models up to date, each over connections of its own as another process would, until it is closed with all. */
  run: (store: EventStore, ...projections: readonly Projection[]) => Subscription[];
  /** Waits until all that run have applied what is in the log now. */
  caughtUp: () => Promise<void>;
}

interface ReadModelOptions {
  queryTimeoutMs?: number;
  logger?: Logger;
}

/** A fresh database with the current schema. */
export async function createReadModels({
  queryTimeoutMs = patienceMs,
  logger = silent,
}: ReadModelOptions = {}): Promise<TestReadModels> {
  const database = await createMigratedDatabase();
  const pools: Pool[] = [];
  const running: { store: EventStore; projection: Projection; runner: Subscription }[] = [];
  const openAnother = (settings?: Readonly<Record<string, string>>): Pool => {
    const pool = openPatientPool(database.url, {
      max: connectionsOfRebuild(projections.length),
      queryTimeoutMs,
      ...(settings && { settings }),
    });
    pools.push(pool);
    return pool;
  };
  const pool = openAnother();
  return {
    url: database.url,
    pool,
    openAnother,
    storeOnStandby: createStoreOnStandby({ waiting: pool, cancelling: pool }),
    openAdmissions: () =>
      createAdmissions(openAnother(admissionSessionSettings), { measureTime: () => () => undefined, macs: testMacs }),
    run: (store, ...projections) =>
      projections.map((projection) => {
        const opened = withPersonalData(store, createPersonalKeys(pool, testSecrets));
        const runner = runProjection(projection, { store: opened, macs: testMacs, pool: openAnother(), logger });
        running.push({ store, projection, runner });
        return runner;
      }),
    caughtUp: async () => {
      for (const { store, projection } of running)
        expect(await catchUp({ store, pool }, projection, patienceMs)).toBe(true);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map(({ runner }) => runner.close()));
      await Promise.all(pools.map((each) => each.end()));
      await database.drop();
    },
  };
}

/** Read models for the running test, after which they stop and are removed. */
export async function readModelsOfTest(
  store: EventStore,
  projections: readonly Projection[] = [],
  options?: ReadModelOptions,
): Promise<TestReadModels> {
  const models = await createReadModels(options);
  onTestFinished(() => models[Symbol.asyncDispose]());
  models.run(store, ...projections);
  return models;
}

/** The same for the tests of one file. @param log that they follow */
export function readModelsOfFile(log?: { readonly store: EventStore }, ...projections: Projection[]): TestReadModels {
  const models: Partial<TestReadModels> = {};
  beforeAll(async () => {
    Object.assign(models, await createReadModels());
    if (log) models.run?.(log.store, ...projections);
  });
  afterAll(() => models[Symbol.asyncDispose]?.());
  return models as TestReadModels;
}

/** A row that was read, for a test whose rows are all the projector's own. */
export function believed<Value>(read: Value | NotBelieved): Value {
  if (read === notBelieved) throw new Error('a row of the projector itself is not believed');
  return read;
}
