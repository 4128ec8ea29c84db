import { outageOf } from '../ports/outage.ts';
import type { Outages } from '../ports/outage.ts';
import { readUsageStreamName } from '../domain/billing-period.ts';
import { claimJob, readJob, readQueuedJob } from '../commands/record-job-progress.ts';
import type { QueuedJob } from '../commands/record-job-progress.ts';
import type { QuotaName } from '../ports/observers.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { downloadQueue } from '../ports/job-queue.ts';
import type { JobQueue, ReceivedJob } from '../ports/job-queue.ts';
import { inSpan } from '../ports/tracing.ts';
import type { Span, Tracer } from '../ports/tracing.ts';
import type { ClaimProof } from '../domain/download-job.ts';
import { isRefused } from '../domain/refusals.ts';
import { downloadJob } from './download.ts';
import type { DownloadDependencies } from './download.ts';
import type { DiskWatermark } from './disk-watermark.ts';
import { quotaDelayMs } from './concurrency-limits.ts';
import type { Quotas } from './concurrency-limits.ts';
import { runInBackground } from '../async/background.ts';
import { sleep } from '../async/sleep.ts';

export interface WorkerDependencies extends DownloadDependencies {
  queue: JobQueue;
  /** Downloads at a time. */
  slots: number;
  quotas: Quotas;
  disk: Pick<DiskWatermark, 'hasRoom'>;
  outages?: Outages;
}

export interface Worker {
  /** Takes no more jobs, ends the running downloads and queues their jobs again. */
  close(): Promise<void>;
}

/** While NATS or the log is away. */
const retryMs = 1_000;
/** Until the next look, while there is too little room on the disk. */
const roomRetryMs = 2_000;
const keepAliveMs = 10_000;
/** The wait for a claim is long: nothing else can be done about the job before its outcome is known. */
const claimTimeoutMs = 600_000;

/** Pulls a job only for a free slot; from the claim on, lease and sweeper carry the job, not the queue. */
export function runWorker(dependencies: WorkerDependencies): Worker {
  const { stop } = runInBackground((stopping) =>
    Promise.all(Array.from({ length: dependencies.slots }, () => runSlot(dependencies, stopping))),
  );
  return { close: stop };
}

async function runSlot(dependencies: WorkerDependencies, stopping: AbortSignal): Promise<void> {
  const { queue, disk, now } = dependencies;
  const taking = outageOf(dependencies, 'the work queue');
  const working = outageOf(dependencies, 'the taking of jobs');
  const pause = (ms: number) => sleep(ms, stopping);
  while (!stopping.aborted) {
    let received: ReceivedJob | undefined;
    try {
      // No job is taken that could not be claimed.
      now();
      if (!(await disk.hasRoom())) {
        await pause(roomRetryMs);
        continue;
      }
      received = await queue.next(stopping);
      taking.works();
    } catch (error) {
      // The process reports a wrong clock once.
      if (!(error instanceof ClockIsWrong)) taking.failed('a look for a job', error);
      await pause(retryMs);
      continue;
    }
    if (!received) continue;
    try {
      await work(dependencies, received, stopping);
      working.works();
    } catch (error) {
      if (!(error instanceof ClockIsWrong)) working.failed('a job', error);
      await pause(retryMs);
    }
  }
}

async function work(dependencies: WorkerDependencies, received: ReceivedJob, stopping: AbortSignal): Promise<void> {
  const keptAlive = setInterval(() => {
    received.keepAlive();
  }, keepAliveMs);
  let claimed: Claimed | undefined;
  try {
    claimed = await takeJob(dependencies, received);
  } catch (error) {
    received.postpone(retryMs);
    throw error;
  } finally {
    clearInterval(keptAlive);
  }
  if (!claimed) return;
  dependencies.downloads?.downloadStarted();
  try {
    await downloadJob(dependencies, claimed, stopping);
  } finally {
    dependencies.downloads?.downloadEnded();
    claimed.giveBack();
    claimed.span?.end();
  }
}

