import { expect, it } from 'vitest';
import { overageLedger } from '../../../projections/overage-ledger.ts';
import { exportCommand } from '../../../src/cli/ledger/export.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { openUsage, queueAll, upFrom, writersOf } from '../../commands/usage-account.ts';
import { readModelsOfTest } from '../../projections/read-models-under-test.ts';
import { isLongProof, scaled } from '../../support/proof-scale.ts';

/** A period of more rows than are read at once; real log and read model, without the processes around them. */
const log = logUnderTest();

it('a large period is exported page by page, and every row is compared', async () => {
  const models = await readModelsOfTest(log.store, [overageLedger]);
  const writers = writersOf(log.store);
  const account = await openUsage(log.store, { downloads_limit: 100, overage_cents: 3 });
  const downloads = scaled(1_100, 100_000);
  for (let first = 1; first <= downloads; first += 100) await queueAll(writers, account, upFrom(first, 100));
  let lines = 0;
  let last = '';
  const output = {
    json: false,
    terminal: false,
    columns: undefined,
    tell: () => undefined,
    write: (text: string) => {
      lines += text.split('\n').length - 1;
      last = text;
    },
  };
  const cli = { store: log.store, pool: models.pool, hasProjector: () => Promise.resolve(true), output };
  const asked = { account: account.accountId, period: '2026-11-01' };
  const startedMs = performance.now();
  await exportCommand(cli, { ...asked, format: 'csv' });
  const seconds = (performance.now() - startedMs) / 1000;
  expect(lines).toBe(1 + downloads);
  if (isLongProof) console.log(`${downloads} rows in ${seconds.toFixed(1)} s, ${process.memoryUsage().rss >> 20} MiB`);

  await exportCommand(cli, { ...asked, format: 'json' });
  const totals = { total_cents: 3 * (downloads - 100), charges: downloads, corrections: 0 };
  expect(JSON.parse(`{${last.slice(last.lastIndexOf('"total_cents"'))}`)).toEqual(totals);

  // The last row of the first page, and the first of the second.
  for (const ordinal of [1_000, 1_001]) {
    const where = `account_id = '${account.accountId}' and ordinal = ${ordinal}`;
    await models.pool.query(`update overage_ledger set cents = cents + 1 where ${where}`);
    await expect(exportCommand(cli, { ...asked, format: 'csv' })).rejects.toThrow('differs in the ledger');
    await models.pool.query(`update overage_ledger set cents = cents - 1 where ${where}`);
  }
  await models.pool.query(
    `delete from overage_ledger where account_id = '${account.accountId}' and ordinal = ${downloads}`,
  );
  await expect(exportCommand(cli, { ...asked, format: 'csv' })).rejects.toThrow('is not in the ledger');
});
