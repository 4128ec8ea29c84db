import { runInBackground } from '../async/background.ts';
import { backoffMs } from '../async/backoff.ts';
import { unlessAborted } from '../async/deadline.ts';
import { sleep } from '../async/sleep.ts';
import { claimJob, type QueuedJob, readJob, readQueuedJob } from '../commands/record-job-progress.ts';
import type { ClaimProof } from '../domain/download-job.ts';
import { isRefused } from '../domain/refusals.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { downloadQueue, type JobMessage, type JobQueue, type ReceivedJob } from '../ports/job-queue.ts';
import { servicePart, type ServiceParts } from '../ports/service-parts.ts';
import { inSpan, type Span, type Tracer } from '../ports/tracing.ts';
import type { Chooser, Chosen, Hint, HintState } from './choose-job.ts';
import type { DiskWatermark } from './disk-watermark.ts';
import { type DownloadDependencies, downloadJob } from './download.ts';

export interface WorkerDependencies extends DownloadDependencies {
  queue: JobQueue;
  /** Downloads at a time. */
  slots: number;
  chooser: Chooser;
  disk: Pick<DiskWatermark, 'hasRoom'>;
  serviceParts?: ServiceParts;
}

/** While NATS or the log is away. */
const retryMs = 1_000;
/** Until the next look, while there is too little room on the disk. */
const roomRetryMs = 2_000;
const keepAliveMs = 10_000;
/** The wait for a claim is long: nothing else can be done about the job before its outcome is known. */
const claimTimeoutMs = 600_000;
/** Other workers may be faster so often before a slot goes on to the next message. */
const maxConflicts = 8;

/** Takes a job only for a free slot; from the claim on, lease and sweeper carry the job, not the queue. */
export function runWorker(dependencies: WorkerDependencies) {
  const { stop } = runInBackground((stopping) =>
    Promise.all(Array.from({ length: dependencies.slots }, () => runSlot(dependencies, stopping))),
  );
  return {
    /** Takes no more jobs, ends the running downloads and queues their jobs again. */
    close: stop,
  };
}

/**
 * A message wakes a free slot, and its own job is one of those to choose from. A slot also chooses without one: after each job, and
 * every few seconds. So a job that was put off for its account's limit needs no message to be found, nor does one whose message
 * was lost.
 */
async function runSlot(dependencies: WorkerDependencies, stopping: AbortSignal): Promise<void> {
  const { queue, disk, now } = dependencies;
  const taking = servicePart(dependencies, 'the work queue');
  const working = servicePart(dependencies, 'the taking of jobs');
  const pause = (ms: number) => sleep(ms, stopping);
  let mayWait = false;
  while (!stopping.aborted) {
    let received: ReceivedJob | undefined;
    try {
      // No job is taken that could not be claimed.
      now();
      if (!(await disk.hasRoom())) {
        await pause(roomRetryMs);
        continue;
      }
      received = await queue.next(stopping, mayWait);
      taking.works();
    } catch (error) {
      // The process reports a wrong clock once.
      if (!(error instanceof ClockIsWrong)) taking.failed('a look for a job', error);
      await pause(retryMs);
      continue;
    }
    try {
      mayWait = !(await work(dependencies, received, stopping));
      working.works();
    } catch (error) {
      if (!(error instanceof ClockIsWrong)) working.failed('a job', error);
      await pause(retryMs);
    }
  }
}

/** @returns whether there was a job */
async function work(
  dependencies: WorkerDependencies,
  received: ReceivedJob | undefined,
  stopping: AbortSignal,
): Promise<boolean> {
  if (stopping.aborted) {
    received?.postpone(0);
    return false;
  }
  const keptAlive = setInterval(() => received?.keepAlive(), keepAliveMs);
  let claimed: Claimed | undefined;
  try {
    claimed = await takeJob(dependencies, received, stopping);
  } catch (error) {
    received?.postpone(retryMs);
    throw error;
  } finally {
    clearInterval(keptAlive);
  }
  if (!claimed) return false;
  dependencies.downloads?.downloadStarted();
  try {
    await downloadJob(dependencies, claimed, stopping);
  } finally {
    dependencies.downloads?.downloadEnded();
    claimed.giveBack();
    claimed.span?.end();
  }
  return true;
}

interface Claimed {
  job: QueuedJob;
  claim: ClaimProof;
  /** Covers everything that this worker does about the job. */
  span: Span | undefined;
  /** The job counts no more for its account and its platform. */
  giveBack: () => void;
}

