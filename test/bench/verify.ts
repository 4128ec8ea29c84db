import { EventStoreDBClient, START } from '@eventstore/db-client';
import { pino } from 'pino';
import { projections } from '../../projections/all.ts';
import { connectionsOfRebuild, type RebuildDependencies, rebuildTogether } from '../../projections/runner/rebuild.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { openPool } from '../../src/adapters/postgres/pool.ts';
import { createReadModelQueries } from '../../src/adapters/postgres/read-model-queries.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { Verifier } from '../../src/audit/compare/verifier.ts';
import { appendUsedAccount } from '../projections/generated-account.ts';
import type { Bench } from './engines.ts';
import { progress, ratio, type Results } from './figures.ts';

const logger = pino({ level: 'silent' });
const downloadsEach = 100;

/** The audit of a whole log with its read models, and the rebuild of them all, beside nothing but reading that log to its end. */
export async function benchVerify(
  bench: Bench,
  { accounts, rounds }: { accounts: number; rounds: number },
): Promise<Results> {
  progress(`writing a log of ${accounts} accounts, ${accounts * downloadsEach} downloads and their jobs`);
  const projector = await bench.startRole('projector');
  const store = connectEventStore({ url: bench.addresses.EVENTSTORE_URL, logger });
  const pool = openPool(bench.addresses.DATABASE_URL, {
    logger,
    max: connectionsOfRebuild(projections.length),
    queryTimeoutMs: 600_000,
  });
  const macs = createRowMacs({ current: deriveKeys(bench.secret), others: [] }, { logger });
  const client = EventStoreDBClient.connectionString(bench.addresses.EVENTSTORE_URL);
  const bare: number[] = [];
  const verified: number[] = [];
  const rebuilt: number[] = [];
  try {
    for (let written = 0; written < accounts; written += 1) await appendUsedAccount(store, downloadsEach);
    for (const projection of projections) await catchUp({ store, pool }, projection, 600_000);
    await projector.stop();
    for (let round = 1; round <= rounds; round += 1) {
      progress(`audit and rebuild, round ${round} of ${rounds}`);
      bare.push(await perSecond(() => readToTheEnd(client)));
      rebuilt.push(await perSecond(() => rebuildAll({ store, pool, macs })));
      verified.push(
        await perSecond(async () => {
          const verifier = new Verifier({ log: store, queries: createReadModelQueries(pool) });
          await verifier.catchUp();
          return verifier.replay.events;
        }),
      );
    }
  } finally {
    await client.dispose();
    await store.close();
    await pool.end();
  }
  return {
    ratios: [
      ratio('audit of the log and the read models: to a bare readAll', verified, bare),
      ratio('rebuild of all read models: to a bare readAll', rebuilt, bare),
    ],
    figures: [
      { name: 'audit', unit: 'events/s', values: verified },
      { name: 'rebuild of all read models', unit: 'events/s', values: rebuilt },
      { name: 'bare readAll', unit: 'events/s', values: bare },
    ],
  };
}

async function readToTheEnd(client: EventStoreDBClient): Promise<number> {
  let events = 0;
  for await (const { event } of client.readAll({ fromPosition: START })) if (event) events += 1;
  return events;
}

/** @returns the number of events that were read */
async function rebuildAll(dependencies: Omit<RebuildDependencies, 'progress'>): Promise<number> {
  let events = 0;
  const progress = (replayed: { events: number }) => (events = Math.max(events, replayed.events));
  await Array.fromAsync(rebuildTogether(projections, { ...dependencies, progress }));
  return events;
}

async function perSecond(work: () => Promise<number>): Promise<number> {
  const startedMs = performance.now();
  const events = await work();
  return (events * 1000) / (performance.now() - startedMs);
}
