import { describe, expect, it } from 'vitest';
import {
  decideJob,
  evolveJob,
  initialJob,
  type Job,
  type JobCommand,
  jobStatuses,
} from '../../src/domain/download-job.ts';
import {
  type Fault,
  type JobEvent,
  jobEventSchemas,
  type ReleaseReason,
} from '../../src/domain/download-job-events.ts';
import { failureReasonNames, failureReasons } from '../../src/domain/failure-reasons.ts';
import { maxAttempts } from '../../src/domain/job-retries.ts';
import { accountId, token } from './usage-examples.ts';

const job = token(1);
const now = '2026-11-14T10:00:00.000Z';
const [ann, bob] = ['wrk_aaaaaaaaaaaaaaaa', 'wrk_bbbbbbbbbbbbbbbb'];
const usage = { usage_stream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101', usage_revision: 2 };
const file = { name: 'media.mp4', mime: 'video/mp4', sizeBytes: 1234, sha256: 'b'.repeat(64), durationSeconds: 9.5 };

/** The state after these events of the job's own stream, whose first stands at revision 0. */
const given = (...events: JobEvent[]): Job =>
  events.reduce((state, event, revision) => evolveJob(state, event, { revision, time: now }), initialJob);

const claimed = (attempt = 1, worker_id = ann): JobEvent => ({
  type: 'JobClaimed',
  data: { token: job, account_id: accountId, worker_id, attempt, ...usage },
});
const started: JobEvent = { type: 'JobStarted', data: { token: job, worker_id: ann } };
const released = (reason: ReleaseReason, not_before: string): JobEvent => ({
  type: 'JobReleased',
  data: { token: job, reason, not_before },
});
const failed = (reason: keyof typeof failureReasons, fault: Fault = 'video'): JobEvent => ({
  type: 'JobFailed',
  data: { token: job, reason, fault },
});
const completed = (claim_revision: number): JobEvent => ({
  type: 'JobCompleted',
  data: {
    token: job,
    claim_revision,
    file_name: file.name,
    file_mime: file.mime,
    file_size_bytes: file.sizeBytes,
    file_sha256: file.sha256,
    duration_seconds: file.durationSeconds,
  },
});

const claim = (workerId = ann): JobCommand => ({
  kind: 'claim',
  token: job,
  workerId,
  accountId,
  usageStream: usage.usage_stream,
  usageRevision: usage.usage_revision,
});
/** The fields of a command by the holder of the claim at a revision. */
const held = (revision: number, workerId = ann) => ({ token: job, claim: { workerId, revision } });
const start = (revision = 0): JobCommand => ({ kind: 'start', ...held(revision) });
const complete = (revision = 0): JobCommand => ({ kind: 'complete', ...held(revision), file });
const giveUp = (reason: keyof typeof failureReasons, revision = 0, fault: Fault = 'video'): JobCommand => ({
  kind: 'give_up',
  ...held(revision),
  reason,
  fault,
});
const shutDown = (revision = 0): JobCommand => ({ kind: 'shut_down', ...held(revision) });
const expireLease = (revision = 0): JobCommand => ({ kind: 'expire_lease', ...held(revision) });

const expire = (completedUntil: string): JobCommand => ({ kind: 'expire_file', token: job, completedUntil });
const expired: JobEvent = { type: 'FileExpired', data: { token: job, claim_revision: 0 } };

const voidIt: JobCommand = { kind: 'void', token: job };

const histories: Record<Job['status'], JobEvent[]> = {
  queued: [],
  claimed: [claimed()],
  running: [claimed(), started],
  done: [claimed(), started, completed(0)],
  failed: [claimed(), started, failed('private_video')],
};

describe('every move of a job', () => {
  const [lost, notClaimable] = [{ refusal: 'claim_lost' }, { refusal: 'job_not_claimable' }];
  const again = [released('platform_error', '2026-11-14T10:00:02.000Z')];
  const leaseOver = [released('lease_expired', '2026-11-14T10:00:02.000Z')];
  const shut = [released('shutdown', now)];
  const voided = [failed('voided')];
  const commands = {
    claim: claim(bob),
    start: start(),
    complete: complete(),
    'give up': giveUp('platform_error'),
    'shut down': shutDown(),
    'expire the lease': expireLease(),
    'expire its file': expire(now),
    void: voidIt,
  };
  const heldByNobody = { start: lost, complete: lost, 'give up': lost, 'shut down': lost, 'expire the lease': lost };
  const heldByAnn = {
    claim: notClaimable,
    complete: [completed(0)],
    'give up': again,
    'shut down': shut,
    'expire the lease': leaseOver,
    'expire its file': [],
    void: voided,
  };
  const decisions: Record<Job['status'], Record<keyof typeof commands, unknown>> = {
    queued: { ...heldByNobody, claim: [claimed(1, bob)], 'expire its file': [], void: voided },
    claimed: { ...heldByAnn, start: [started] },
    running: { ...heldByAnn, start: [] },
    done: { ...heldByNobody, claim: notClaimable, 'expire its file': [expired], void: [] },
    failed: { ...heldByNobody, claim: notClaimable, 'expire its file': [], void: [] },
  };
  const cases = jobStatuses.flatMap((status) =>
    Object.entries(decisions[status]).map(([name, decided]) => ({
      status,
      name,
      command: commands[name as keyof typeof commands],
      decided,
    })),
  );

  it.each(cases)('$status: $name', ({ status, command, decided }) => {
    const state = given(...histories[status]);
    expect(state.status).toBe(status);
    expect(decideJob(state, command, now)).toEqual(decided);
  });
});

describe('the file of a job that is done', () => {
  const done = given(...histories.done);

  it('expires once it is old enough, and once only', () => {
    expect(decideJob(done, expire('2026-11-14T09:59:59.999Z'), now)).toEqual([]);
    expect(decideJob(done, expire(now), now)).toEqual([expired]);
    expect(decideJob(given(...histories.done, expired), expire(now), now)).toEqual([]);
  });

  it('is that of the claim that finished it; the job stays done', () => {
    const second = given(claimed(), released('timed_out', now), claimed(2), completed(2));
    const expiry = decideJob(second, expire(now), now);
    expect(expiry).toEqual([{ type: 'FileExpired', data: { token: job, claim_revision: 2 } }]);
    const after = given(...histories.done, expired);
    expect(after).toEqual({ ...done, file: { claimRevision: 0, completedAt: now, expired: true } });
    expect(decideJob(after, claim(bob), now)).toEqual({ refusal: 'job_not_claimable' });
    expect(decideJob(after, complete(), now)).toEqual({ refusal: 'claim_lost' });
    expect(decideJob(after, voidIt, now)).toEqual([]);
  });
});

describe('a claim that was taken over', () => {
  const takenOver = given(claimed(), started, released('lease_expired', now), claimed(2, bob));

  it('allows its old holder nothing', () => {
    for (const command of [start(0), complete(0), giveUp('timed_out', 0), shutDown(0), expireLease(0)]) {
      expect(decideJob(takenOver, command, now)).toEqual({ refusal: 'claim_lost' });
    }
  });

  it('belongs to the new holder at its own revision alone', () => {
    expect(decideJob(takenOver, { kind: 'complete', ...held(3, bob), file }, now)).toEqual([completed(3)]);
    expect(decideJob(takenOver, { kind: 'complete', ...held(0, bob), file }, now)).toEqual({ refusal: 'claim_lost' });
    expect(decideJob(takenOver, { kind: 'complete', ...held(3, ann), file }, now)).toEqual({ refusal: 'claim_lost' });
  });

  it('is lost also when the same worker has claimed the job again', () => {
    const again = given(claimed(), released('platform_error', now), claimed(2));
    expect(decideJob(again, complete(0), now)).toEqual({ refusal: 'claim_lost' });
    expect(decideJob(again, complete(2), now)).toEqual([completed(2)]);
  });
});

describe('attempts', () => {
  const third = given(claimed(1), released('timed_out', now), claimed(2), released('timed_out', now), claimed(3));

  it('are tried again after 2 s and after 8 s; the third is the last', () => {
    expect(maxAttempts).toBe(3);
    const first = [claimed(1), released('timed_out', '2026-11-14T10:00:02.000Z')];
    const second = [...first, claimed(2), released('timed_out', '2026-11-14T10:00:08.000Z')];
    expect(decideJob(given(...first.slice(0, 1)), giveUp('timed_out', 0), now)).toEqual([first[1]]);
    expect(decideJob(given(...second.slice(0, 3)), giveUp('timed_out', 2), now)).toEqual([second[3]]);
    expect(decideJob(given(...second, claimed(3)), giveUp('timed_out', 4), now)).toEqual([failed('timed_out')]);
  });

  it('wait four times as long where the platform limits requests', () => {
    const [once, twice] = ['2026-11-14T10:00:08.000Z', '2026-11-14T10:00:32.000Z'];
    const first = [claimed(1), released('rate_limited_by_platform', once)];
    const second = [...first, claimed(2), released('rate_limited_by_platform', twice)];
    const giveUpAgain = (revision: number) => giveUp('rate_limited_by_platform', revision);
    expect(decideJob(given(...first.slice(0, 1)), giveUpAgain(0), now)).toEqual([first[1]]);
    expect(decideJob(given(...second.slice(0, 3)), giveUpAgain(2), now)).toEqual([second[3]]);
  });

  it('end with an internal error when it is the lease that ends the third', () => {
    expect(decideJob(third, expireLease(4), now)).toEqual([failed('internal_error', 'service')]);
  });

  it('fail by the fault that the worker names', () => {
    const giveUpBy = (fault: Fault) => decideJob(third, giveUp('internal_error', 4, fault), now);
    expect(giveUpBy('service')).toEqual([failed('internal_error', 'service')]);
    expect(giveUpBy('video')).toEqual([failed('internal_error', 'video')]);
  });

  it('are not counted when a shutdown ended them', () => {
    const state = given(claimed(1), started, released('shutdown', now), claimed(1), released('shutdown', now));
    expect(state.attempts).toBe(0);
    expect(decideJob(state, claim(), now)).toEqual([claimed(1)]);
  });

  it('are counted when a lease or a failure ended them', () => {
    const state = given(claimed(1), released('lease_expired', now), claimed(2), released('platform_error', now));
    expect(decideJob(state, claim(), now)).toEqual([claimed(3)]);
  });

  it('are not begun before the time of the release', () => {
    const state = given(claimed(1), released('platform_error', '2026-11-14T10:00:02.000Z'));
    expect(decideJob(state, claim(), '2026-11-14T10:00:01.999Z')).toEqual({ refusal: 'job_not_claimable' });
    expect(decideJob(state, claim(), '2026-11-14T10:00:02.000Z')).toEqual([claimed(2)]);
  });
});

describe('the title that the platform gave', () => {
  const hostile = `\u202e${'=HYPERLINK("x")\r\n'.repeat(1_000)}`;
  const [done, gaveUp] = [complete(), giveUp('too_long')].map((command) => (title: string) => {
    const named = command.kind === 'complete' ? { file: { ...file, title } } : { title };
    return decideJob(given(claimed(), started), { ...command, ...named }, now);
  });

  it.each([
    ['A film', { title: 'A film' }],
    [hostile, { title: '=HYPERLINK("x") '.repeat(1_000).slice(0, 200) }],
    ['\u200b', {}],
    ['', {}],
  ])('of %j is recorded as a plain line', (title, recorded) => {
    const completion = completed(0);
    const failure = failed('too_long');
    expect(done?.(title)).toEqual([{ ...completion, data: { ...completion.data, ...recorded } }]);
    expect(gaveUp?.(title)).toEqual([{ ...failure, data: { ...failure.data, ...recorded } }]);
    expect(jobEventSchemas.JobCompleted.safeParse({ ...completion.data, ...recorded }).success).toBe(true);
  });
});

describe('a failure', () => {
  it.each(failureReasonNames)('for %s is tried again only if that may help', (reason) => {
    const retried = ['platform_error', 'rate_limited_by_platform', 'timed_out', 'internal_error'].includes(reason);
    expect(failureReasons[reason].retryable).toBe(retried);
    expect(decideJob(given(claimed(), started), giveUp(reason), now)).toEqual([
      retried
        ? released(
            reason,
            reason === 'rate_limited_by_platform' ? '2026-11-14T10:00:08.000Z' : '2026-11-14T10:00:02.000Z',
          )
        : failed(reason),
    ]);
  });
});

describe('an attempt that fails by our judgement', () => {
  const refused = (more: object = {}): JobCommand => ({
    kind: 'give_up',
    ...held(0),
    reason: 'platform_error',
    fault: 'service',
    detail: 'planted',
    tried: ['a', 'b'],
    ...more,
  });

  it('leaves what it fetched to the next attempts, as often as it failed', () => {
    const [first] = decideJob(given(claimed(), started), refused(), now) as JobEvent[];
    expect(first).toMatchObject({ type: 'JobReleased', data: { detail: 'planted', tried: ['a', 'b'] } });
    if (!first) throw new Error('nothing was decided');
    expect(given(claimed(), started, first, claimed(2), first).tried).toEqual(['a', 'b', 'a', 'b']);
  });

  it('is the last one where there is nothing else to fetch', () => {
    expect(decideJob(given(claimed(), started), refused({ isFinal: true }), now)).toEqual([
      { type: 'JobFailed', data: { token: job, reason: 'platform_error', fault: 'service', detail: 'planted' } },
    ]);
  });

  it('keeps the words of a platform with the failure, and none where there are none', () => {
    const words = { ...refused(), reason: 'video_unavailable', fault: 'video' } as JobCommand;
    expect(decideJob(given(claimed(), started), words, now)).toMatchObject([{ data: { detail: 'planted' } }]);
    const [failure] = decideJob(given(claimed(), started), giveUp('video_unavailable'), now) as JobEvent[];
    expect(failure?.data).not.toHaveProperty('detail');
  });
});
