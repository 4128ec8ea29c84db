import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  readPendingVoidRows,
  restorePendingVoidRows,
  timeBeforeCopy,
} from '../../src/adapters/postgres/pending-voids.ts';
import { claimJob, readQueuedJob, recordJobProgress } from '../../src/commands/record-job-progress.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { appendingBy, noteReads } from '../commands/noted-reads.ts';
import {
  ask,
  downloadOf,
  freshCause,
  freshToken,
  midNovember,
  openUsage,
  writersOf,
} from '../commands/usage-account.ts';
import { token, video } from '../domain/usage-examples.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { chargeFor, promised, resolvingUnderTest } from './resolving.ts';

const { log, parts, noting, appendOf, resolving, isPending, resolved, eventsIn, jobOf } = resolvingUnderTest();

describe('an append of unknown outcome', () => {
  it('that was stored is taken back: the charge, then the job', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const jobToken = freshToken();
    const append = await appendOf(account, downloadOf(jobToken), { isStored: true });
    expect(await parts.pendingVoids.add(append, chargeFor(jobToken))).toBe(true);
    const { became } = resolving();
    await resolved(account.stream);
    const events = await eventsIn(account.stream);
    expect(events.at(-1)).toEqual({
      type: 'DownloadVoided',
      data: {
        token: jobToken,
        charge_event_id: append.events[0]?.id,
        credits: 0,
        overage_downloads: 1,
        cents: 25,
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
    for (let earlier = 0; earlier < 30; earlier += 1)
      await ask(writersOf(log.store), account, downloadOf(freshToken()));
    const [jobToken, lookupId] = [freshToken(), newUuid()];
    const charged = await appendOf(account, downloadOf(jobToken), { isStored: true });
    const lookedUp = await appendOf(
      account,
      { kind: 'debit_metadata', lookupId, video, downloadRefusal: null },
      { isStored: true },
    );
    await parts.pendingVoids.add(charged, chargeFor(jobToken));
    await parts.pendingVoids.add(lookedUp, { kind: 'lookup', lookup_id: lookupId });
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
    const append = await appendOf(account, downloadOf(jobToken), { isStored: false });
    await parts.pendingVoids.add(append, chargeFor(jobToken));
    resolving();
    await resolved(account.stream);
    expect((await eventsIn(account.stream)).map(({ type }) => type)).toEqual([
      'UsagePeriodOpened',
      'DownloadCreditDebited',
      'DownloadQueued',
      'DownloadVoided',
    ]);
  });

  it('that somebody else was quicker than is nothing', async () => {
    const account = await openUsage(log.store);
    const [lost, won] = [freshToken(), freshToken()];
    const append = await appendOf(account, downloadOf(lost), { isStored: false });
    await ask(writersOf(log.store), account, downloadOf(won));
    await parts.pendingVoids.add(append, chargeFor(lost));
    const { became } = resolving();
    await resolved(account.stream);
    expect(became).toEqual(['not_stored']);
    expect((await eventsIn(account.stream)).map(({ type }) => type)).not.toContain('DownloadVoided');
    expect(await log.store.read(`job-${lost}`, 0)).toEqual([]);
  });

  it('stays charged where a client has been told of it meanwhile', async () => {
    const account = await openUsage(log.store);
    const jobToken = freshToken();
    const append = await appendOf(account, downloadOf(jobToken), { isStored: true });
    await correct(log.store, account.stream, { kind: 'confirm_download', token: jobToken });
    await parts.pendingVoids.add(append, chargeFor(jobToken));
    const { became } = resolving();
    await resolved(account.stream);
    expect(became).toEqual(['confirmed']);
    expect(await jobOf(jobToken)).toMatchObject({ status: 'queued' });
  });

  it('of a lookup gives its credit back', async () => {
    const account = await openUsage(log.store);
    const lookupId = newUuid();
    const append = await appendOf(
      account,
      { kind: 'debit_metadata', lookupId, video, downloadRefusal: null },
      { isStored: true },
    );
    await parts.pendingVoids.add(append, { kind: 'lookup', lookup_id: lookupId });
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
    const writers = writersOf(store);
    await Promise.all(tokens.map((each) => ask(writers, account, downloadOf(each))));
    expect(appends).toHaveLength(1);
    for (const each of [tokens[0], tokens[2]]) await parts.pendingVoids.add(appends[0]!, chargeFor(each!));
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
    const append = await appendOf(account, downloadOf(jobToken), { isStored: true });
    for (const before of ['the charge is voided', 'all is done']) {
      await parts.pendingVoids.add(append, chargeFor(jobToken));
      if (before === 'the charge is voided')
        await correct(log.store, account.stream, { kind: 'void_download', token: jobToken });
      resolving();
      resolving();
      await resolved(account.stream);
    }
    expect((await eventsIn(account.stream)).filter(({ type }) => type === 'DownloadVoided')).toHaveLength(1);
    expect(await log.store.read(`job-${jobToken}`, 0)).toHaveLength(1);
  });

  it('resolves once what it had listed again just before it was resolved', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const jobToken = freshToken();
    const append = await appendOf(account, downloadOf(jobToken), { isStored: true });
    await parts.pendingVoids.add(append, chargeFor(jobToken));
    let looks = 0;
    const removed = Promise.withResolvers<undefined>();
    const { became } = resolving(log.store, {
      ...parts.pendingVoids,
      list: async (limit) => {
        const listed = await parts.pendingVoids.list(limit);
        looks += 1;
        if (looks === 2) await removed.promise;
        await setImmediate();
        return listed;
      },
      remove: async (pending) => {
        await waitFor(() => looks === 2, { what: 'another look' });
        await parts.pendingVoids.remove(pending);
        removed.resolve(undefined);
      },
    });
    await waitFor(() => looks > 3, { what: 'two looks more' });
    expect(became).toEqual(['voided']);
  });

  it('ends a claim: its worker can record nothing more', async () => {
    const account = await openUsage(log.store);
    const jobToken = freshToken();
    const append = await appendOf(account, downloadOf(jobToken), { isStored: true });
    const dependencies = { store: log.store, now: () => midNovember, newUuid };
    const message = { token: jobToken, usageStream: account.stream, usageRevision: 2 };
    const job = await readQueuedJob(log.store, message);
    const claim = await claimJob(dependencies, { workerId: newId('wrk'), job: job!, message, timeoutMs: patienceMs });
    if (isRefused(claim)) throw new Error(claim.refusal);
    await parts.pendingVoids.add(append, chargeFor(jobToken));
    resolving();
    await resolved(account.stream);
    const step = { ...freshCause(), timeoutMs: patienceMs };
    expect(await recordJobProgress(dependencies, { kind: 'start', token: jobToken, claim }, step)).toEqual({
      refusal: 'claim_lost',
    });
    const again = { workerId: newId('wrk'), job: job!, message, timeoutMs: patienceMs };
    expect(await claimJob(dependencies, again)).toEqual({ refusal: 'job_not_claimable' });
  });

  it('goes on with the others where one cannot be resolved, and ends in time', async () => {
    const [stuck, fine] = [await openUsage(log.store), await openUsage(log.store)];
    const [one, other] = [freshToken(), freshToken()];
    await parts.pendingVoids.add(await appendOf(stuck, downloadOf(one), { isStored: true }), chargeFor(token(9)));
    const never: EventStore['append'] = (stream, ...rest) =>
      stream === fine.stream ? log.store.append(stream, ...rest) : Promise.withResolvers<never>().promise;
    await parts.pendingVoids.add(await appendOf(fine, downloadOf(other), { isStored: true }), chargeFor(other));
    resolving();
    await resolved(fine.stream);
    const hanging = resolving(appendingBy(log.store, never));
    await hanging.stop();
    expect(await isPending(stuck.stream)).toBe(true);
    await parts.models.pool.query('delete from pending_voids');
  });
});

describe('a promise', () => {
  it('waits for whoever is about to close the books, and sees what came of it', async () => {
    const account = await openUsage(log.store);
    const append = await appendOf(account, downloadOf(freshToken()), { isStored: true });
    const closer = await parts.models.pool.connect();
    await closer.query('begin');
    await closer.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [account.stream]);
    const added = parts.pendingVoids.add(append, chargeFor(token(1)));
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

  it('that is resolved while the log is copied is pending again after the restore, and is forgotten after a week', async () => {
    const { pool } = parts.models;
    const listOf = async ({ stream }: { stream: string }) =>
      (await parts.pendingVoids.list(1_000)).filter((each) => each.append.stream === stream);
    const pend = async () => {
      const account = await openUsage(log.store);
      const append = await appendOf(account, downloadOf(freshToken()), { isStored: true });
      await parts.pendingVoids.add(append, chargeFor(token(1)));
      return { account, append };
    };
    const resolveAll = async () => {
      for (const pending of await parts.pendingVoids.list(1_000)) await parts.pendingVoids.remove(pending);
    };
    const ofBefore = await pend();
    await resolveAll();
    await pool.query(`update resolved_voids set resolved_at = resolved_at - interval '6 days'`);

    const copiedSince = await timeBeforeCopy(pool);
    const { account, append } = await pend();
    await resolveAll();
    await parts.pendingVoids.add(append, chargeFor(token(2)));
    await resolveAll();
    await parts.pendingVoids.add(append, chargeFor(token(3)));
    const rows = await readPendingVoidRows(pool, copiedSince);
    await resolveAll();
    expect(rows.map((row) => row.append_id)).toEqual([append.events[0]?.id, append.events[0]?.id]);
    await restorePendingVoidRows(pool, rows);
    await restorePendingVoidRows(pool, rows);
    const [restored, ...others] = await listOf(account);
    expect(others).toEqual([]);
    expect(restored?.append).toEqual(append);
    expect(restored?.voids).toEqual(
      expect.arrayContaining([1, 2, 3].map((each) => expect.objectContaining({ token: token(each) }) as unknown)),
    );
    expect(restored?.voids).toHaveLength(3);

    const isKept = async ({ append: { events } }: { append: typeof append }) =>
      (await pool.query('select from resolved_voids where append_id = $1', [events[0]?.id])).rowCount === 1;
    expect(await isKept(ofBefore)).toBe(true);
    await pool.query(`update resolved_voids set resolved_at = resolved_at - interval '2 days'`);
    await resolveAll();
    expect(await isKept(ofBefore)).toBe(false);
    expect(await isKept({ append })).toBe(true);
  });
});
