import { describe, expect, it } from 'vitest';
import { readNewestCredits } from '../../projections/credits.ts';
import { readJob } from '../../projections/jobs.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import type { JobCommand } from '../../src/domain/download-job.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import type { UsageSnapshot } from '../../src/domain/usage-state.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { recordStep } from '../commands/record-step.ts';
import {
  ask,
  foldUsage,
  freshToken,
  midNovember,
  openUsage,
  queueAll,
  upFrom,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { plan, queueDownload, video } from '../domain/usage-examples.ts';
import { believed, readModelsOfFile, testMacs } from './read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, usageAndJobs);

async function newestRow({ accountId }: UsageAccount): Promise<UsageSnapshot> {
  await models.caughtUp();
  return believed(await readNewestCredits(models.pool, accountId, testMacs))!;
}

describe('the credits row of an account', () => {
  it('holds the whole state of the period, at the revision that it stands for', async () => {
    const account = await openUsage(log.store, { openedAt: '2026-10-31T09:00:00.000Z' });
    expect(await newestRow(account)).toEqual(await foldUsage(log.store, account.stream));
    const writers = writersOf(log.store);
    const lookup = { kind: 'debit_metadata', lookupId: newUuid(), video, downloadRefusal: null } as const;
    await queueAll(writers, account, [1, 2, 3]);
    await ask(writers, account, lookup);
    await ask(writers, account, { kind: 'set_overage_cap', overageCapCents: 500, effective: 'now' });
    await ask(writers, account, {
      kind: 'change_plan',
      terms: { ...plan, overage_cents: null, plan: 'sandbox' },
      effective: 'now',
    });
    const row = await newestRow(account);
    expect(row).toEqual(await foldUsage(log.store, account.stream));
    expect(row.usage).toMatchObject({
      downloads: 3,
      overageCents: 25,
      metadataCredits: 1,
      anchorDay: 31,
      period: { start: '2026-10-31T00:00:00.000Z', end: '2026-11-30T00:00:00.000Z' },
      terms: { plan: 'sandbox', overage_cents: null, overage_cap_cents: 500 },
    });
  });

  it('is one for each period; the newest is the one that is read', async () => {
    const account = await openUsage(log.store);
    await queueAll(writersOf(log.store), account, [1, 2, 3]);
    await queueAll(
      writersOf(log.store, () => '2026-12-14T12:00:00.000Z'),
      account,
      [4],
    );
    const december = account.stream.replace('20261101', '20261201');
    expect(await newestRow(account)).toEqual(await foldUsage(log.store, december));
    const { rows } = await models.pool.query(
      'select stream, phase, downloads, overage_cents, next is null as last from credits where account_id = $1 order by 1',
      [account.accountId],
    );
    expect(rows).toEqual([
      { stream: account.stream, phase: 'ended', downloads: 3, overage_cents: '25', last: false },
      { stream: december, phase: 'open', downloads: 1, overage_cents: '0', last: true },
    ]);
  });

  it('is a place from which another process decides as if it had read everything', async () => {
    const account = await openUsage(log.store, { overage_cap_cents: 25 });
    await queueAll(writersOf(log.store), account, upFrom(1, 3));
    const snapshot = await newestRow(account);
    const answer = await ask(writersOf(log.store), account, queueDownload(4), { snapshot });
    expect(answer).toMatchObject({ outcome: 'refused', refusal: 'overage_cap_reached' });
  });
});

describe('the row of a job', () => {
  const [ann, bob] = ['wrk_aaaaaaaaaaaaaaaa', 'wrk_bbbbbbbbbbbbbbbb'];
  const file = { name: 'media.mp4', mime: 'video/mp4', sizeBytes: 1234, sha256: 'b'.repeat(64), durationSeconds: 9.5 };

  async function queuedJob(): Promise<{ account: UsageAccount; token: string }> {
    const account = await openUsage(log.store);
    const token = freshToken();
    const asked = { kind: 'queue_download', token, video, ...defaultOptions, format: 'audio', quality: '720' } as const;
    await ask(writersOf(log.store), account, asked);
    return { account, token };
  }

  /** Each step at its own time of 14 November, and what the row says after all of them. */
  async function rowAfter(steps: readonly [time: string, command: (token: string) => JobCommand][]) {
    const { account, token } = await queuedJob();
    for (const [time, command] of steps)
      await recordStep({ store: log.store, now: () => `2026-11-14T${time}.000Z` }, command(token));
    await models.caughtUp();
    const row = (await readJob(models.pool, token))!;
    expect(row.revision).toBe(steps.length - 1);
    return { row, account };
  }

  const claim =
    (workerId: string) =>
    (token: string): JobCommand => ({
      kind: 'claim',
      token,
      workerId,
      accountId: 'acc_aaaaaaaaaaaaaaaa',
      usageStream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101',
      usageRevision: 2,
    });
  const held = (token: string, workerId: string, revision: number) => ({ token, claim: { workerId, revision } });

  it('shows what was queued, and nothing more before anybody has claimed it', async () => {
    const { row, account } = await rowAfter([]);
    expect(row).toMatchObject({
      account_id: account.accountId,
      usage_stream: account.stream,
      usage_revision: 2,
      platform: 'youtube',
      video_id: video.videoId,
      url: video.canonicalUrl,
      format: 'audio',
      quality: '720',
      overage: false,
      status: 'queued',
      attempts: 0,
      worker_id: null,
      queued_at: midNovember,
      waiting_since: midNovember,
      finished_at: null,
    });
  });

  it('shows who holds it, and when it was claimed and started', async () => {
    const { row } = await rowAfter([
      ['13:00:00', claim(ann)],
      ['13:00:01', (token) => ({ kind: 'start', ...held(token, ann, 0) })],
    ]);
    expect(row).toMatchObject({
      status: 'running',
      attempts: 1,
      worker_id: ann,
      claim_revision: 0,
      claimed_at: '2026-11-14T13:00:00.000Z',
      started_at: '2026-11-14T13:00:01.000Z',
    });
  });

  it('waits anew after a release, until its time', async () => {
    const { row } = await rowAfter([
      ['13:00:00', claim(ann)],
      ['13:00:05', (token) => ({ kind: 'give_up', ...held(token, ann, 0), reason: 'timed_out', fault: 'video' })],
    ]);
    expect(row).toMatchObject({
      status: 'queued',
      attempts: 1,
      worker_id: null,
      claim_revision: null,
      not_before: '2026-11-14T13:00:07.000Z',
      waiting_since: '2026-11-14T13:00:07.000Z',
    });
  });

  it('shows the finished file of the claim that finished it', async () => {
    const { row } = await rowAfter([
      ['13:00:00', claim(ann)],
      ['13:00:05', (token) => ({ kind: 'shut_down', ...held(token, ann, 0) })],
      ['13:00:06', claim(bob)],
      ['13:00:07', (token) => ({ kind: 'start', ...held(token, bob, 2) })],
      ['13:00:09', (token) => ({ kind: 'complete', ...held(token, bob, 2), file: { ...file, title: 'A\nfilm' } })],
    ]);
    expect(row).toMatchObject({
      status: 'done',
      attempts: 1,
      worker_id: null,
      finished_at: '2026-11-14T13:00:09.000Z',
      file_claim_revision: 2,
      file_name: 'media.mp4',
      file_mime: 'video/mp4',
      file_size_bytes: 1234,
      title: 'A film',
      failure_reason: null,
    });
  });

  it('shows why it has failed', async () => {
    const { row } = await rowAfter([
      ['13:00:00', claim(ann)],
      [
        '13:00:05',
        (token) => ({
          kind: 'give_up',
          ...held(token, ann, 0),
          reason: 'geo_blocked',
          fault: 'video',
          title: 'Far away',
        }),
      ],
    ]);
    expect(row).toMatchObject({ status: 'failed', failure_reason: 'geo_blocked', file_name: null, title: 'Far away' });
    expect(row.finished_at).toBe('2026-11-14T13:00:05.000Z');
  });
});
