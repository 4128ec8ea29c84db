import { describe, expect, it } from 'vitest';
import { jobTimeline, readTimeline } from '../../projections/job-timeline.ts';
import { overageLedger, readLedger } from '../../projections/overage-ledger.ts';
import { catchUp, measureProgress } from '../../projections/runner/wait-for-checkpoint.ts';
import { claimJob, readQueuedJob } from '../../src/commands/record-job-progress.ts';
import type { ChargeCommand } from '../../src/domain/change-charge.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import type { Actor } from '../../src/domain/parse-event.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { correct as correctStored } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import {
  ask,
  freshCause,
  freshToken,
  midNovember,
  openUsage,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { lookUp, video, waiveCommand } from '../domain/usage-examples.ts';
import { sum } from '../support/sum.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { createReadModels, readModelsOfFile } from './read-models-under-test.ts';

const log = logUnderTest();
// Two of each, of which only one may apply an event.
const models = readModelsOfFile(log, overageLedger, overageLedger, jobTimeline, jobTimeline);

const download = (account: UsageAccount, token: string, now = midNovember, cause = freshCause()) =>
  ask(
    writersOf(log.store, () => now),
    account,
    { kind: 'queue_download', token, video, ...defaultOptions, quality: '720' },
    { cause },
  );

const periodOf = ({ accountId }: UsageAccount) => ({ accountId, periodStart: '2026-11-01T00:00:00.000Z' });

async function correct({ stream }: UsageAccount, command: ChargeCommand, by?: { actor: Actor }): Promise<void> {
  expect(isRefused(await correctStored(log.store, stream, command, by))).toBe(false);
}

const ledgerOf = ({ accountId }: UsageAccount, periodStart: string) =>
  readLedger(models.pool, { accountId, periodStart, upTo: 10n ** 18n });

describe('the ledger', () => {
  it('has a row for each charge, credits included, with its event, rate and request', async () => {
    const account = await openUsage(log.store, { downloads_limit: 1, overage_cents: 25 });
    const [included, charged, lookup] = [freshToken(), freshToken(), newUuid()];
    await download(account, included);
    const cause = freshCause();
    await download(account, charged, midNovember, cause);
    await ask(writersOf(log.store), account, lookUp(lookup));
    await models.caughtUp();
    const stored = await log.store.read(account.stream, 0);
    const traced = (revision: number) => ({
      event_id: stored[revision]!.id,
      account_id: account.accountId,
      period_start: '2026-11-01T00:00:00.000Z',
      stream: account.stream,
      revision,
      position: String(stored[revision]!.position),
      time: midNovember,
      actor: cause.actor,
      request_id: (stored[revision]!.metadata as { $correlationId: string }).$correlationId,
    });
    const credit = { cents: 0, rate_cents: null, rate_version: null, ordinal: 1, corrects: null, reference: null };
    const rows = await ledgerOf(account, '2026-11-01T00:00:00.000Z');
    expect(rows).toEqual([
      { ...traced(1), ...credit, type: 'DownloadCreditDebited', token: included, lookup_id: null },
      {
        ...traced(3),
        type: 'OverageCharged',
        token: charged,
        lookup_id: null,
        ordinal: 2,
        cents: 25,
        rate_cents: 25,
        rate_version: '2026-11',
        corrects: null,
        reference: null,
      },
      { ...traced(5), ...credit, type: 'MetadataCreditDebited', token: null, lookup_id: lookup },
    ]);
    expect(rows[1]!.request_id).toBe(cause.correlationId);
  });

  it('keeps the periods of an account apart', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 7 });
    await download(account, freshToken());
    await download(account, freshToken(), '2026-12-05T00:00:00.000Z');
    await download(account, freshToken(), '2026-12-06T00:00:00.000Z');
    await models.caughtUp();
    const november = await ledgerOf(account, '2026-11-01T00:00:00.000Z');
    const december = await ledgerOf(account, '2026-12-01T00:00:00.000Z');
    expect([november, december].map((rows) => rows.map(({ ordinal }) => ordinal))).toEqual([[1], [1, 2]]);
  });

  it('has corrections beside what they correct, with less than nothing, and who made them', async () => {
    const account = await openUsage(log.store, { downloads_limit: 1, overage_cents: 25 });
    const [credited, charged, waived, lookup] = [freshToken(), freshToken(), freshToken(), newUuid()];
    for (const token of [credited, charged, waived]) await download(account, token);
    await ask(writersOf(log.store), account, lookUp(lookup));
    const staff = { type: 'staff', id: 'Ada', role: 'operator', reason: 'the file was broken' } as const;
    await correct(account, { kind: 'void_download', token: credited });
    await correct(account, waiveCommand(waived, 'case-1', 10), { actor: staff });
    await correct(account, { kind: 'void_download', token: waived });
    await correct(account, { kind: 'void_lookup', lookupId: lookup });
    await models.caughtUp();
    const rows = await ledgerOf(account, '2026-11-01T00:00:00.000Z');
    const [credit, , second, looked] = rows.map(({ event_id: id }) => id);
    const none = { ordinal: null, rate_cents: null, rate_version: null, reference: null, lookup_id: null };
    expect(rows.slice(4)).toMatchObject([
      { ...none, type: 'DownloadVoided', token: credited, cents: 0, corrects: credit },
      { ...none, type: 'ChargeWaived', token: waived, cents: -10, corrects: second, reference: 'case-1', actor: staff },
      { ...none, type: 'DownloadVoided', token: waived, cents: -15, corrects: second },
      { ...none, type: 'MetadataCreditVoided', token: null, cents: 0, corrects: looked, lookup_id: lookup },
    ]);
    expect(sum(rows.map(({ cents }) => cents))).toBe(25);
    const pages = await Promise.all([
      readLedger(models.pool, { ...periodOf(account), upTo: 10n ** 18n, limit: 3 }),
      readLedger(models.pool, { ...periodOf(account), after: BigInt(rows[2]!.position), upTo: 10n ** 18n }),
    ]);
    expect(pages.flat()).toEqual(rows);
  });

  it('ends at the position asked for', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 7 });
    await download(account, freshToken());
    await download(account, freshToken());
    await models.caughtUp();
    const periodStart = '2026-11-01T00:00:00.000Z';
    const [first] = await ledgerOf(account, periodStart);
    const upTo = BigInt(first!.position);
    expect(await readLedger(models.pool, { accountId: account.accountId, periodStart, upTo })).toEqual([first]);
  });
});

