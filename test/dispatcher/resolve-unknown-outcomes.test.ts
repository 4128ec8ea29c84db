import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { createPendingVoids, measurePendingVoids, signOlderVoids } from '../../src/adapters/pending-voids.ts';
import { createRowMacs } from '../../src/adapters/row-macs.ts';
import { newId, newUuid } from '../../src/adapters/system.ts';
import type { ChargeToVoid, PendingVoids, UnknownAppend } from '../../src/commands/billing-ports.ts';
import type { EventStore } from '../../src/commands/ports.ts';
import { claimJob, readJob, readQueuedJob, recordJobProgress } from '../../src/commands/record-job-progress.ts';
import { startResolving } from '../../src/dispatcher/resolve-unknown-outcomes.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { queueDownload, token, video } from '../domain/usage-examples.ts';
import { settle } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { noteReads } from '../commands/noted-reads.ts';
import { ask, freshCause, lanesOf, midNovember, openUsage, readUsage } from '../commands/usage-account.ts';
import type { UsageAccount } from '../commands/usage-account.ts';
import {
  createReadModels,
  rememberingLogger,
  silent,
  testMacs,
  testSecrets,
} from '../projections/read-models-under-test.ts';
import type { TestReadModels } from '../projections/read-models-under-test.ts';
import { waitFor } from '../support/wait-for.ts';

const log = logUnderTest();
const promised = { process: 'api test 1', at: '2026-11-14T11:59:59.000Z' };
let models: TestReadModels;
let pendingVoids: PendingVoids;
beforeAll(async () => {
  models = await createReadModels();
  pendingVoids = createPendingVoids(models.pool, { macs: testMacs, now: () => promised.at, process: promised.process });
});
afterAll(() => models[Symbol.asyncDispose]());

/** A log with another way to append. */
const appending = (append: EventStore['append']): EventStore => noteReads(log.store, append).store;

/** A log that notes what it is told to append to usage streams, and does it or not. */
function noting(isStored: boolean): { store: EventStore; appends: UnknownAppend[] } {
  const appends: UnknownAppend[] = [];
  const append: EventStore['append'] = (stream, expected, events, options) => {
    appends.push({ accountId: stream.split('-')[1] ?? '', stream, expected, events });
    return isStored ? log.store.append(stream, expected, events, options) : Promise.resolve('not_sent');
  };
  return { store: appending(append), appends };
}

/** Asks for something, and gives the append in which it was, or would have been, stored. */
async function appendOf(
  account: UsageAccount,
  command: Parameters<typeof ask>[2],
  { isStored }: { isStored: boolean },
): Promise<UnknownAppend> {
  const { store, appends } = noting(isStored);
  await ask(lanesOf(store), account, command, { timeoutMs: isStored ? 10_000 : 400 });
  const [append] = appends;
  if (!append) throw new Error('nothing was appended');
  return append;
}

function resolving(store: EventStore = log.store) {
  const became: string[] = [];
  const resolver = startResolving({
    ...{ store, pendingVoids, newUuid, logger: silent, now: () => midNovember, resolveEveryMs: 20 },
    voids: { unknownOutcomeResolved: (outcome) => void became.push(outcome) },
  });
  onTestFinished(() => resolver.stop());
  return { became, ...resolver };
}

const isPending = async (stream: string) =>
  (await pendingVoids.list(1_000)).some(({ append }) => append.stream === stream);
const resolved = (stream: string) =>
  waitFor(async () => !(await isPending(stream)), { what: 'the unknown outcome to be resolved' });
const eventsIn = async (stream: string) => (await readUsage(log.store, stream)).map(({ event }) => event);
const jobOf = (jobToken: string) => readJob(log.store, jobToken);
/** A token that no other test has a job of. */
const freshToken = () => newUuid().replaceAll('-', '_');
const download = (jobToken: string) => ({ ...queueDownload(1), token: jobToken }) as ReturnType<typeof queueDownload>;
const chargeFor = (jobToken: string): ChargeToVoid => ({ kind: 'download', token: jobToken });

