import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { projections } from '../../../projections/all.ts';
import { apiKeys } from '../../../projections/api-keys.ts';
import { jobTimeline } from '../../../projections/job-timeline.ts';
import { overageLedger } from '../../../projections/overage-ledger.ts';
import { checkpointAt, readReached, writeCheckpoint } from '../../../projections/runner/checkpoints.ts';
import { type RebuildableProjection, tablesOf } from '../../../projections/runner/projection.ts';
import { rebuildTogether } from '../../../projections/runner/rebuild.ts';
import type { ReplayProgress } from '../../../projections/runner/replay.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { changedLog } from '../../commands/noted-reads.ts';
import { openPatientPool } from '../../support/patient-pool.ts';
import { isLongProof, scaled } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';
import { readModelsOfTest, testMacs, type TestReadModels } from '../read-models-under-test.ts';
import { dumpSchema, expectRowsOfQuietRunners, rebuildOn, rowsOf, rowsOfQuietRunner, writeLog } from './rebuilding.ts';

const log = logUnderTest();

/** @returns how often; a table that were read while it is being filled would have fewer rows than before */
async function readOverAndOver(models: TestReadModels, table: string, goOn: () => boolean): Promise<number> {
  const pool = models.openAnother();
  let reads = 0;
  for (let known = 0; goOn(); reads += 1) {
    const { rowCount } = await pool.query({ name: 'reader', text: `select from ${table}` });
    expect(rowCount).toBeGreaterThanOrEqual(known);
    known = rowCount ?? 0;
    await sleep(5);
  }
  return reads;
}

/** The result for every table that a rebuild compares. */
const identical = (projection: RebuildableProjection) =>
  tablesOf(projection).map((name) => ({ name, rows: expect.any(Number) as number, missing: 0, surplus: 0 }));

