import { expect, it, onTestFinished } from 'vitest';
import { projections } from '../../projections/all.ts';
import { readAuditState, writeAuditState } from '../../projections/queries/audit-state.ts';
import { createReadModelQueries } from '../../src/adapters/postgres/read-model-queries.ts';
import { auditContinuously, type AuditDependencies } from '../../src/dispatcher/audit-continuously.ts';
import { acknowledgementsStream } from '../../src/domain/audit-events.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { noteReads } from '../commands/noted-reads.ts';
import { midNovember } from '../commands/usage-account.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { readModelsOfTest, rememberingLogger } from '../projections/read-models-under-test.ts';
import { jsonLines } from '../support/log-lines.ts';
import { waitFor } from '../support/wait-for.ts';

const log = logUnderTest();

it('follows the log, tells of a divergence once, and that it is mended', async () => {
  const models = await readModelsOfTest(log.store, projections);
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.issueKey().append, account.queue(5)]);
  await appendAll(log.store, account.work());
  const { logger, text } = rememberingLogger();
  const queries = createReadModelQueries(models.pool);
  // It asks what was acknowledged whenever it begins from the start.
  const { store, reads } = noteReads(log.store);
  const begun = () => reads(acknowledgementsStream).length;
  const audit = auditContinuously({
    log: store,
    queries,
    logger,
    lookEveryMs: 20,
    startOverMs: 20,
    now: () => midNovember,
    record: (said) => writeAuditState(models.pool, said),
  });
  try {
    await waitFor(() => audit.state.events >= 27, { what: 'the first events to be verified' });
    await appendAll(log.store, [account.queue(3)]);
    await waitFor(() => audit.state.events >= 33, { what: 'what came since to be verified' });
    expect(audit.state.divergences).toBe(0);
    const said = async () => (await readAuditState(models.pool, 'usage_and_jobs')).state;
    const clean = await waitFor(
      async () => {
        const now = await said();
        return now?.events === audit.state.events && now.caught_up_at !== null ? now : undefined;
      },
      { what: 'what it says to be kept' },
    );
    expect(clean).toMatchObject({ unknown: 0, known: 0, divergences: [], caught_up_at: midNovember });
    expect(BigInt(clean.position ?? '-1')).toBe(await log.store.headPosition());

    await models.pool.query(`update overage_ledger set cents = cents + 1 where type = 'OverageCharged'`);
    // One row too many makes the audit look again at verified rows, and from then on from the start.
    await models.pool.query(
      `insert into overage_ledger select gen_random_uuid(), account_id, period_start, type, token, lookup_id, ordinal, stream,
         revision + 1000, position, time, cents, rate_cents, rate_version, request_id, actor from overage_ledger limit 1`,
    );
    await waitFor(() => audit.state.divergences > 0, { what: 'the divergence' });
    await waitFor(() => text().includes('overage_ledger.cents'), { what: 'the changed rows to be named' });
    await waitFor(async () => (await said())?.unknown === audit.state.divergences, {
      what: 'the divergences to be kept',
    });
    const { divergences = [] } = (await said()) ?? {};
    expect(
      divergences.find(({ facts }) => (facts as { field: string }).field === 'overage_ledger.cents'),
    ).toMatchObject({
      name: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      acknowledged: false,
      facts: { rule: 'row_differs' },
    });
    const before = begun();
    await waitFor(() => begun() >= before + 3, { what: 'the same to be found again' });
    await models.pool.query('delete from overage_ledger where revision >= 1000');
    await models.pool.query(`update overage_ledger set cents = cents - 1 where type = 'OverageCharged'`);
    await waitFor(() => audit.state.divergences === 0, { what: 'all to be well again' });
  } finally {
    await audit.stop();
  }
  const lines = jsonLines<{ id: string; msg: string }>(text());
  const said = lines.filter(({ msg }) => msg.includes('the audit found a divergence')).map(({ id }) => id);
  expect(new Set(said).size).toBe(said.length);
});

