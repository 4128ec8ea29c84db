import { expect, it } from 'vitest';
import { projections } from '../../projections/all.ts';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { createReadModelQueries } from '../../src/adapters/postgres/read-model-queries.ts';
import type { ReadModelQueries } from '../../src/audit/compare/comparison.ts';
import { NotVerifiable, Verifier } from '../../src/audit/compare/verifier.ts';
import type { EventStore, WholeLog } from '../../src/ports/event-store.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import {
  createReadModels,
  readModelsOfTest,
  testMacs,
  type TestReadModels,
} from '../projections/read-models-under-test.ts';
import { waitFor } from '../support/wait-for.ts';
import { Random } from './random.ts';
import { RichHistory } from './rich-history.ts';

/** Books that are right, under read models that are late, tables that are replaced, and a log that is away for a moment. */
const log = logUnderTest();

const rulesOf = ({ divergences }: Verifier) =>
  divergences.list().flatMap(({ divergences: found }) => found.map(({ rule, field }) => `${rule} ${field}`));

it('an account whose read models are behind is not verified, and has no divergence', async () => {
  await using models = await createReadModels();
  const running = models.run(log.store, ...projections);
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.issueKey().append, account.queue(5)]);
  await appendAll(log.store, [account.invoice()]);
  await models.caughtUp();
  await Promise.all(running.map((each) => each.close()));
  await appendAll(log.store, [account.queue(5)]);
  const verifier = new Verifier({
    log: log.store,
    queries: createReadModelQueries(models.pool),
    readModelTimeoutMs: 100,
    scope: { accountId: account.accountId },
  });
  await expect(verifier.catchUp()).rejects.toThrow(NotVerifiable);
  expect(rulesOf(verifier)).toEqual([]);
});

it('a read model that stands between a charge and its download is no divergence', async () => {
  await using models = await createReadModels();
  const running = models.run(log.store, ...projections);
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.issueKey().append, account.queue(5)]);
  const before = await log.store.headPosition();
  await appendAll(log.store, [account.queue(1)]);
  await models.caughtUp();
  await Promise.all(running.map((each) => each.close()));
  // As after a batch that ended in the middle of that append, which came after the audit had asked for the end of the log.
  const { rows } = await models.pool.query<{ position: string }>(
    'select position::text as position from job_timeline order by job_timeline.position desc limit 2',
  );
  const [queued, charged] = rows.map(({ position }) => position);
  await models.pool.query('delete from job_timeline where position = $1', [queued]);
  await models.pool.query(
    `update checkpoints set position = $1, prepare_position = $1, event_position = $1 where name = 'job_timeline'`,
    [charged],
  );
  let isFirst = true;
  const headPosition = () => {
    if (!isFirst) return log.store.headPosition();
    isFirst = false;
    return Promise.resolve(before);
  };
  const verifier = new Verifier({
    log: { ...log.store, headPosition },
    queries: createReadModelQueries(models.pool),
    scope: { accountId: account.accountId },
  });
  await verifier.catchUp();
  expect(rulesOf(verifier)).toEqual([]);
});

it('tables that a rebuild replaces while they are compared are no divergence', async () => {
  const models = await readModelsOfTest(log.store, projections);
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.issueKey().append, account.queue(5)]);
  await models.caughtUp();
  let rebuilding: Promise<unknown> | undefined;
  const verifier = new Verifier({
    log: log.store,
    queries: meanwhile(createReadModelQueries(models.pool), async () => {
      let isOver = false;
      rebuilding = rebuild(usageAndJobs, {
        store: log.store,
        macs: testMacs,
        pool: models.pool,
        progress: () => undefined,
      })
        .catch(() => undefined)
        .finally(() => (isOver = true));
      await waitFor(async () => isOver || (await isSwapWaiting(models)), { what: 'the swap of the rebuild' });
    }),
  });
  await verifier.catchUp();
  await rebuilding;
  expect(rulesOf(verifier)).toEqual([]);
});

/** Does something once the instant of a snapshot is taken. */
function meanwhile({ query, snapshot }: ReadModelQueries, work: () => Promise<void>): ReadModelQueries {
  return {
    query,
    snapshot: (tables, compare) =>
      snapshot(tables, (asked) => {
        let isFirst = true;
        return compare(async (sql, values) => {
          const rows = await asked(sql, values);
          if (isFirst) await work();
          isFirst = false;
          return rows;
        });
      }),
  };
}

async function isSwapWaiting({ pool }: TestReadModels): Promise<boolean> {
  const { rowCount } = await pool.query("select from pg_locks where mode = 'AccessExclusiveLock' and not granted");
  return (rowCount ?? 0) > 0;
}

it('a log that is away in the middle of an event is no divergence, for an audit that goes on', async () => {
  const account = new RichHistory(log.store, new Random(20_261_126), '2026-01-31T10:00:00.000Z');
  await account.live(2, 20);
  await account.employStaff();
  const models = await readModelsOfTest(log.store, projections);
  await models.caughtUp();
  // The roles of staff are asked for after the event of theirs was chained to the one before.
  let isAway = true;
  const store: EventStore & WholeLog = {
    ...log.store,
    read: (stream, ...range) =>
      isAway && stream.startsWith('staff-')
        ? Promise.reject(new Error('the log is away'))
        : log.store.read(stream, ...range),
  };
  const scope = { accountId: account.accountId };
  const begin = () => new Verifier({ log: store, queries: createReadModelQueries(models.pool), scope });
  const first = begin();
  await expect(first.catchUp()).rejects.toThrow('the log is away');
  isAway = false;
  expect(first.isUsable).toBe(false);
  await expect(first.catchUp()).rejects.toThrow('verify from the start');
  expect(rulesOf(first)).toEqual([]);
  const second = begin();
  await second.catchUp();
  expect(rulesOf(second)).toEqual([]);
});