// First, while the log is short.
describe('a rebuild', () => {
  it('says what was wrong, and sets it right', async () => {
    const live = await readModelsOfTest(log.store, [overageLedger]);
    await writeLog(log.store, 2);
    await live.caughtUp();
    const expected = await rowsOf(live, overageLedger);
    const rows = expected['overage_ledger']!.length;
    const last = 'position = (select max(position) from overage_ledger)';
    await live.pool.query(`update overage_ledger set cents = cents + 1 where ${last}`);
    await live.pool.query('delete from overage_ledger where position = (select min(position) from overage_ledger)');
    const second = 'position = (select min(position) from overage_ledger)';
    await live.pool.query(`update overage_ledger set actor = '{"type": "system", "id": "another"}' where ${second}`);
    const { tables } = await rebuildOn(log.store, live, overageLedger);
    expect(tables).toEqual([{ name: 'overage_ledger', rows, missing: 3, surplus: 2 }]);
    expect(await rowsOf(live, overageLedger)).toEqual(expected);
  });

  it('that fails leaves everything as it was, and nothing in the way of the next', async () => {
    const live = await readModelsOfTest(log.store, [jobTimeline]);
    await writeLog(log.store, 2);
    await live.caughtUp();
    const expected = await rowsOf(live, jobTimeline);
    const failing: RebuildableProjection = {
      ...jobTimeline,
      start: (tools) => async (events, client) => {
        await jobTimeline.start(tools)(events, client);
        throw new Error('a planted failure');
      },
    };
    await expect(rebuildOn(log.store, live, failing)).rejects.toThrow('a planted failure');
    expect(await rowsOf(live, jobTimeline)).toEqual(expected);
    await writeLog(log.store, 1);
    await live.caughtUp();
    expect((await rebuildOn(log.store, live, jobTimeline)).tables[0]).toMatchObject({ missing: 0, surplus: 0 });
  });

  it('of all read models reads the log once, and gives identical rows while the log grows', async () => {
    const live = await readModelsOfTest(log.store, projections);
    await writeLog(log.store, 5);
    await live.caughtUp();
    const reads: string[] = [];
    const store = changedLog(log.store, {
      subscribe: (options) => {
        reads.push([...options.streamPrefixes].sort().join(' '));
        return log.store.subscribe(options);
      },
    });
    const dependencies = { store, macs: testMacs, pool: live.pool, progress: () => undefined };
    const schema = await dumpSchema(live);
    const quiet = await Array.fromAsync(rebuildTogether(projections, dependencies));
    expect(reads).toEqual(['account- corrections- invoices- job- staff- tree-heads usage-']);
    expect(quiet.map(({ name, tables }) => ({ name, tables }))).toEqual(
      projections.map((projection) => ({ name: projection.name, tables: identical(projection) })),
    );
    let isDone = false;
    const writing = writeLog(log.store, () => !isDone);
    const busy = await Array.fromAsync(rebuildTogether(projections, dependencies)).finally(() => (isDone = true));
    await writing;
    expect(busy.map(({ tables }) => tables)).toEqual(projections.map(identical));
    expect(await dumpSchema(live)).toEqual(schema);
    await live.caughtUp();
    await expectRowsOfQuietRunners(log.store, live, projections);
  });

  it('in small steps gives identical rows: what it holds in memory is bounded, whatever the log', async () => {
    const batchEvents = 8;
    const live = await readModelsOfTest(log.store, projections);
    await writeLog(log.store, 5);
    await live.caughtUp();
    const steps: number[] = [];
    const progress = ({ events }: ReplayProgress) => steps.push(events);
    const dependencies = { store: log.store, macs: testMacs, pool: live.pool, batchEvents, progress };
    const rebuilt = await Array.fromAsync(rebuildTogether(projections, dependencies));
    expect(rebuilt.map(({ tables }) => tables)).toEqual(projections.map(identical));
    expect(steps.length).toBeGreaterThan(10);
    const sizes = steps.map((events, index) => events - (steps[index - 1] ?? 0));
    expect(Math.max(...sizes)).toBeLessThanOrEqual((batchEvents * 9) / 8);
    await expectRowsOfQuietRunners(log.store, live, projections);
  });

  it.each([1, 2])('says at once that a pool of %i is too small, where it would wait for itself', async (max) => {
    const live = await readModelsOfTest(log.store, [jobTimeline]);
    const pool = openPatientPool(live.url, { max });
    try {
      const rebuilding = rebuildTogether([jobTimeline], {
        store: log.store,
        macs: testMacs,
        pool,
        progress: () => undefined,
      });
      await expect(Array.fromAsync(rebuilding)).rejects.toThrow(
        `to rebuild 1 read models takes 3 connections to Postgres, and the pool has ${max}`,
      );
    } finally {
      await pool.end();
    }
  });

  it('gives up where a reader does not let go of the table, rather than keep all others waiting', async () => {
    const live = await readModelsOfTest(log.store, [jobTimeline]);
    await writeLog(log.store, 1);
    await live.caughtUp();
    const reader = await live.openAnother().connect();
    try {
      await reader.query('begin');
      await reader.query('select from job_timeline limit 1');
      await expect(rebuildOn(log.store, live, jobTimeline)).rejects.toThrow(
        'somebody reads job_timeline and does not let go',
      );
    } finally {
      reader.release(true);
    }
    expect((await rebuildOn(log.store, live, jobTimeline)).tables[0]).toMatchObject({ missing: 0, surplus: 0 });
  });

  it('waits in no circle with a reader of two of its tables', async () => {
    const live = await readModelsOfTest(log.store, [usageAndJobs]);
    await writeLog(log.store, 1);
    await live.caughtUp();
    const reader = await live.openAnother().connect();
    try {
      await reader.query('begin');
      await reader.query('select from jobs limit 1');
      const rebuilding = rebuildOn(log.store, live, usageAndJobs);
      const waiting = "select from pg_locks where relation = 'jobs'::regclass and not granted";
      await waitFor(async () => (await live.pool.query(waiting)).rowCount === 1, { what: 'the swap to hold credits' });
      await reader.query('select from credits limit 1');
      await reader.query('commit');
      expect((await rebuilding).tables).toEqual(identical(usageAndJobs));
    } finally {
      reader.release(true);
    }
  });

  it('refuses to run beside another one of the same read model', async () => {
    const live = await readModelsOfTest(log.store, [overageLedger]);
    await writeLog(log.store, 1);
    await live.caughtUp();
    const other = await live.openAnother().connect();
    try {
      await other.query("select pg_advisory_lock(hashtext('rebuild overage_ledger'))");
      await expect(rebuildOn(log.store, live, overageLedger)).rejects.toThrow(
        'another rebuild of overage_ledger is under way',
      );
    } finally {
      other.release(true);
    }
    await rebuildOn(log.store, live, overageLedger);
  });

  it('is over when it says so: another one may begin at once', async () => {
    const live = await readModelsOfTest(log.store, [overageLedger]);
    await writeLog(log.store, 1);
    await live.caughtUp();
    for (let turn = 0; turn < 20; turn += 1) await rebuildOn(log.store, live, overageLedger);
  });

  it('refuses to go back in time, to a log older than the read model', async () => {
    const models = await readModelsOfTest(log.store);
    await writeLog(log.store, 1);
    await writeCheckpoint(models.pool, overageLedger.name, checkpointAt(10n ** 18n));
    await expect(rebuildOn(log.store, models, overageLedger)).rejects.toThrow('beyond the end of the log');
    expect(await readReached(models.pool, overageLedger.name)).toBe(10n ** 18n);
  });
});

