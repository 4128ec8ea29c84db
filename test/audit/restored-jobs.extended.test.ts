import { expect, it } from 'vitest';
import { projections } from '../../projections/all.ts';
import { createReadModelQueries } from '../../src/adapters/postgres/read-model-queries.ts';
import { Verifier } from '../../src/audit/compare/verifier.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { recordStep } from '../commands/record-step.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { readModelsOfFile } from '../projections/read-models-under-test.ts';
import { Random } from './random.ts';
import { RichHistory } from './rich-history.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, ...projections);
/** So late that the audit misses the close of the period: only what it says of rows is looked at. */
const later = '2030-01-01T00:00:00.000Z';
const remembered = 10_000;

it('an audit that goes on restores the jobs that it had forgotten when their files expire, and finds their rows right', async () => {
  const verifier = new Verifier({ log: log.store, queries: createReadModelQueries(models.pool) });
  await new RichHistory(log.store, new Random(20_261_125), '2026-01-31T10:00:00.000Z').live(1, 60);
  await models.caughtUp();
  await verifier.catchUp();
  const { rows } = await models.pool.query<{ token: string }>(
    "select token from jobs where status = 'done' and file_expired_at is null",
  );
  expect(rows.length).toBeGreaterThan(2);
  const dependencies = { store: log.store, now: () => later };
  for (const { token } of rows) await recordStep(dependencies, { kind: 'expire_file', token, completedUntil: later });
  await models.caughtUp();
  await verifier.catchUp();
  const found = verifier.divergences.list().flatMap(({ divergences }) => divergences);
  expect(found.filter(({ rule }) => rule.startsWith('row_'))).toEqual([]);
});

it('an audit that has forgotten queued jobs restores them when they are worked on, and finds the one row that was changed meanwhile', async () => {
  const verifier = new Verifier({ log: log.store, queries: createReadModelQueries(models.pool) });
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.invoice()]);
  for (let queued = 0; queued < remembered + 1_000; queued += 500) await appendAll(log.store, [account.queue(500)]);
  await models.caughtUp();
  await verifier.catchUp();
  // The oldest are forgotten.
  expect(verifier.replay.jobs.size).toBe(remembered);
  const changed = 'update jobs set running_cents = running_cents + 1 where account_id = $1 and usage_revision = 2';
  expect((await models.pool.query(changed, [account.accountId])).rowCount).toBe(1);
  const worked = 1_500;
  await appendAll(log.store, account.work({ areOver: true }).slice(0, worked));
  await models.caughtUp();
  await verifier.catchUp();
  const found = verifier.divergences.list().flatMap(({ divergences }) => divergences);
  const ofJobs = found.filter(({ rule }) => rule.startsWith('job_') || rule.startsWith('row_'));
  expect(ofJobs).toMatchObject([{ rule: 'row_differs', field: 'jobs.running_cents' }]);
  expect(verifier.replay.jobs.size).toBeLessThan(remembered);
});