describe('a timeline', () => {
  it('has the events of both streams of a download, as they were written, in the order of the log', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 7 });
    const [token, other] = [freshToken(), freshToken()];
    await download(account, token);
    await download(account, other);
    const message = { token, usageStream: account.stream, usageRevision: 2 };
    const job = await readQueuedJob(log.store, message);
    const dependencies = { store: log.store, now: () => '2026-11-14T12:00:01.500Z', newUuid };
    await claimJob(dependencies, { workerId: 'wrk_aaaaaaaaaaaaaaaa', job: job!, message, timeoutMs: patienceMs });
    await models.caughtUp();
    const usage = await log.store.read(account.stream, 1, 2);
    const stored = [...usage, ...(await log.store.read(`job-${token}`, 0))];
    const rows = await readTimeline(models.pool, token);
    expect(rows.map(({ event_id, stream, revision, type }) => ({ id: event_id, stream, revision, type }))).toEqual(
      stored.map(({ id, stream, revision, type }) => ({ id, stream, revision, type })),
    );
    expect(rows.map(({ cents }) => cents)).toEqual([7, null, null]);
    expect(rows.map(({ time }) => time)).toEqual([midNovember, midNovember, '2026-11-14T12:00:01.500Z']);
    expect(rows.map(({ data }) => JSON.stringify(data))).toEqual(stored.map(({ data }) => JSON.stringify(data)));
    expect(rows[2]!.actor).toEqual({ type: 'system', id: 'wrk_aaaaaaaaaaaaaaaa' });
    expect((await readTimeline(models.pool, other)).map(({ type }) => type)).toEqual([
      'OverageCharged',
      'DownloadQueued',
    ]);
    expect(await readTimeline(models.pool, freshToken())).toEqual([]);
  });

  it('has what came after the charge: confirmed, voided, waived', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 7 });
    const [confirmed, voided] = [freshToken(), freshToken()];
    for (const token of [confirmed, voided]) await download(account, token);
    await correct(account, { kind: 'confirm_download', token: confirmed });
    await correct(account, waiveCommand(confirmed, 'case-1', 2));
    await correct(account, { kind: 'void_download', token: voided });
    await models.caughtUp();
    const eventsOf = async (token: string) =>
      (await readTimeline(models.pool, token)).map(({ type, cents }) => [type, cents]);
    const charge = [
      ['OverageCharged', 7],
      ['DownloadQueued', null],
    ];
    expect(await eventsOf(confirmed)).toEqual([...charge, ['DownloadConfirmed', null], ['ChargeWaived', -2]]);
    expect(await eventsOf(voided)).toEqual([...charge, ['DownloadVoided', -7]]);
  });

  it('does not mention lookups', async () => {
    const account = await openUsage(log.store, { metadata_limit: 1 });
    await ask(writersOf(log.store), account, lookUp(newUuid()));
    await models.caughtUp();
    const { rowCount } = await models.pool.query('select from job_timeline where stream = $1', [account.stream]);
    expect(rowCount).toBe(0);
  });
});

describe('progress', () => {
  it('counts what is applied, and what is behind', async () => {
    const { store } = log;
    const account = await openUsage(store);
    await using fresh = await createReadModels();
    const measure = () => measureProgress({ store, pool: fresh.pool }, [jobTimeline], 200);
    const head = (await store.headPosition())!;
    const [before] = (await measure()).projections;
    expect(before).toMatchObject({ position: undefined, lag: head, eventsPerSecond: 0 });
    expect(await catchUp({ store, pool: fresh.pool }, jobTimeline, 50)).toBe(false);

    const measuring = measure();
    fresh.run(store, jobTimeline);
    await fresh.caughtUp();
    await download(account, freshToken());
    await fresh.caughtUp();
    await measuring;
    const [after] = (await measure()).projections;
    expect(after).toMatchObject({ position: await store.headPosition(), lag: 0n });
    const { rows } = await fresh.pool.query<{ applied: string }>('select applied_events as applied from checkpoints');
    expect(Number(rows[0]!.applied)).toBe(await countAll());
  });

  /** Events that concern the timeline, counted by another reader of the log. */
  async function countAll(): Promise<number> {
    let events = 0;
    const counting = log.store.subscribe({
      name: 'count',
      streamPrefixes: jobTimeline.streamPrefixes,
      from: () => Promise.resolve(undefined),
      apply: async (batch) => {
        events += batch.events.length;
      },
    });
    await waitFor(() => counting.caughtUp, { what: 'the end of the log' });
    await counting.close();
    return events;
  }
});