/** @param parent of the message or, if the job was chosen without it, of the event */
function startProcessing(tracer: Tracer | undefined, parent: string | undefined, job: QueuedJob): Span | undefined {
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

/** Claims the job whose turn it is, and ends or postpones the message. */
async function takeJob(
  dependencies: WorkerDependencies,
  received: ReceivedJob | undefined,
  stopping: AbortSignal,
): Promise<Claimed | undefined> {
  const { store, chooser } = dependencies;
  // The log is read while Postgres chooses.
  const hint = received && { received, queued: readQueuedJob(store, received.message) };
  hint?.queued.catch(() => undefined);
  let ofHint: HintState = { state: 'unknown' };
  let claimed: Claimed | undefined;
  for (let conflicts = 0; !claimed && conflicts < maxConflicts; conflicts += 1) {
    const choosing = chooser.choose(ofHint.state === 'unknown' ? hint : undefined, conflicts > 0);
    // A stop does not wait for a Postgres that says nothing.
    const choice = await unlessAborted(choosing, stopping, () => undefined);
    if (!choice) break;
    const { chosen, hint: state } = choice;
    if (ofHint.state === 'unknown') ofHint = state;
    if (!chosen) break;
    claimed = await claimChosen(dependencies, chosen, hint);
    if (chosen.isHint) ofHint = claimed ? { state: 'known' } : await stateAfterRefusal(dependencies, chosen);
  }
  if (!claimed && stopping.aborted) received?.postpone(0);
  else if (hint) await endMessage(dependencies, hint, ofHint);
  return claimed;
}

async function claimChosen(
  dependencies: WorkerDependencies,
  chosen: Chosen,
  hint: Hint | undefined,
): Promise<Claimed | undefined> {
  let claimed: Omit<Claimed, 'giveBack'> | undefined;
  try {
    const named = hint?.received.message.token === chosen.message.token ? hint : undefined;
    const queued = (await named?.queued) ?? (await readQueuedJob(dependencies.store, chosen.message));
    const traceparent = named?.received.traceparent ?? queued?.traceparent;
    if (queued) claimed = await claimQueued(dependencies, { chosen, queued, traceparent });
    else warnOfNoJob(dependencies, chosen.message);
    if (claimed || !chosen.isHint) chosen.settle();
  } finally {
    if (!claimed) chosen.giveBack();
  }
  return claimed && { ...claimed, giveBack: chosen.giveBack };
}

/** No fault: the message came before its time, or another worker was faster. */
async function stateAfterRefusal({ store, now }: WorkerDependencies, { message, settle }: Chosen): Promise<HintState> {
  const { status, notBefore } = await readJob(store, message.token);
  if (status === 'queued') return { state: 'early', notBefore: notBefore ?? now() };
  settle();
  return { state: 'known' };
}

/** The message of a job that the read model has is not needed any more: the job is chosen when its turn comes. */
async function endMessage(dependencies: WorkerDependencies, hint: Hint, ofHint: HintState): Promise<void> {
  const { received, queued } = hint;
  if (ofHint.state === 'known') received.acknowledge();
  else if (ofHint.state === 'early')
    received.postpone(Math.max(Date.parse(ofHint.notBefore) - Date.parse(dependencies.now()), 0));
  // A log that did not answer says nothing of the message.
  else if (await queued.catch(() => true))
    received.postpone(backoffMs(received.deliveries, { firstMs: 1_000, longestMs: 15_000 }));
  else {
    warnOfNoJob(dependencies, received.message);
    received.acknowledge();
  }
}

function warnOfNoJob({ logger }: WorkerDependencies, { token, usageStream: stream }: JobMessage): void {
  logger.warn({ token, stream }, 'a message names no queued download');
}

async function claimQueued(
  dependencies: WorkerDependencies,
  { chosen, queued, traceparent: parent }: { chosen: Chosen; queued: QueuedJob; traceparent: string | undefined },
): Promise<Omit<Claimed, 'giveBack'> | undefined> {
  const { workerId, now, tracer, chooser } = dependencies;
  const { message, jobRevision } = chosen;
  const span = startProcessing(tracer, parent, queued);
  const job = span ? { ...queued, traceparent: span.traceparent } : queued;
  const proof = await inSpan(tracer, { name: 'claim', parent: job.traceparent }, (traceparent) =>
    claimJob(dependencies, {
      workerId,
      job: { ...job, traceparent },
      message,
      timeoutMs: claimTimeoutMs,
      presumedNew: jobRevision === -1,
    }),
  ).catch((error: unknown) => {
    span?.end({ errorType: 'unavailable' });
    throw error;
  });
  if (isRefused(proof)) {
    span?.end({ attributes: { 'reeltally.refusal': proof.refusal } });
    return undefined;
  }
  // The first event of a job's stream is its first claim.
  if (proof.revision === 0) {
    const waitedSeconds = (Date.parse(now()) - Date.parse(queued.queuedAt)) / 1000;
    dependencies.downloads?.firstClaimed(Math.max(waitedSeconds, 0), chooser.wasHeldBack(queued));
  }
  return { job, claim: proof, span };
}