describe('an append of unknown outcome', () => {
  it('that was stored is taken back: the charge, then the job', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const jobToken = freshToken();
    const append = await appendOf(account, download(jobToken), { isStored: true });
    expect(await pendingVoids.add(append, chargeFor(jobToken))).toBe(true);
    const { became } = resolving();
    await resolved(account.stream);
    const events = await eventsIn(account.stream);
    expect(events.at(-1)).toEqual({
      type: 'DownloadVoided',
      data: {
        ...{ token: jobToken, charge_event_id: append.events[0]?.id, credits: 0, overage_downloads: 1, cents: 25 },
        promised,
      },
    });
    expect(await jobOf(jobToken)).toMatchObject({ status: 'failed' });
    expect(became).toEqual(['voided']);
    const [failed] = await log.store.read(`job-${jobToken}`, 0);
    expect(failed).toMatchObject({ type: 'JobFailed', data: { reason: 'voided' } });
  });

  it('is taken back without reading the many downloads before it', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0 });
    for (let earlier = 0; earlier < 30; earlier += 1) await ask(lanesOf(log.store), account, download(freshToken()));
    const [jobToken, lookupId] = [freshToken(), newUuid()];
    const charged = await appendOf(account, download(jobToken), { isStored: true });
    const lookedUp = await appendOf(account, { kind: 'debit_metadata', lookupId, video }, { isStored: true });
    await pendingVoids.add(charged, chargeFor(jobToken));
    await pendingVoids.add(lookedUp, { kind: 'lookup', lookup_id: lookupId });
    const { store, reads } = noteReads(log.store);
    const { became } = resolving(store);
    await resolved(account.stream);
    expect(became).toEqual(['voided', 'voided']);
    // The two may meet, and one then reads on.
    expect(Math.min(...reads(account.stream))).toBe(Number(charged.expected) + 1);
    expect(reads(account.stream)).toContain(Number(lookedUp.expected) + 1);
  });

  it('that was not stored is stored now, and taken back', async () => {
    const account = await openUsage(log.store);
    const jobToken = freshToken();
    const append = await appendOf(account, download(jobToken), { isStored: false });
    await pendingVoids.add(append, chargeFor(jobToken));
    resolving();
    await resolved(account.stream);
    expect((await eventsIn(account.stream)).map(({ type }) => type)).toEqual([
      ...['UsagePeriodOpened', 'DownloadCreditDebited', 'DownloadQueued', 'DownloadVoided'],
    ]);
  });

  it('that somebody else was quicker than is nothing', async () => {
    const account = await openUsage(log.store);
    const [lost, won] = [freshToken(), freshToken()];
    const append = await appendOf(account, download(lost), { isStored: false });
    await ask(lanesOf(log.store), account, download(won));
    await pendingVoids.add(append, chargeFor(lost));
    const { became } = resolving();
    await resolved(account.stream);
    expect(became).toEqual(['not_stored']);
    expect((await eventsIn(account.stream)).map(({ type }) => type)).not.toContain('DownloadVoided');
    expect(await log.store.read(`job-${lost}`, 0)).toEqual([]);
  });

  it('stays charged where a client has been told of it meanwhile', async () => {
    const account = await openUsage(log.store);
    const jobToken = freshToken();
    const append = await appendOf(account, download(jobToken), { isStored: true });
    await settle(log.store, account.stream, { kind: 'confirm_download', token: jobToken });
    await pendingVoids.add(append, chargeFor(jobToken));
    const { became } = resolving();
    await resolved(account.stream);
    expect(became).toEqual(['confirmed']);
    expect(await jobOf(jobToken)).toMatchObject({ status: 'queued' });
  });

  it('of a lookup gives its credit back', async () => {
    const account = await openUsage(log.store);
    const lookupId = newUuid();
    const append = await appendOf(account, { kind: 'debit_metadata', lookupId, video }, { isStored: true });
    await pendingVoids.add(append, { kind: 'lookup', lookup_id: lookupId });
    resolving();
    await resolved(account.stream);
    expect((await eventsIn(account.stream)).at(-1)).toMatchObject({
      type: 'MetadataCreditVoided',
      data: { lookup_id: lookupId, charge_event_id: append.events[0]?.id },
    });
  });

  it('takes back only those of its downloads whose clients were told so', async () => {
    const account = await openUsage(log.store, { downloads_limit: 3 });
    const tokens = [freshToken(), freshToken(), freshToken()];
    const { store, appends } = noting(true);
    const lanes = lanesOf(store);
    await Promise.all(tokens.map((each) => ask(lanes, account, download(each))));
    expect(appends).toHaveLength(1);
    for (const each of [tokens[0], tokens[2]]) await pendingVoids.add(appends[0]!, chargeFor(each!));
    resolving();
    await resolved(account.stream);
    const voided = (await eventsIn(account.stream)).filter(({ type }) => type === 'DownloadVoided');
    expect(voided.map(({ data }) => (data as { token: string }).token)).toEqual([tokens[0], tokens[2]]);
    expect(await jobOf(tokens[1]!)).toMatchObject({ status: 'queued' });
  });
});

