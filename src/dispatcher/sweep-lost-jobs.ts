import type { Pool } from 'pg';
import {
  type ClaimedJob,
  forgetOldWorkers,
  listClaimedJobs,
  listWaitingJobs,
  type WaitingJob,
} from '../../projections/work-lists/unfinished-jobs.ts';
import type { Background } from '../async/background.ts';
import { ownCause } from '../commands/handler/event-metadata.ts';
import { type JobDependencies, recordJobProgress } from '../commands/record-job-progress.ts';
import { isRefused } from '../domain/refusals.ts';
import { type JobQueue, messageId } from '../ports/job-queue.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

export interface SweepDependencies extends JobDependencies, LoopDependencies {
  queue: JobQueue;
  pool: Pool;
  /** The longest that one attempt may take. */
  attemptTimeoutSeconds: number;
  /** Downloads of one account at a time: what waits for its turn is not lost. */
  maxJobsPerAccount: number;
  /** A worker beats every 10 s; after so long without (default 30), it is gone. */
  leaseSeconds?: number;
}

const defaultEveryMs = 5_000;
const defaultLeaseSeconds = 30;
/** Past the attempt's own limit, whatever the worker's heart does. */
const overtimeSeconds = 60;
const firstRepetitionSeconds = 30;
const maxRepetitionSeconds = 3_600;
const maxWaitingJobs = 1_000;
const stepTimeoutMs = 5_000;
const actor = { type: 'system', id: 'sweeper' } as const;

/**
 * Looks again and again for what was lost: a queued job that nobody claims is published once more, and a claim whose worker
 * is gone is released. It reads the read models, and decides on the job's own stream at its exact revision: a sweep that is
 * behind, or two at once, change nothing that is right.
 */
export function startSweeping(dependencies: SweepDependencies): Background {
  const state: SweepState = { reachableSinceMs: undefined, published: new Map() };
  return startLoop('the sweep of jobs', dependencies, (given) => sweep(given, state), defaultEveryMs);
}

interface SweepState {
  /** Since when every sweep has reached Postgres, in milliseconds of `performance.now()`. */
  reachableSinceMs: number | undefined;
  /** The last repetition published of each job, by its token and revision. */
  published: Map<string, number>;
}

async function sweep(dependencies: InRound<SweepDependencies>, state: SweepState): Promise<void> {
  const { claimed, waiting } = await look(dependencies, state);
  const reachableSeconds = (performance.now() - (state.reachableSinceMs ?? Infinity)) / 1000;
  for (const job of claimed) {
    if (isStale(job, { reachableSeconds, ...dependencies }))
      await unlessItFails(dependencies, job, release(dependencies, job));
  }
  await publishAgain(dependencies, waiting, state);
  await forgetOldWorkers(dependencies.pool);
}

async function look({ pool, now, maxJobsPerAccount }: SweepDependencies, state: SweepState) {
  try {
    const claimed = await listClaimedJobs(pool, now());
    const limit = maxWaitingJobs;
    const wanted = { now: now(), waitedSeconds: firstRepetitionSeconds, maxJobsPerAccount, limit };
    const waiting = await listWaitingJobs(pool, wanted);
    state.reachableSinceMs ??= performance.now();
    return { claimed, waiting };
  } catch (error) {
    // A worker's silence counts only over time in which its heart could have been heard.
    state.reachableSinceMs = undefined;
    throw error;
  }
}

/** One job that cannot be helped does not keep the others from being looked at. */
async function unlessItFails(
  { part }: InRound<SweepDependencies>,
  { token }: { token: string },
  work: Promise<void>,
): Promise<void> {
  await work.catch((error: unknown) => {
    part.failed('a job', error, { token });
  });
}

function isStale(
  { quiet_seconds: quietSeconds, claimed_seconds: claimedSeconds }: ClaimedJob,
  {
    reachableSeconds,
    attemptTimeoutSeconds,
    leaseSeconds = defaultLeaseSeconds,
  }: Pick<SweepDependencies, 'attemptTimeoutSeconds' | 'leaseSeconds'> & { reachableSeconds: number },
): boolean {
  if (claimedSeconds > attemptTimeoutSeconds + overtimeSeconds) return true;
  return Math.min(quietSeconds ?? Infinity, reachableSeconds) > leaseSeconds;
}

async function release(dependencies: SweepDependencies, job: ClaimedJob): Promise<void> {
  const { token, worker_id: workerId, claim_revision: revision } = job;
  const released = await recordJobProgress(
    dependencies,
    { kind: 'expire_lease', token, claim: { workerId, revision } },
    { ...ownCause(dependencies.newUuid(), actor), timeoutMs: stepTimeoutMs },
  );
  if (!isRefused(released)) {
    dependencies.observer?.claimExpired();
    dependencies.logger.warn(
      { token, workerId, status: released.state.status },
      'the claim of a lost worker has ended',
    );
  }
}

async function publishAgain(
  dependencies: InRound<SweepDependencies>,
  waiting: readonly WaitingJob[],
  { published }: SweepState,
): Promise<void> {
  const { queue } = dependencies;
  const stillWaiting = new Set<string>();
  for (const { token, revision, waiting_seconds: waitedSeconds, ...origin } of waiting) {
    const name = messageId(token, revision, 0);
    stillWaiting.add(name);
    const repetition = repetitionAfter(waitedSeconds);
    if (published.get(name) === repetition) continue;
    const message = { token, usageStream: origin.usage_stream, usageRevision: origin.usage_revision };
    const publishing = queue.publish(message, messageId(token, revision, repetition)).then(() => {
      published.set(name, repetition);
    });
    await unlessItFails(dependencies, { token }, publishing);
  }
  for (const name of published.keys()) if (!stillWaiting.has(name)) published.delete(name);
}

/** 1 after 30 s, 2 after 1 min, 3 after 2 min, doubling up to once an hour. */
export function repetitionAfter(waitedSeconds: number): number {
  const doublings = Math.floor(Math.log2(waitedSeconds / firstRepetitionSeconds));
  const hourly = Math.floor(Math.log2(maxRepetitionSeconds / firstRepetitionSeconds));
  if (doublings < hourly) return doublings + 1;
  return hourly + Math.floor(waitedSeconds / maxRepetitionSeconds) + 1;
}
