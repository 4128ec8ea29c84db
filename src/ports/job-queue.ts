import type { DownloadProgress } from './videos.ts';

/**
 * The place at which a download was queued and charged. The message is a hint that something waits: the worker chooses the job
 * whose turn it is, and trusts only events.
 */
export interface JobMessage {
  token: string;
  usageStream: string;
  usageRevision: number;
}

export interface ReceivedJob {
  message: JobMessage;
  /** Identifies the span that sent the message, if it was traced. */
  traceparent: string | undefined;
  /** Revision of the job's last event when the message was sent, -1 if it had none; undefined in a message of another form. */
  jobRevision: number | undefined;
  /** Number of deliveries, this one included. */
  deliveries: number;
  /** Ends the message: the log has the claim now, or there is nothing to do. It may get lost: the message comes again then. */
  acknowledge(): void;
  /** Keeps the message from being delivered to another worker for now: for half a minute from each call on, as from its delivery. */
  keepAlive(): void;
  /** Has the message delivered again, to any worker, after a delay. */
  postpone(delayMs: number): void;
}

/**
 * Names a message, so that the queue takes it once.
 *
 * @param jobRevision revision of the job's last event, -1 if it has none
 * @param repetition 0 at first; the sweeper counts on from 1
 */
export const messageId = (token: JobMessage['token'], jobRevision: number, repetition: number) =>
  `${token}:${String(jobRevision)}:${String(repetition)}`;

/** @param id a `messageId` */
export function jobRevisionIn(id: string): number | undefined {
  const revision = /:(-1|\d+):\d+$/.exec(id)?.[1];
  return revision === undefined ? undefined : Number(revision);
}

/** Name of the queue of downloads. */
export const downloadQueue = 'downloads.queued';

/**
 * A work queue, at least once and in any order: a message may get lost, come twice, or come long after its job has ended. One
 * that a worker neither acknowledges nor keeps alive is delivered to another.
 */
export interface JobQueue {
  /**
   * Resolves once the queue has stored the message, or has had one with this id within the last two minutes, acknowledged or not.
   * Afterwards it takes the same id again.
   *
   * @param traceparent of the span that appended the event, which the worker's spans continue
   * @throws when the queue is away
   */
  publish(message: JobMessage, messageId: string, traceparent?: string): Promise<void>;
  /**
   * The next message. If there is none, waits for one, a few seconds at most or until `stopping` is aborted: from then on none is
   * taken. Undefined too for a message that is not ours, which is gone then.
   *
   * @param wait false: does not wait
   * @throws when the queue is away
   */
  next(stopping: AbortSignal, wait?: boolean): Promise<ReceivedJob | undefined>;
}

/** Progress of running downloads, from worker to API. It may get lost, and is never in the log. */
export interface ProgressChannel {
  report(token: string, progress: DownloadProgress): void;
}