describe('the resolver', () => {
  it('does nothing twice: not after a crash between its steps, nor beside another one', async () => {
    const account = await openUsage(log.store);
    const jobToken = freshToken();
    const append = await appendOf(account, download(jobToken), { isStored: true });
    for (const before of ['the charge is voided', 'all is done']) {
      await pendingVoids.add(append, chargeFor(jobToken));
      if (before === 'the charge is voided')
        await settle(log.store, account.stream, { kind: 'void_download', token: jobToken });
      resolving();
      resolving();
      await resolved(account.stream);
    }
    expect((await eventsIn(account.stream)).filter(({ type }) => type === 'DownloadVoided')).toHaveLength(1);
    expect(await log.store.read(`job-${jobToken}`, 0)).toHaveLength(1);
  });

  it('ends a claim: its worker can record nothing more', async () => {
    const account = await openUsage(log.store);
    const jobToken = freshToken();
    const append = await appendOf(account, download(jobToken), { isStored: true });
    const dependencies = { store: log.store, now: () => midNovember, newUuid };
    const message = { token: jobToken, usageStream: account.stream, usageRevision: 2 };
    const job = await readQueuedJob(log.store, message);
    const claim = await claimJob(dependencies, { workerId: newId('wrk'), job: job!, message, timeoutMs: 5_000 });
    if (isRefused(claim)) throw new Error(claim.refusal);
    await pendingVoids.add(append, chargeFor(jobToken));
    resolving();
    await resolved(account.stream);
    const step = { ...freshCause(), timeoutMs: 5_000 };
    expect(await recordJobProgress(dependencies, { kind: 'start', token: jobToken, claim }, step)).toEqual({
      refusal: 'claim_lost',
    });
    const again = { workerId: newId('wrk'), job: job!, message, timeoutMs: 5_000 };
    expect(await claimJob(dependencies, again)).toEqual({ refusal: 'job_not_claimable' });
  });

  it('goes on with the others where one cannot be resolved, and ends in time', async () => {
    const [stuck, fine] = [await openUsage(log.store), await openUsage(log.store)];
    const [one, other] = [freshToken(), freshToken()];
    await pendingVoids.add(await appendOf(stuck, download(one), { isStored: true }), chargeFor(token(9)));
    const never: EventStore['append'] = (stream, ...rest) =>
      stream === fine.stream ? log.store.append(stream, ...rest) : Promise.withResolvers<never>().promise;
    await pendingVoids.add(await appendOf(fine, download(other), { isStored: true }), chargeFor(other));
    resolving();
    await resolved(fine.stream);
    const hanging = resolving(appending(never));
    await hanging.stop();
    expect(await isPending(stuck.stream)).toBe(true);
    await models.pool.query('delete from pending_voids');
  });
});

