import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projections } from '../../projections/all.ts';
import { catchUp } from '../../projections/progress.ts';
import { runProjection } from '../../projections/runner.ts';
import { connectEventStore } from '../../src/adapters/event-store.ts';
import { createBooks } from '../../src/adapters/postgres.ts';
import type { Divergence } from '../../src/verify/divergence.ts';
import { Follower } from '../../src/verify/follow.ts';
import { NotVerifiable } from '../../src/verify/probe.ts';
import type { Scope } from '../../src/verify/rows.ts';
import { openDatabase } from '../../src/embedded/event-store/database.ts';
import { startServer } from '../../src/embedded/event-store/server.ts';
import { createReadModels, silent } from '../projections/read-models-under-test.ts';
import type { TestReadModels } from '../projections/read-models-under-test.ts';
import { scaled } from '../support/proof-scale.ts';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';
import { Random } from './random.ts';
import { RichHistory } from './rich-history.ts';
import { tamperWithLedger, tamperWithLog } from './tampers.ts';
import type { Lie } from './tampers.ts';

/**
 * A log with everything there is, its read models, and somebody who changes one thing: in a copy of the log's file, or in the
 * ledger. Whatever it is, the audit must name it; and where nothing was changed, it must say so.
 */
const lies = scaled(40, 500);
const accounts = scaled(3, 6);
const seed = Number(process.env['PROOF_SEED'] ?? 20_261_121);
const timeoutMs = scaled(120_000, 1_800_000);

const random = new Random(seed);
const original = makeTemporaryDirectory();
let models: TestReadModels;

/** The log of a folder, served in this process and read by the real client over the wire. */
async function withLog<Result>(
  directory: string,
  use: (store: ReturnType<typeof connectEventStore>) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase(directory);
  const onFailure = (error: unknown) => {
    throw error instanceof Error ? error : new Error(String(error));
  };
  const server = await startServer({ database, host: '127.0.0.1', port: 0, onFailure });
  const store = connectEventStore({ url: `esdb://127.0.0.1:${String(server.port)}?tls=false` });
  try {
    return await use(store);
  } finally {
    await store.close();
    await server.stop();
    database.close();
  }
}

/** What the audit says of a log. */
async function verify(directory: string, scope: Scope = {}): Promise<Divergence[]> {
  return withLog(directory, async (log) => {
    const follower = new Follower({ log, books: createBooks(models.pool), scope, patienceMs: 0 });
    // Where events were put between others, the log ends behind what the read models stand for.
    await follower.catchUp().catch((error: unknown) => {
      if (!(error instanceof NotVerifiable) || follower.divergences.counts.new === 0) throw error;
    });
    return follower.divergences.list().flatMap(({ divergences }) => divergences);
  });
}

beforeAll(async () => {
  models = await createReadModels();
  await withLog(original, async (store) => {
    for (let account = 0; account < accounts; account += 1) {
      const openedAt = random.pick([
        '2024-01-31T10:00:00.000Z',
        '2024-01-30T23:59:59.999Z',
        '2024-02-01T00:00:00.000Z',
      ]);
      await new RichHistory(store, random, openedAt).live(2, 22);
    }
    const runners = projections.map((projection) =>
      runProjection(projection, { store, pool: models.openAnother(), logger: silent }),
    );
    for (const projection of projections)
      expect(await catchUp({ store, pool: models.pool }, projection, 20_000)).toBe(true);
    await Promise.all(runners.map((runner) => runner.close()));
  });
}, 120_000);

afterAll(async () => {
  await models[Symbol.asyncDispose]();
  rmSync(original, { recursive: true, force: true });
});

it('passes a log that nobody has touched', async () => {
  expect(await verify(original)).toEqual([]);
});

it('agrees on each account and on each of its billing periods by itself', { timeout: timeoutMs }, async () => {
  const { rows } = await models.pool.query<{ account_id: string; period: string }>(
    `select account_id, right(stream, 8) as period from credits order by random() limit 6`,
  );
  expect(new Set(rows.map(({ period }) => period)).size).toBeGreaterThan(1);
  for (const { account_id: accountId, period } of rows) {
    expect(await verify(original, { accountId })).toEqual([]);
    expect(await verify(original, { accountId, period })).toEqual([]);
    expect(await verify(original, { period })).toEqual([]);
  }
  await expect(verify(original, { period: '19991231' })).rejects.toThrow('no billing period starts on 19991231');
});

it('names every lie', { timeout: timeoutMs }, async () => {
  const told = new Map<string, { times: number; streamNamed: number }>();
  const missed: Lie[] = [];
  for (let number = 0; number < lies; number += 1) {
    const { lie, found } = await tellOne();
    if (found.length === 0) missed.push(lie);
    const tally = told.get(lie.kind) ?? { times: 0, streamNamed: 0 };
    told.set(lie.kind, {
      times: tally.times + 1,
      streamNamed: tally.streamNamed + (found.some(({ stream }) => stream === lie.where) ? 1 : 0),
    });
  }
  console.log(`seed ${String(seed)}: ${String(lies - missed.length)} of ${String(lies)} lies named`);
  console.table(Object.fromEntries(told));
  expect(missed).toEqual([]);
  expect(await verify(original)).toEqual([]);
});

async function tellOne(): Promise<{ lie: Lie; found: Divergence[] }> {
  if (random.below(5) === 0) {
    const { restore, ...lie } = await tamperWithLedger(models.pool, random);
    const found = await verify(original);
    await restore();
    return { lie, found };
  }
  const copy = makeTemporaryDirectory();
  cpSync(join(original, 'events.sqlite'), join(copy, 'events.sqlite'));
  const database = new DatabaseSync(join(copy, 'events.sqlite'));
  const lie = tamperWithLog(database, random);
  database.close();
  const found = await verify(copy);
  rmSync(copy, { recursive: true });
  return { lie, found };
}