interface Claimed {
  job: QueuedJob;
  claim: ClaimProof;
  /** Covers everything that this worker does about the job. */
  span: Span | undefined;
  /** Gives back its place in the quotas. */
  giveBack: () => void;
}

/** The sweeper publishes lost messages again without the header, so the trace is read from the event as well. */
function startProcessing(tracer: Tracer | undefined, received: ReceivedJob, job: QueuedJob): Span | undefined {
  const parent = received.traceparent ?? job.traceparent;
  if (parent === undefined) return undefined;
  return tracer?.start(`process ${downloadQueue}`, {
    kind: 'consumer',
    parent,
    attributes: {
      'messaging.system': 'nats',
      'messaging.destination.name': downloadQueue,
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'reeltally.token.prefix': job.token.slice(0, 8),
    },
  });
}

/** The message is only a hint: the log holds the job, and the claim makes it this worker's. */
async function takeJob(dependencies: WorkerDependencies, received: ReceivedJob): Promise<Claimed | undefined> {
  const { store, logger, quotas } = dependencies;
  const { message } = received;
  const accountId = readUsageStreamName(message.usageStream)?.accountId ?? '';
  if (quotas.isFull(accountId)) {
    postpone(dependencies, received, 'account');
    return undefined;
  }
  // Postgres counts while the log is read.
  const elsewhere = quotas.countElsewhere(accountId);
  const queued = await readQueuedJob(store, message);
  if (!queued) {
    logger.warn({ token: message.token, stream: message.usageStream }, 'a message names no queued download');
    received.acknowledge();
    return undefined;
  }
  const place = await quotas.take(queued, elsewhere);
  if (!place.ok) {
    postpone(dependencies, received, place.quota);
    return undefined;
  }
  let claimed: Omit<Claimed, 'giveBack'> | undefined;
  try {
    claimed = await claimQueued(dependencies, received, queued);
  } finally {
    if (!claimed) place.giveBack();
  }
  return claimed && { ...claimed, giveBack: place.giveBack };
}

/** The job stays queued and unclaimed; others are delivered meanwhile. */
function postpone({ downloads }: WorkerDependencies, received: ReceivedJob, quota: QuotaName): void {
  received.postpone(quotaDelayMs(received.deliveries));
  downloads?.jobPostponed(quota);
}

async function claimQueued(
  dependencies: WorkerDependencies,
  received: ReceivedJob,
  queued: QueuedJob,
): Promise<Omit<Claimed, 'giveBack'> | undefined> {
  const { store, workerId, now, tracer } = dependencies;
  const { message } = received;
  const span = startProcessing(tracer, received, queued);
  const job = span ? { ...queued, traceparent: span.traceparent } : queued;
  const proof = await inSpan(tracer, { name: 'claim', parent: job.traceparent }, (traceparent) =>
    claimJob(dependencies, {
      workerId,
      job: { ...job, traceparent },
      message,
      timeoutMs: claimTimeoutMs,
      presumedNew: received.isNew,
    }),
  ).catch((error: unknown) => {
    span?.end({ errorType: 'unavailable' });
    throw error;
  });
  if (!isRefused(proof)) {
    received.acknowledge();
    // The first event of a job's stream is its first claim.
    if (proof.revision === 0) {
      const waitedSeconds = (Date.parse(now()) - Date.parse(queued.queuedAt)) / 1000;
      dependencies.downloads?.firstClaimed(Math.max(waitedSeconds, 0), received.deliveries > 1);
    }
    return { job, claim: proof, span };
  }
  // No fault: the message came before its time, or another worker was faster.
  span?.end({ attributes: { 'reeltally.refusal': proof.refusal } });
  const { status, notBefore } = await readJob(store, message.token);
  const waitMs = status === 'queued' && notBefore !== null ? Date.parse(notBefore) - Date.parse(now()) : 0;
  if (status === 'queued') received.postpone(Math.max(waitMs, 0));
  else received.acknowledge();
  return undefined;
}
