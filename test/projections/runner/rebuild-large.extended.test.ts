import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projections } from '../../../projections/all.ts';
import { tablesOf } from '../../../projections/runner/projection.ts';
import { rebuild } from '../../../projections/runner/rebuild.ts';
import type { ReplayProgress } from '../../../projections/runner/replay.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { scaled } from '../../support/proof-scale.ts';
import { sum } from '../../support/sum.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { patienceMs } from '../../support/wait-for.ts';
import { appendAll, GeneratedAccount, type GeneratedKey } from '../generated-account.ts';
import { createReadModels, testMacs, type TestReadModels } from '../read-models-under-test.ts';
import { secondsOfCopy } from './bare-copy.ts';

/**
 * A long log: each account has a key, and a hundred downloads whose jobs have ended or are under way. Small: some thousand
 * events, to see that it works; long: a million, whose figures are printed.
 */
const accounts = scaled(5, 2_080);
const downloadsPerAccount = 100;
const downloadsPerAppend = 50;
const accountsAtOnce = 4;

/** One row for a day or a month of all accounts. */
const sumsOfAll = ['job_days', 'month_money'];

const log = logUnderTest();
let models: TestReadModels;
const keys: GeneratedKey[] = [];

beforeAll(async () => {
  models = await createReadModels({ queryTimeoutMs: patienceMs });
  const startedMs = performance.now();
  for (let first = 0; first < accounts; first += accountsAtOnce) {
    const some = Array.from({ length: Math.min(accountsAtOnce, accounts - first) }, () => new GeneratedAccount());
    await Promise.all(some.map(writeAccount));
  }
  const events = Number(await log.store.headPosition());
  report('the log', { events, ...rateOf(events, startedMs) });
});

afterAll(() => models[Symbol.asyncDispose]());

async function writeAccount(account: GeneratedAccount): Promise<void> {
  const opened = account.open({ hourly_limit: 10_000 });
  const key = account.issueKey();
  keys.push(key);
  await appendAll(log.store, [...opened, key.append, account.invoice()]);
  for (let queued = 0; queued < downloadsPerAccount; queued += downloadsPerAppend) {
    await appendAll(log.store, [account.queue(downloadsPerAppend), ...account.work()]);
  }
  await appendAll(log.store, [account.warn(), account.cap(), account.employ(), account.ask()]);
}

function report(what: string, figures: Record<string, number>): void {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${String(Math.round(value * 100) / 100)}`);
  console.log(`${what}: ${text.join(', ')}`);
}

function rateOf(events: number, startedMs: number): { seconds: number; events_per_second: number } {
  const seconds = (performance.now() - startedMs) / 1000;
  return { seconds, events_per_second: events / seconds };
}

/** Requests are admitted and new downloads queued, at a pace that leaves room for what is measured. */
async function load(goOn: () => boolean): Promise<{ admitted: number; longestMs: number; queued: number }> {
  const admissions = models.openAdmissions();
  const done = { admitted: 0, longestMs: 0, queued: 0 };
  const account = new GeneratedAccount();
  await appendAll(log.store, account.open());
  while (goOn()) {
    const startedMs = performance.now();
    const asked = keys.slice(0, 20).map(({ keyHash }) => admissions.admit({ keyHash }));
    for (const admission of await Promise.all(asked)) expect(admission?.outcome).toBe('admitted');
    done.admitted += asked.length;
    done.longestMs = Math.max(done.longestMs, performance.now() - startedMs);
    await appendAll(log.store, [account.queue(2), ...account.work()]);
    done.queued += 2;
    await sleep(100);
  }
  return done;
}

async function appliedEvents(): Promise<number> {
  const { rows } = await models.pool.query<{ applied: number }>(
    'select sum(applied_events)::int as applied from checkpoints',
  );
  return rows[0]?.applied ?? 0;
}

describe('a long log', () => {
  it('is projected by live runners, all at once', async () => {
    const startedMs = performance.now();
    models.run(log.store, ...projections);
    await models.caughtUp();
    const applied = await appliedEvents();
    report('live projection of all read models', { applied_events: applied, ...rateOf(applied, startedMs) });
  });

  it.each(projections.map((projection) => ({ name: projection.name, projection })))(
    'gives identical rows of $name when that is rebuilt under load',
    async ({ name, projection }) => {
      const progress: ReplayProgress[] = [];
      let isDone = false;
      const loading = load(() => !isDone);
      const startedMs = performance.now();
      let replayedMs = startedMs;
      const rebuilt = await rebuild(projection, {
        macs: testMacs,
        store: log.store,
        pool: models.pool,
        progress: (each) => {
          progress.push(each);
          replayedMs = performance.now();
        },
      }).finally(() => (isDone = true));
      const { events, tables } = rebuilt;
      report(`rebuild of ${name}`, {
        events,
        rows: sum(tables.map(({ rows }) => rows)),
        ...rateOf(events, startedMs),
        seconds_after_the_replay: (performance.now() - replayedMs) / 1000,
      });
      const { admitted, longestMs, queued } = await loading;
      report(`  beside it`, { admitted, longest_ms: longestMs, queued });
      report(`  bare copy`, { seconds: await secondsOfCopy(models.pool, tablesOf(projection), temporaryDirectory()) });
      for (const { name: table, missing, surplus, rows } of tables) {
        expect({ missing, surplus }).toEqual({ missing: 0, surplus: 0 });
        // Nothing signs this log.
        if (table !== 'proof_heads') expect(rows).toBeGreaterThanOrEqual(sumsOfAll.includes(table) ? 1 : accounts);
      }
      expect(Math.min(admitted, queued)).toBeGreaterThan(0);
      // In order, and in steps that a person can follow.
      const shares = progress.map(({ position, target }) => Number(position) / Number(target));
      expect(shares.at(-1)).toBe(1);
      expect(progress.length).toBeGreaterThan(events / 5_000);
      await models.caughtUp();
    },
  );
});
