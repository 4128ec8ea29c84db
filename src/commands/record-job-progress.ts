import { readUsageStreamName } from '../domain/billing-period.ts';
import {
  type ClaimProof,
  decideJob,
  evolveJob,
  initialJob,
  type Job,
  type JobCommand,
} from '../domain/download-job.ts';
import { type JobEvent, jobStream } from '../domain/download-job-events.ts';
import { type ParsedEvent, parseJobEvent, parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused, type Refused } from '../domain/refusals.ts';
import type { DownloadQueued } from '../domain/usage-events.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { JobMessage } from '../ports/job-queue.ts';
import type { JobObserver } from '../ports/observers.ts';
import type { Tracer } from '../ports/tracing.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import type { Cause } from './handler/event-metadata.ts';
import { type Aggregate, handle, type Handled, load, type Loaded } from './handler/handle-command.ts';

export interface JobDependencies extends CommandDependencies {
  observer?: JobObserver;
  tracer?: Tracer | undefined;
}

/**
 * The request that queued the job, and the cause of the step: for a worker the job's DownloadQueued, for a void the charge. The
 * sweep and the expiry of files name their own command for both.
 */
type JobCause = Omit<Cause, 'commandId'> & { timeoutMs: number };

export interface QueuedJob extends DownloadQueued {
  accountId: string;
  correlationId: string;
  eventId: string;
  queuedAt: string;
  /** Identifies the span that queued it, or a later one that continues it. */
  traceparent?: string | undefined;
}

/** The event that a message names; undefined unless it is the DownloadQueued of the message's token. */
export async function readQueuedJob(store: EventStore, message: JobMessage): Promise<QueuedJob | undefined> {
  const period = readUsageStreamName(message.usageStream);
  if (!period) return undefined;
  const [recorded] = await store.read(message.usageStream, message.usageRevision, 1);
  if (recorded?.revision !== message.usageRevision) return undefined;
  const { event, metadata, id } = parseUsageEvent(recorded);
  if (event.type !== 'DownloadQueued' || event.data.token !== message.token) return undefined;
  return {
    ...event.data,
    accountId: period.accountId,
    correlationId: metadata.$correlationId,
    eventId: id,
    queuedAt: metadata.time,
    traceparent: metadata.$traceparent,
  };
}

/**
 * Records one step of a job, on its own stream, at the exact revision (`domain/download-job.ts`).
 *
 * @param presumed state in which the job probably is, `new` without any step: then its stream is not read first
 */
export async function recordJobProgress(
  { store, now, newUuid, observer, tracer }: JobDependencies,
  command: JobCommand,
  { timeoutMs, ...cause }: JobCause,
  presumed?: Loaded<Job> | 'new',
): Promise<Handled<Job, JobEvent> | Refused> {
  const handled = await handle(
    store,
    {
      ...jobOf(command.token),
      presumedCurrent: presumed !== undefined,
      ...(typeof presumed === 'object' && { known: presumed }),
    },
    {
      decide: (state, at) => decideJob(state, command, at),
      cause: { ...cause, commandId: newUuid() },
      now,
      timeoutMs,
      tracer,
    },
  );
  if (observer && !isRefused(handled)) for (const event of handled.events) observer.stepRecorded(event);
  return handled;
}

/**
 * @param claim.presumedNew the job probably has no step yet
 * @returns the proof of the claim that was just made
 */
export async function claimJob(
  dependencies: JobDependencies,
  claim: { workerId: string; job: QueuedJob; message: JobMessage; timeoutMs: number; presumedNew?: boolean },
): Promise<ClaimProof | Refused> {
  const { workerId, job, message, timeoutMs, presumedNew } = claim;
  const { token, usageStream, usageRevision } = message;
  const handled = await recordJobProgress(
    dependencies,
    { kind: 'claim', token, workerId, accountId: job.accountId, usageStream, usageRevision },
    {
      correlationId: job.correlationId,
      causationId: job.eventId,
      actor: { type: 'system', id: workerId },
      timeoutMs,
      traceparent: job.traceparent,
    },
    presumedNew ? 'new' : undefined,
  );
  return isRefused(handled) ? handled : { workerId, revision: handled.revision };
}

export async function readJob(store: EventStore, token: string): Promise<Job> {
  return (await load(store, jobOf(token))).state;
}

/** The place at which a claimed job was queued, from the job's first event. */
export async function readJobOrigin(store: EventStore, token: string): Promise<JobMessage | undefined> {
  const [first] = await store.read(jobStream(token), 0, 1);
  const parsed: ParsedEvent<JobEvent> | undefined = first && parseJobEvent(first);
  if (parsed?.event.type !== 'JobClaimed') return undefined;
  const { usage_stream: usageStream, usage_revision: usageRevision } = parsed.event.data;
  return { token, usageStream, usageRevision };
}

const jobOf = (token: string): Aggregate<Job, JobEvent> => ({
  stream: jobStream(token),
  initial: () => initialJob,
  parse: parseJobEvent,
  evolve: evolveJob,
});
