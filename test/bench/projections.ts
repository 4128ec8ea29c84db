import pg from 'pg';
import { pino } from 'pino';
import { projections } from '../../projections/all.ts';
import type { RebuildableProjection } from '../../projections/runner/projection.ts';
import { connectionsOfRebuild, rebuild } from '../../projections/runner/rebuild.ts';
import { runProjection } from '../../projections/runner/runner.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { migrate } from '../../src/adapters/postgres/migrations.ts';
import { openPool } from '../../src/adapters/postgres/pool.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { migrationsDirectory } from '../../src/main/schema.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { appendUsedAccount } from '../projections/generated-account.ts';
import { secondsOfCopy } from '../projections/runner/bare-copy.ts';
import type { Bench } from './engines.ts';
import { progress, ratio, type Results } from './figures.ts';

const logger = pino({ level: 'silent' });
const database = 'bench_projections';

const downloadsEach = 100;

interface Measured {
  eventsPerSecond: number;
  rebuildSeconds: number;
  copySeconds: number;
}

/** Every read model from the beginning of the log: followed, rebuilt, and copied. */
export async function benchProjections(
  bench: Bench,
  store: EventStore,
  { accounts, rounds }: { accounts: number; rounds: number },
): Promise<Results> {
  progress(`writing a log of ${accounts} accounts, ${accounts * downloadsEach} downloads and their jobs`);
  for (let account = 0; account < accounts; account += 1) await appendUsedAccount(store, downloadsEach);
  const measured = new Map<string, Measured[]>(projections.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const projection of projections) {
      progress(`read models, round ${round} of ${rounds}: ${projection.name}`);
      measured.get(projection.name)?.push(await measureOne(bench, store, projection));
    }
  }
  const all = [...measured].map(([name, values]) => ({
    name,
    eventsPerSecond: values.map((each) => each.eventsPerSecond),
    rebuildSeconds: values.map((each) => each.rebuildSeconds),
    copySeconds: values.map((each) => each.copySeconds),
  }));
  return {
    // Their rows are so few that COPY takes no time.
    ratios: all
      .filter(({ name }) => !['api_keys', 'people'].includes(name))
      .map(({ name, rebuildSeconds, copySeconds }) =>
        ratio(`rebuild of ${name}: seconds to those of a bare COPY of its rows`, rebuildSeconds, copySeconds),
      ),
    figures: all.flatMap(({ name, eventsPerSecond, rebuildSeconds, copySeconds }) => [
      { name: `${name}: follows the log`, unit: 'events/s', values: eventsPerSecond },
      { name: `${name}: rebuild`, unit: 's', values: rebuildSeconds },
      { name: `${name}: bare COPY`, unit: 's', values: copySeconds },
    ]),
  };
}

async function measureOne(bench: Bench, store: EventStore, projection: RebuildableProjection): Promise<Measured> {
  const administrator = new pg.Client({ connectionString: bench.addresses.DATABASE_URL });
  await administrator.connect();
  await administrator.query(`drop database if exists ${database} with (force)`);
  await administrator.query(`create database ${database}`);
  const url = new URL(bench.addresses.DATABASE_URL);
  url.pathname = `/${database}`;
  const pool = openPool(url.href, { logger, max: connectionsOfRebuild(1) + 1, queryTimeoutMs: 600_000 });
  await migrate(pool, migrationsDirectory);
  const macs = createRowMacs({ current: deriveKeys('the secret of a benchmark'), others: [] }, { logger });
  const startedMs = performance.now();
  const runner = runProjection(projection, { store, macs, pool, logger });
  try {
    await catchUp({ store, pool }, projection, 600_000);
    const seconds = secondsSince(startedMs);
    const { rows } = await pool.query<{ applied: number }>(
      'select sum(applied_events)::int as applied from checkpoints',
    );
    const rebuildMs = performance.now();
    await rebuild(projection, { store, macs, pool, progress: () => undefined });
    const rebuildSeconds = secondsSince(rebuildMs);
    const copySeconds = await secondsOfCopy(pool, projection.tables, bench.directory);
    return { eventsPerSecond: (rows[0]?.applied ?? NaN) / seconds, rebuildSeconds, copySeconds };
  } finally {
    await runner.close();
    await pool.end();
    await administrator.end();
  }
}

const secondsSince = (startedMs: number) => (performance.now() - startedMs) / 1000;
