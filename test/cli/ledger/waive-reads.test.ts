import { expect, it } from 'vitest';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { waiveCommand, waiveFailedCommand } from '../../../src/cli/ledger/waive.ts';
import { newStaffCache } from '../../../src/commands/staff.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { noteReads } from '../../commands/noted-reads.ts';
import { midNovember, openUsage, queueAll, upFrom, writersOf } from '../../commands/usage-account.ts';
import { token } from '../../domain/usage-examples.ts';
import { readModelsOfTest, testMacs } from '../../projections/read-models-under-test.ts';
import { waitFor } from '../../support/wait-for.ts';

const log = logUnderTest();

it('a waiver reads its period from the charge on, however much stands before', async () => {
  const models = await readModelsOfTest(log.store, [usageAndJobs]);
  const writers = writersOf(log.store);
  const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 3 });
  const { accountId, stream } = account;
  await queueAll(writers, account, upFrom(1, 20));
  const failed = "update jobs set status = 'failed', failure_reason = 'internal_error' where token >= $1";
  await waitFor(async () => (await models.pool.query(failed, [token(19)])).rowCount === 2, {
    what: 'the downloads in the read model',
  });
  const { store, reads } = noteReads(log.store);
  const cli = {
    store,
    pool: models.pool,
    macs: testMacs,
    now: () => midNovember,
    newUuid,
    staffCache: newStaffCache(),
    approvalCents: 5_000,
    hasProjector: () => Promise.resolve(true),
    output: { json: true, terminal: false, columns: undefined, tell: () => undefined, write: () => undefined },
  };
  const why = { reason: 'the file was broken', reference: 'CASE-1', by: 'Ada' };
  await waiveCommand(cli, [token(18)], { ...why, cents: 1 });
  expect(new Set(reads(stream))).toEqual(new Set([35]));
  await models.caughtUp();
  await waiveFailedCommand(cli, { ...why, account: accountId, period: '2026-11-01' });
  // At 41 is the event that the read model has received last: the command asks whether the log has it.
  expect(new Set(reads(stream))).toEqual(new Set([35, 41, 37]));
});