/** The kinds that a rebuild tells apart: of several tables, with a table that it only corrects, and one that is only added to. */
const oneOfEachKind = [usageAndJobs, apiKeys, overageLedger];
/** Usual runs rebuild all of them together, above, and one of each kind alone; long ones each of them alone. */
const alone = isLongProof ? projections : oneOfEachKind;

describe.each(alone.map((projection) => ({ name: projection.name, projection })))(
  'a rebuild of $name',
  ({ projection }) => {
    it('while the log grows ends with the rows of a runner that nothing happened to', async () => {
      const live = await readModelsOfTest(log.store, [projection]);
      await writeLog(log.store, scaled(5, 200));
      const writing = writeLog(log.store, scaled(20, 800));
      const progress: ReplayProgress[] = [];
      const rebuilt = await rebuildOn(log.store, live, projection, { progress });
      expect(rebuilt.tables).toEqual(identical(projection));
      expect(rebuilt.before).toBe(rebuilt.position);
      expect(progress.at(-1)).toMatchObject({ events: rebuilt.events });
      const positions = progress.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((one, other) => (one < other ? -1 : 1)));
      await writing;
      await live.caughtUp();
      expect(await rowsOf(live, projection)).toEqual(await rowsOfQuietRunner(log.store, projection));
    });

    it('again and again, under load, loses and doubles nothing, and no reader notices', async () => {
      const live = await readModelsOfTest(log.store, [projection]);
      await writeLog(log.store, 1);
      await live.caughtUp();
      const turns = { wanted: scaled(3, 80), done: 0 };
      const isWanted = () => turns.done < turns.wanted;
      const writing = writeLog(log.store, isWanted);
      const reading = Promise.all(tablesOf(projection).map((table) => readOverAndOver(live, table, isWanted)));
      try {
        while (isWanted()) {
          const { position, tables } = await rebuildOn(log.store, live, projection);
          turns.done += 1;
          expect(await readReached(live.pool, projection.name)).toBeGreaterThanOrEqual(position);
          expect(tables).toEqual(identical(projection));
        }
      } finally {
        turns.done = turns.wanted;
      }
      await writing;
      for (const reads of await reading) expect(reads).toBeGreaterThan(1);
      await live.caughtUp();
      expect(await rowsOf(live, projection)).toEqual(await rowsOfQuietRunner(log.store, projection));
    });

    it('leaves everything in the shape that the migrations gave it', async () => {
      const live = await readModelsOfTest(log.store, [projection]);
      await live.caughtUp();
      const before = await dumpSchema(live);
      expect(JSON.stringify(before)).toContain('CREATE INDEX jobs_unfinished ON public.jobs');
      await rebuildOn(log.store, live, projection);
      expect(await dumpSchema(live)).toEqual(before);
      await rebuildOn(log.store, live, projection);
      expect(await dumpSchema(live)).toEqual(before);
      expect((await live.pool.query("select from pg_namespace where nspname like 'rebuild%'")).rowCount).toBe(0);
    });
  },
);