it('keeps what an earlier look has found until one has come to the end', async () => {
  const { pool } = await readModelsOfTest(log.store);
  const said = async () => (await readAuditState(pool, 'usage_and_jobs')).state;
  const of = (count: number) => ({
    unknown: count,
    known: 0,
    divergences: [{ name: String(count), acknowledged: false, facts: {} }],
  });
  const notices = [{ notice: 'invited' }];
  await writeAuditState(pool, {
    events: 90,
    position: '99',
    ...of(3),
    notices,
    isWhole: true,
    caughtUpAt: midNovember,
  });
  // Another process has begun from the start.
  const partial = { events: 2, position: '4', notices: [], isWhole: false, caughtUpAt: null };
  await writeAuditState(pool, { ...partial, unknown: 0, known: 0, divergences: [] });
  const before = { caught_up_at: midNovember, caught_up_position: '99' };
  expect(await said()).toMatchObject({ events: 2, position: '4', ...of(3), notices, ...before });
  await writeAuditState(pool, { ...partial, ...of(1) });
  expect(await said()).toMatchObject(of(3));
  await writeAuditState(pool, { ...partial, ...of(4) });
  expect(await said()).toMatchObject({ ...of(4), ...before });
  await writeAuditState(pool, {
    ...partial,
    events: 91,
    position: '100',
    unknown: 0,
    known: 0,
    divergences: [],
    isWhole: true,
  });
  expect(await said()).toMatchObject({ unknown: 0, divergences: [], ...before });
});

/** An audit that has verified everything, until the test ends. */
async function caughtUpAudit(times: Pick<AuditDependencies, 'startOverMs' | 'lookAgainMs'>) {
  const { pool } = await readModelsOfTest(log.store, projections);
  const { logger, text } = rememberingLogger();
  const said: { caughtUpAt: string | null }[] = [];
  const { state, stop } = auditContinuously({
    log: log.store,
    queries: createReadModelQueries(pool),
    logger,
    lookEveryMs: 20,
    now: () => midNovember,
    ...times,
    record: async (now) => void said.push(now),
  });
  onTestFinished(stop);
  await waitFor(() => typeof said.at(-1)?.caughtUpAt === 'string', { what: 'everything to be verified' });
  return { state, pool, text };
}

it.each(['overage_ledger', 'invoices'])('finds a row of %s that is deleted after it was verified', async (table) => {
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.queue(5)]);
  await appendAll(log.store, [account.invoice()]);
  const { state, pool, text } = await caughtUpAudit({ startOverMs: 20 });
  expect(state.divergences).toBe(0);
  await pool.query(`delete from ${table} where ctid = (select min(ctid) from ${table})`);
  await waitFor(() => state.divergences > 0, { what: 'the divergence' });
  await waitFor(() => text().includes('"row_missing"'), { what: 'its rule to be named' });
});

it('looks again at what it has verified, in time', async () => {
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.issueKey().append, account.queue(5)]);
  const { pool, text } = await caughtUpAudit({ lookAgainMs: 200 });
  // The same number of rows, which a look at new events alone does not compare.
  await pool.query(`update overage_ledger set cents = cents + 1 where type = 'OverageCharged'`);
  const isNamed = () => text().includes('overage_ledger.cents');
  // Ten times as long as it took on this machine.
  await waitFor(isNamed, { what: 'the changed rows to be named' });
});

it('stops at once while it waits for read models that nobody writes', async () => {
  const models = await readModelsOfTest(log.store);
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.issueKey().append, account.queue(5)]);
  const { query, snapshot } = createReadModelQueries(models.pool);
  let polls = 0;
  const counted: typeof query = (sql, values) => {
    if (sql.includes('checkpoints')) polls += 1;
    return query(sql, values);
  };
  const queries = { query: counted, snapshot };
  const audit = auditContinuously({
    log: log.store,
    queries,
    logger: rememberingLogger().logger,
    now: () => midNovember,
    record: (said) => writeAuditState(models.pool, said),
  });
  await waitFor(() => polls >= 3, { what: 'the audit to wait' });
  await audit.stop();
});