describe('a promise', () => {
  it('is not made for a period whose books are being closed', async () => {
    const account = await openUsage(log.store);
    const append = await appendOf(account, download(freshToken()), { isStored: true });
    await models.pool.query('insert into period_closings (stream) values ($1)', [account.stream]);
    expect(await pendingVoids.add(append, chargeFor(token(1)))).toBe(false);
    expect(await isPending(account.stream)).toBe(false);
  });

  it('waits for whoever is about to close the books, and sees what came of it', async () => {
    const account = await openUsage(log.store);
    const append = await appendOf(account, download(freshToken()), { isStored: true });
    const closer = await models.pool.connect();
    await closer.query('begin');
    await closer.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [account.stream]);
    const added = pendingVoids.add(append, chargeFor(token(1)));
    await waitFor(
      async () => {
        const { rows } = await closer.query("select from pg_locks where locktype = 'advisory' and not granted");
        return rows.length > 0;
      },
      { what: 'the promise to wait' },
    );
    await closer.query('insert into period_closings (stream) values ($1)', [account.stream]);
    await closer.query('commit');
    closer.release();
    expect(await added).toBe(false);
  });

  it('that this installation has not made is neither kept nor forgotten, whatever of it was changed', async () => {
    const { pool } = models;
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const [mine, other] = [freshToken(), freshToken()];
    await ask(lanesOf(log.store), account, download(other));
    const acknowledged = (await log.store.read(account.stream, 1)).map(({ id, type, data, metadata }) => ({
      ...{ id, type, data, metadata },
    }));
    const append = await appendOf(account, download(mine), { isStored: true });
    await pendingVoids.add(append, chargeFor(mine));
    const genuine = (await pool.query<{ voids: object[] }>('select voids from pending_voids')).rows[0]?.voids[0];
    const forgeries: [what: string, row: Record<string, unknown>][] = [
      ['made up', { voids: [{ ...chargeFor(other), promised, mac: 'a'.repeat(81) }] }],
      ['without a MAC', { voids: [chargeFor(other)] }],
      ['of another charge', { voids: [{ ...genuine, token: other }] }],
      ['of another process', { voids: [{ ...genuine, promised: { ...promised, process: 'api test 2' } }] }],
      ['of another time', { voids: [{ ...genuine, promised: { ...promised, at: '2026-11-13T11:59:59.000Z' } }] }],
      ['of another append', { events: JSON.stringify(acknowledged), voids: [genuine] }],
      ['of another stream', { stream: 'usage-acc_a-20261101', voids: [genuine] }],
      ['of another revision', { expected_revision: 0, voids: [genuine] }],
      ['of another account', { account_id: 'acc_a', voids: [genuine] }],
    ];
    await pool.query('delete from pending_voids');
    for (const [, { voids, ...row }] of forgeries) {
      const all = {
        ...{ append_id: newUuid(), account_id: account.accountId, stream: account.stream },
        ...{ expected_revision: append.expected, events: JSON.stringify(append.events), ...row },
      };
      await pool.query(
        'insert into pending_voids (append_id, account_id, stream, expected_revision, events, voids) values ($1, $2, $3, $4, $5, $6)',
        [...Object.values(all), JSON.stringify(voids)],
      );
    }
    const before = await log.store.read(account.stream, 0);
    const told: string[] = [];
    const { logger, text } = rememberingLogger();
    const macs = createRowMacs(testSecrets, { logger, observer: { rowNotBelieved: (table) => void told.push(table) } });
    const checking = createPendingVoids(pool, { macs, now: () => promised.at, process: promised.process });
    for (let round = 0; round < 3; round += 1) expect(await checking.list(1_000)).toEqual([]);
    expect(told).toEqual(forgeries.map(() => 'pending_voids'));
    expect(text().match(/is not believed/g)).toHaveLength(forgeries.length);
    // A genuine promise in the same row is kept, and goes alone.
    await pool.query('update pending_voids set append_id = $1 where voids = $2', [
      append.events[0]?.id,
      JSON.stringify([chargeFor(other)]),
    ]);
    await pendingVoids.add(append, chargeFor(mine));
    const { became } = resolving();
    await waitFor(() => became.length === 1, { what: 'the genuine one to be kept' });
    const isGone = async () =>
      !(await pool.query<{ text: string }>('select voids::text as text from pending_voids')).rows.some(
        ({ text: voids }) => voids.includes(mine) && voids.includes(other),
      );
    await waitFor(isGone, { what: 'the genuine one to be forgotten' });
    const after = await log.store.read(account.stream, before.length);
    expect(after.map(({ type, data }) => [type, (data as { token: string }).token])).toEqual([
      ['DownloadVoided', mine],
    ]);
    expect(await measurePendingVoids(pool)).toMatchObject({ count: forgeries.length });
    await pool.query('delete from pending_voids');
  });

  it('of an older version is signed when the schema is brought up to date, and kept', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const jobToken = freshToken();
    const append = await appendOf(account, download(jobToken), { isStored: true });
    await pendingVoids.add(append, chargeFor(jobToken));
    await models.pool.query('update pending_voids set voids = $1', [JSON.stringify([chargeFor(jobToken)])]);
    expect(await pendingVoids.list(1_000)).toEqual([]);
    await signOlderVoids(models.pool, testMacs);
    resolving();
    await resolved(account.stream);
    expect((await eventsIn(account.stream)).at(-1)).toMatchObject({
      type: 'DownloadVoided',
      data: { token: jobToken, promised: { process: 'unknown' } },
    });
  });

  it('that another charge was added to is not forgotten', async () => {
    const account = await openUsage(log.store);
    const append = await appendOf(account, download(freshToken()), { isStored: true });
    await pendingVoids.add(append, chargeFor(token(1)));
    const [listed] = (await pendingVoids.list(1_000)).filter((each) => each.append.stream === account.stream);
    expect(listed).toEqual({
      append,
      voids: [{ ...chargeFor(token(1)), promised, mac: expect.any(String) as string }],
    });
    await pendingVoids.add(append, chargeFor(token(2)));
    await pendingVoids.remove(listed!);
    expect(await measurePendingVoids(models.pool)).toMatchObject({ count: 1 });
    await models.pool.query('delete from pending_voids');
    expect(await measurePendingVoids(models.pool)).toEqual({ count: 0, oldestSeconds: 0 });
  });
});
