import { describe, expect, it } from 'vitest';
import {
  claimJob,
  type QueuedJob,
  readJob,
  readJobOrigin,
  readQueuedJob,
  recordJobProgress,
} from '../../src/commands/record-job-progress.ts';
import type { ClaimProof, JobCommand } from '../../src/domain/download-job.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { JobMessage } from '../../src/ports/job-queue.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { patienceMs } from '../support/wait-for.ts';
import { logUnderTest } from './log-under-test.ts';
import { noteReads } from './noted-reads.ts';
import { expectUnbrokenChain } from './unbroken-chain.ts';
import { ask, downloadOf, freshCause, freshToken, openUsage, writersOf } from './usage-account.ts';

const log = logUnderTest();

const dependencies = (now = '2026-11-14T10:00:00.000Z') => ({ store: log.store, now: () => now, newUuid });
const file = { name: 'media.mp4', mime: 'video/mp4', sizeBytes: 1234, sha256: 'b'.repeat(64), durationSeconds: 9.5 };

/** A download that was just queued, under a token that no other test has. */
async function queuedJob(): Promise<{ message: JobMessage; job: QueuedJob; correlationId: string }> {
  const account = await openUsage(log.store);
  const token = freshToken();
  const cause = freshCause();
  await ask(writersOf(log.store), account, downloadOf(token), { cause });
  const message = { token, usageStream: account.stream, usageRevision: 2 };
  const job = await readQueuedJob(log.store, message);
  if (!job) throw new Error('the download was queued and is not there');
  return { message, job, correlationId: cause.correlationId };
}

function claim({ message, job }: { message: JobMessage; job: QueuedJob }, presumedNew = false) {
  return claimJob(dependencies(), { workerId: newId('wrk'), job, message, timeoutMs: patienceMs, presumedNew });
}

function step(job: QueuedJob, command: JobCommand, now?: string) {
  const { correlationId, eventId: causationId } = job;
  const actor = { type: 'system', id: 'wrk' } as const;
  return recordJobProgress(dependencies(now), command, { correlationId, causationId, actor, timeoutMs: patienceMs });
}

function proofOf(answer: Awaited<ReturnType<typeof claim>>): ClaimProof {
  if (isRefused(answer)) throw new Error(answer.refusal);
  return answer;
}

describe('a message about a queued download', () => {
  it('leads to the event that it names, and to nothing else', async () => {
    const { message, job, correlationId } = await queuedJob();
    expect(job).toMatchObject({ token: message.token, correlationId, platform: 'youtube' });
    const wrong: Partial<JobMessage>[] = [
      { token: 'TokenOfDownload-0009' },
      { usageRevision: 0 },
      { usageRevision: 1 },
      { usageRevision: 99 },
      { usageStream: message.usageStream.replace(/\d{8}$/, '20250101') },
      { usageStream: `job-${message.token}` },
      { usageStream: '$all' },
    ];
    for (const change of wrong) expect(await readQueuedJob(log.store, { ...message, ...change })).toBeUndefined();
  });
});

