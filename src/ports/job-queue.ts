import type { DownloadProgress } from './videos.ts';

/** Where a download was queued and charged. The message is a hint: the worker believes only the event that it names. */
export interface JobMessage {
  token: string;
  usageStream: string;
  usageRevision: number;
}

export interface ReceivedJob {
  message: JobMessage;
  /** The span that sent it, if it was traced. */
  traceparent: string | undefined;
  /** How often it was delivered, this time included. */
  deliveries: number;
  /** Done with: the log has it now, or there is nothing to do. */
  acknowledge(): void;
  /** Still being looked at: not to be given to another worker yet. */
  keepAlive(): void;
  /** To be delivered again, to anybody, after a time. */
  postpone(delayMs: number): void;
}

/** Name of the queue of downloads. */
export const downloadQueue = 'downloads.queued';

export interface JobQueue {
  /**
   * Resolves once the queue has stored the message, or has one with this id already.
   *
   * @param traceparent the span that put the event into the log, for the worker to go on with
   * @throws when it is away
   */
  publish(message: JobMessage, messageId: string, traceparent?: string): Promise<void>;
  /** The next message, waiting a few seconds at most, and not once `stopping`. @throws when the queue is away */
  next(stopping: AbortSignal): Promise<ReceivedJob | undefined>;
}

/** Progress of running downloads, from worker to API: fleeting, and never in the log. */
export interface ProgressChannel {
  report(token: string, progress: DownloadProgress): void;
}
