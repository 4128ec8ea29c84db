import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, describe, expect, it } from 'vitest';

import { rebuildableProjections } from '../../projections/all.ts';
import { jobTimeline } from '../../projections/job-timeline.ts';
import { overageLedger } from '../../projections/overage-ledger.ts';
import { catchUp } from '../../projections/progress.ts';
import { rebuild } from '../../projections/rebuild.ts';
import type { RebuildProgress, RebuildableProjection } from '../../projections/rebuild.ts';
import { readCheckpoint, runProjection, writeCheckpoint } from '../../projections/runner.ts';
import { newUuid } from '../../src/adapters/system.ts';
import type { Subscription } from '../../src/commands/ports.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { ask, lanesOf, openUsage, upFrom } from '../commands/usage-account.ts';
import { video } from '../domain/usage-examples.ts';
import { scaled } from '../support/proof-scale.ts';
import { createReadModels, silent } from './read-models-under-test.ts';
import type { TestReadModels } from './read-models-under-test.ts';

const log = logUnderTest();

let running: Subscription[] = [];
let databases: TestReadModels[] = [];
afterEach(async () => {
  await Promise.all(running.map((runner) => runner.close()));
  await Promise.all(databases.map((each) => each[Symbol.asyncDispose]()));
  [running, databases] = [[], []];
});

/** Read models that are kept up to date. */
async function liveModels(projections: readonly RebuildableProjection[]): Promise<TestReadModels> {
  const models = await createReadModels();
  databases.push(models);
  for (const projection of projections) {
    running.push(runProjection(projection, { store: log.store, pool: models.openAnother(), logger: silent }));
  }
  return models;
}

/** @param goOn asked before each round of one append, or how many rounds */
async function queueDownloads(goOn: number | (() => boolean)): Promise<void> {
  const lanes = lanesOf(log.store);
  const account = await openUsage(log.store, { downloads_limit: 5, overage_cents: 3 });
  // A pause after each: the log must not grow faster than it can be read again and again.
  for (let round = 0; typeof goOn === 'number' ? round < goOn : goOn(); round += 1) {
    const asked = upFrom(1, 10).map(() => {
      const token = newUuid().replaceAll('-', '_');
      return ask(lanes, account, { kind: 'queue_download', token, video, format: 'video', quality: 'best' });
    });
    expect((await Promise.all(asked)).every(({ outcome }) => outcome === 'accepted')).toBe(true);
    if (typeof goOn !== 'number') await sleep(30);
  }
}

async function caughtUp({ pool }: TestReadModels, projection: RebuildableProjection): Promise<void> {
  expect(await catchUp({ store: log.store, pool }, projection, 20_000)).toBe(true);
}

async function rowsOf({ pool }: TestReadModels, { name }: RebuildableProjection): Promise<string[]> {
  const { rows } = await pool.query<{ row: string }>(`select t::text as row from ${name} t order by position`);
  return rows.map(({ row }) => row);
}

/** What a runner that nothing happens to makes of the same log. */
async function rowsOfQuietRunner(projection: RebuildableProjection): Promise<string[]> {
  const models = await liveModels([projection]);
  await caughtUp(models, projection);
  return rowsOf(models, projection);
}

const rebuildOn = (models: TestReadModels, projection: RebuildableProjection, progress: RebuildProgress[] = []) =>
  rebuild(projection, { store: log.store, pool: models.pool, progress: (each) => progress.push(each) });

/** @returns how often; a table that were read while it is being filled would have fewer rows than before */
async function readOverAndOver(
  models: TestReadModels,
  { name }: RebuildableProjection,
  goOn: () => boolean,
): Promise<number> {
  const pool = models.openAnother();
  let reads = 0;
  for (let known = 0; goOn(); reads += 1) {
    const { rowCount } = await pool.query({ name: 'reader', text: `select from ${name}` });
    expect(rowCount).toBeGreaterThanOrEqual(known);
    known = rowCount ?? 0;
    await sleep(5);
  }
  return reads;
}

/** Everything about a table that is not its rows. */
async function shapeOf({ pool }: TestReadModels, table: string): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `select 'column' as what, column_name::text as name, data_type || is_nullable as text
     from information_schema.columns where table_schema = 'public' and table_name = $1
     union all select 'index', indexname::text, indexdef from pg_indexes where schemaname = 'public' and tablename = $1
     union all select 'constraint', conname::text, pg_get_constraintdef(oid) from pg_constraint where conrelid = $1::regclass
     order by 1, 2`,
    [table],
  );
  return rows;
}