describe('a claim', () => {
  it.each([
    ['', false],
    [', although each presumes that it is the first', true],
  ])('is one of many: of all workers that try at once, one holds the job%s', async (_, presumedNew) => {
    const queued = await queuedJob();
    const answers = await Promise.all(Array.from({ length: 8 }, () => claim(queued, presumedNew)));
    const claims = answers.filter((answer) => !isRefused(answer));
    expect(claims).toHaveLength(1);
    expect(answers.filter(isRefused)).toEqual(Array.from({ length: 7 }, () => ({ refusal: 'job_not_claimable' })));
    expect((await readJob(log.store, queued.message.token)).claim).toMatchObject(claims[0]!);
  });

  it('of a new job reads nothing first, and a wrong presumption is corrected', async () => {
    const queued = await queuedJob();
    const { token } = queued.message;
    const { store, reads } = noteReads(log.store);
    const presuming = { ...queued, workerId: newId('wrk'), timeoutMs: patienceMs, presumedNew: true };
    const first = proofOf(await claimJob({ ...dependencies(), store }, presuming));
    expect([first.revision, reads(`job-${token}`)]).toEqual([0, []]);
    expect(await claimJob({ ...dependencies(), store }, presuming)).toEqual({ refusal: 'job_not_claimable' });
    await step(queued.job, { kind: 'expire_lease', token, claim: first });
    const later = { ...dependencies('2026-11-14T10:00:02.000Z'), store };
    expect(proofOf(await claimJob(later, presuming)).revision).toBe(2);
    expectUnbrokenChain(await log.store.read(`job-${token}`, 0));
    // A refusal comes from the log, never from a presumption.
    const unclaimed = await queuedJob();
    const lost = { kind: 'shut_down', token: unclaimed.message.token, claim: first } as const;
    const cause = { correlationId: newUuid(), causationId: newUuid(), actor: { type: 'system', id: 'wrk' } } as const;
    expect(await recordJobProgress(later, lost, { ...cause, timeoutMs: patienceMs }, 'new')).toEqual({
      refusal: 'claim_lost',
    });
    expect(reads(`job-${unclaimed.message.token}`)).toEqual([0]);
  });

  it('of a job whose last step is known reads nothing first, and a state that is behind is corrected', async () => {
    const queued = await queuedJob();
    const { token } = queued.message;
    const { store, reads } = noteReads(log.store);
    const cause = { correlationId: newUuid(), causationId: newUuid(), actor: { type: 'system', id: 'wrk' } } as const;
    const asked = { ...cause, timeoutMs: patienceMs };
    const claim = proofOf(
      await claimJob({ ...dependencies(), store }, { ...queued, workerId: newId('wrk'), timeoutMs: patienceMs }),
    );
    const claimed = await recordJobProgress(dependencies(), { kind: 'start', token, claim }, asked);
    if (isRefused(claimed)) throw new Error(claimed.refusal);
    const before = reads(`job-${token}`).length;
    const shutDown = { kind: 'shut_down', token, claim } as const;
    const released = await recordJobProgress({ ...dependencies(), store }, shutDown, asked, claimed.loaded);
    expect(released).toMatchObject({ revision: 2, events: [{ type: 'JobReleased' }] });
    expect(reads(`job-${token}`)).toHaveLength(before);
    const again = await recordJobProgress({ ...dependencies(), store }, shutDown, asked, claimed.loaded);
    expect(again).toEqual({ refusal: 'claim_lost' });
    expectUnbrokenChain(await log.store.read(`job-${token}`, 0));
  });

  it('goes back to the request that queued the download, and says where that was', async () => {
    const queued = await queuedJob();
    await claim(queued);
    const events = await log.store.read(`job-${queued.message.token}`, 0);
    expect(events[0]?.metadata).toMatchObject({
      $correlationId: queued.correlationId,
      $causationId: queued.job.eventId,
    });
    expect(await readJobOrigin(log.store, queued.message.token)).toEqual(queued.message);
    expect(await readJobOrigin(log.store, 'TokenOfDownload-0009')).toBeUndefined();
  });

  it('that was taken over can write nothing more, however late it comes', async () => {
    const queued = await queuedJob();
    const { token } = queued.message;
    const old = proofOf(await claim(queued));
    await step(queued.job, { kind: 'start', token, claim: old });
    await step(queued.job, { kind: 'expire_lease', token, claim: old });
    const again = { ...queued, workerId: newId('wrk'), timeoutMs: patienceMs };
    const current = proofOf(await claimJob(dependencies('2026-11-14T10:00:02.000Z'), again));
    expect(current.revision).toBe(3);
    expect(await step(queued.job, { kind: 'complete', token, claim: old, file })).toEqual({ refusal: 'claim_lost' });
    expect(await step(queued.job, { kind: 'shut_down', token, claim: old })).toEqual({ refusal: 'claim_lost' });
    const done = await step(queued.job, { kind: 'complete', token, claim: current, file });
    expect(done).toMatchObject({ state: { status: 'done' }, revision: 4 });
    const events = await log.store.read(`job-${token}`, 0);
    expectUnbrokenChain(events);
    expect(events.map(({ type }) => type)).toEqual([
      'JobClaimed',
      'JobStarted',
      'JobReleased',
      'JobClaimed',
      'JobCompleted',
    ]);
    expect(events.at(-1)?.data).toMatchObject({ claim_revision: 3 });
  });

  it('ends in one way when its holder and the sweeper write at one time', async () => {
    const queued = await queuedJob();
    const { token } = queued.message;
    const held = proofOf(await claim(queued));
    const answers = await Promise.all([
      step(queued.job, { kind: 'complete', token, claim: held, file }),
      step(queued.job, { kind: 'expire_lease', token, claim: held }),
      step(queued.job, { kind: 'expire_lease', token, claim: held }),
    ]);
    expect(answers.filter(isRefused)).toHaveLength(2);
    expect(await log.store.read(`job-${token}`, 0)).toHaveLength(2);
  });
});