describe.each(rebuildableProjections.map((projection) => ({ name: projection.name, projection })))(
  'a rebuild of $name',
  { timeout: 60_000 },
  ({ projection }) => {
    it('while the log grows ends with the rows of a runner that nothing happened to', async () => {
      const live = await liveModels([projection]);
      await queueDownloads(scaled(10));
      const writing = queueDownloads(scaled(60));
      const progress: RebuildProgress[] = [];
      const rebuilt = await rebuildOn(live, projection, progress);
      expect(rebuilt.tables).toEqual([
        { name: projection.name, rows: expect.any(Number) as number, missing: 0, surplus: 0 },
      ]);
      expect(progress.at(-1)).toMatchObject({ events: rebuilt.events });
      const positions = progress.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((one, other) => (one < other ? -1 : 1)));
      await writing;
      await caughtUp(live, projection);
      expect(await rowsOf(live, projection)).toEqual(await rowsOfQuietRunner(projection));
    });

    it('again and again, under load, loses and doubles nothing, and no reader notices', async () => {
      const live = await liveModels([projection]);
      await queueDownloads(1);
      await caughtUp(live, projection);
      const turns = { wanted: scaled(4), done: 0 };
      const isWanted = () => turns.done < turns.wanted;
      const writing = queueDownloads(isWanted);
      const reading = readOverAndOver(live, projection, isWanted);
      while (isWanted()) {
        const { position, tables } = await rebuildOn(live, projection).finally(() => (turns.done += 1));
        expect((await readCheckpoint(live.pool, projection.name)) ?? 0n).toBeGreaterThanOrEqual(position);
        expect(tables[0]).toMatchObject({ missing: 0, surplus: 0 });
      }
      await writing;
      expect(await reading).toBeGreaterThan(1);
      await caughtUp(live, projection);
      expect(await rowsOf(live, projection)).toEqual(await rowsOfQuietRunner(projection));
    });

    it('leaves the table in the shape that the migrations gave it', async () => {
      const live = await liveModels([projection]);
      await caughtUp(live, projection);
      const before = await shapeOf(live, projection.name);
      expect(before.length).toBeGreaterThan(5);
      await rebuildOn(live, projection);
      await rebuildOn(live, projection);
      expect(await shapeOf(live, projection.name)).toEqual(before);
      expect((await live.pool.query("select from pg_namespace where nspname like 'rebuild%'")).rowCount).toBe(0);
    });
  },
);

describe('a rebuild', { timeout: 60_000 }, () => {
  it('says what was wrong, and sets it right', async () => {
    const live = await liveModels([overageLedger]);
    await queueDownloads(2);
    await caughtUp(live, overageLedger);
    const expected = await rowsOf(live, overageLedger);
    const last = 'position = (select max(position) from overage_ledger)';
    await live.pool.query(`update overage_ledger set cents = cents + 1 where ${last}`);
    await live.pool.query('delete from overage_ledger where position = (select min(position) from overage_ledger)');
    const { tables } = await rebuildOn(live, overageLedger);
    expect(tables).toEqual([{ name: 'overage_ledger', rows: expected.length, missing: 2, surplus: 1 }]);
    expect(await rowsOf(live, overageLedger)).toEqual(expected);
  });

  it('that fails leaves everything as it was, and nothing in the way of the next', async () => {
    const live = await liveModels([jobTimeline]);
    await queueDownloads(2);
    await caughtUp(live, jobTimeline);
    const expected = await rowsOf(live, jobTimeline);
    const failing: RebuildableProjection = {
      ...jobTimeline,
      apply: async (events, client) => {
        await jobTimeline.apply(events, client);
        throw new Error('a planted failure');
      },
    };
    await expect(rebuildOn(live, failing)).rejects.toThrow('a planted failure');
    expect(await rowsOf(live, jobTimeline)).toEqual(expected);
    await queueDownloads(1);
    await caughtUp(live, jobTimeline);
    expect((await rebuildOn(live, jobTimeline)).tables[0]).toMatchObject({ missing: 0, surplus: 0 });
  });

  it('gives up where a reader does not let go of the table, rather than keep all others waiting', async () => {
    const live = await liveModels([jobTimeline]);
    await queueDownloads(1);
    await caughtUp(live, jobTimeline);
    const reader = await live.openAnother().connect();
    try {
      await reader.query('begin');
      await reader.query('select from job_timeline limit 1');
      await expect(rebuildOn(live, jobTimeline)).rejects.toThrow('lock timeout');
    } finally {
      reader.release(true);
    }
    expect((await rebuildOn(live, jobTimeline)).tables[0]).toMatchObject({ missing: 0, surplus: 0 });
  });

  it('refuses to run beside another one of the same read model', async () => {
    const live = await liveModels([overageLedger]);
    await queueDownloads(1);
    await caughtUp(live, overageLedger);
    const other = await live.openAnother().connect();
    try {
      await other.query("select pg_advisory_lock(hashtext('rebuild overage_ledger'))");
      await expect(rebuildOn(live, overageLedger)).rejects.toThrow('another rebuild of overage_ledger is under way');
    } finally {
      other.release(true);
    }
    await rebuildOn(live, overageLedger);
  });

  it('is over when it says so: another one may begin at once', async () => {
    const live = await liveModels([overageLedger]);
    await queueDownloads(1);
    await caughtUp(live, overageLedger);
    for (let turn = 0; turn < 20; turn += 1) await rebuildOn(live, overageLedger);
  });

  it('refuses to go back in time, to a log older than the read model', async () => {
    const models = await liveModels([]);
    await queueDownloads(1);
    await writeCheckpoint(models.pool, overageLedger.name, 10n ** 18n);
    await expect(rebuildOn(models, overageLedger)).rejects.toThrow('beyond the end of the log');
    expect(await readCheckpoint(models.pool, overageLedger.name)).toBe(10n ** 18n);
  });
});
