/**
 * What the inside of the service needs from outside. Adapters implement these; `main/` is the only place that joins them.
 */

import type { Output, Quality } from '../domain/download-options.ts';
import type { FailureReason } from '../domain/failure-reasons.ts';
import type { ShortLink } from '../domain/video-url.ts';

/** An event as the log holds it: not yet parsed, so `data` and `metadata` are whatever JSON was stored. */
export interface RecordedEvent {
  stream: string;
  /** Position within the stream, from 0. */
  revision: number;
  /** UUID given by the writer; the log recognises a retry of an append by these. */
  id: string;
  type: string;
  data: unknown;
  metadata: unknown;
  /** Commit position in the whole log; rises with every event. */
  position: bigint;
  /** When the log stored it. Informative only: the event's own time stands in its metadata. */
  created: Date;
}

export interface EventToAppend {
  id: string;
  type: string;
  data: Readonly<Record<string, unknown>>;
  metadata: Readonly<Record<string, unknown>>;
}

/** `no_stream`, or the revision of the stream's last event. Nothing weaker exists here, on purpose. */
export type ExpectedRevision = 'no_stream' | number;

/**
 * - `stored`: the events are durable at exactly expected + 1 … (by this attempt or an earlier identical one).
 * - `conflict`: known not to be stored; somebody else wrote to the stream first.
 * - `not_sent`: known not to be stored; the log could not be reached before `sendBefore`.
 */
export type AppendOutcome = 'stored' | 'conflict' | 'not_sent';

export interface AppendOptions {
  /** Give up, with `not_sent`, if the first attempt could not be sent by this instant (milliseconds of `performance.now()`). */
  sendBeforeMs?: number;
}

export interface EventStore {
  /**
   * Appends atomically at the exact revision. Once sent, the identical append is resent until its outcome is known, however
   * long that takes: a caller with less patience races this promise and treats its own time-out as *unknown*.
   *
   * @throws {InvalidAppend} for events the log could never take (name, id, type or size); nothing is sent then.
   * @throws {EventStoreClosed} when the adapter is closed while the outcome is unknown.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
    options?: AppendOptions,
  ): Promise<AppendOutcome>;

  /**
   * The events of a stream from a revision on, in order; empty if the stream does not exist or ends before it.
   *
   * @param maxCount at most so many; without it, all
   * @throws {EventStoreUnavailable} when the log cannot be read now.
   */
  read(stream: string, fromRevision: number, maxCount?: number): Promise<RecordedEvent[]>;

  /** Position of the newest event of the whole log, or undefined when it is empty. @throws {EventStoreUnavailable} */
  headPosition(): Promise<bigint | undefined>;

  /**
   * Position of the newest event of streams whose names start with one of these, or undefined if there is none behind `after`.
   *
   * @throws {EventStoreUnavailable}
   */
  newestPosition(streamPrefixes: readonly string[], after: bigint): Promise<bigint | undefined>;

  /** Delivers the log in order, for ever: see `SubscriptionOptions`. */
  subscribe(options: SubscriptionOptions): Subscription;
}

/** The log as a whole, for whoever reads it from its beginning to its end. */
export interface WholeLog extends Pick<EventStore, 'read' | 'headPosition'> {
  /**
   * The next events behind a commit position, in order, those of the log's own streams included; empty at the end.
   *
   * @param after -1n: from the start
   * @throws {EventStoreUnavailable}
   */
  readAll(after: bigint, maxCount: number): Promise<RecordedEvent[]>;
}

export interface LogBatch {
  events: readonly RecordedEvent[];
  /** Everything up to this commit position has been delivered, whether or not it matched the filter. */
  position: bigint;
}

export interface SubscriptionOptions {
  /** For the log. */
  name: string;
  /** Only events of streams whose names start with one of these. */
  streamPrefixes: readonly string[];
  /** Where to go on: asked at every (re)subscription, so that a failed batch is delivered again. Undefined: from the start. */
  from: () => Promise<bigint | undefined>;
  /**
   * Takes one batch at a time, in order; the next comes only after its promise is fulfilled. A rejection is logged, and the
   * subscription starts again, with backoff, from `from()`.
   */
  apply: (batch: LogBatch) => Promise<void>;
  /** Most events in a batch. Default 500. */
  maxBatchEvents?: number;
}

export interface Subscription {
  /** Whether the end of the log has been reached since the last (re)subscription. */
  readonly caughtUp: boolean;
  /** Stops after the batch under way has been applied. */
  close(): Promise<void>;
}

export class InvalidAppend extends Error {
  override readonly name = 'InvalidAppend';
}

export class EventStoreUnavailable extends Error {
  override readonly name = 'EventStoreUnavailable';
}

export class EventStoreClosed extends Error {
  override readonly name = 'EventStoreClosed';
}

/** One item of one platform: all that the service keeps of a client's URL. */
export interface VideoReference {
  platform: string;
  videoId: string;
  /** Rebuilt from platform and id, never the client's own string. */
  canonicalUrl: string;
}

export interface VideoMetadata {
  title: string;
  durationSeconds: number;
  /** URL of an image; empty where the platform names none. */
  thumbnail: string;
}

/** `detail` is for the log only: it may quote what the platform said, cut and cleaned of control characters. */
export interface VideoFailure {
  ok: false;
  reason: FailureReason;
  detail: string;
}

export interface DownloadProgress {
  /** 0 to 100, or null where the size is not known. */
  percent: number | null;
  bytesPerSecond: number | null;
  etaSeconds: number | null;
}

export interface DownloadedFile {
  ok: true;
  /** Where the finished file lies, inside the attempt's own directory. */
  path: string;
  /** `media.` and the output: `media.mp4`. */
  name: string;
  mime: string;
  sizeBytes: number;
  sha256: string;
  durationSeconds: number;
}

export interface WantedFile {
  output: Output;
  quality: Quality;
  /** Which still of an image post, from 1. */
  item: number;
}

export interface VideoSource {
  /** Looks an item up without downloading it. Never throws for anything the platform or the engine does. */
  probe(
    video: VideoReference,
    options: { signal: AbortSignal },
  ): Promise<{ ok: true; metadata: VideoMetadata } | VideoFailure>;

  /**
   * Downloads into `directory`, which is fresh and belongs to this attempt alone, and verifies the result. Never throws for
   * anything the platform or the engine does; an abort of `signal` ends every child process before the promise is settled.
   */
  download(
    video: VideoReference,
    wanted: WantedFile,
    options: {
      directory: string;
      signal: AbortSignal;
      onProgress: (progress: DownloadProgress) => void;
      /** The span that it is part of. */
      traceparent?: string | undefined;
    },
  ): Promise<DownloadedFile | VideoFailure>;
}

/** Where a finished file lies: the job's token and the revision of the claim that made it, so that no attempt overwrites another's. */
export interface FileKey {
  token: string;
  claimRevision: number;
  name: string;
}

/** The place where finished files lie is away, or does not take what it was asked for: nothing is known of the file. */
export class FileStoreUnavailable extends Error {
  override readonly name = 'FileStoreUnavailable';
}

export interface PutOptions {
  /** Of the file, hexadecimal: kept beside it where the store can. */
  sha256?: string;
  /** Ends an upload. */
  signal?: AbortSignal;
  /** Told now and then while the file goes over a network. */
  onProgress?: (storedBytes: number) => void;
}

/** What went from a file store. */
export interface RemovedFiles {
  files: number;
  bytes: number;
}

export interface FileStore {
  /**
   * Moves or uploads a finished file. Atomic: a reader sees all of it or nothing.
   *
   * @throws {FileStoreUnavailable} when it could not be stored; it may be tried again
   */
  put(key: FileKey, path: string, mime: string, options?: PutOptions): Promise<void>;
  /** Size of a stored file in bytes; undefined when it is not there. @throws {FileStoreUnavailable} when that is not known */
  sizeBytes(key: FileKey): Promise<number | undefined>;
  /** Removes one file; removing what is not there is fine. */
  remove(key: FileKey): Promise<void>;
  /** Removes every file of a token except the one named, if any. Removing what is not there is fine. */
  purge(token: string, except?: FileKey): Promise<RemovedFiles>;
  /** Tokens of which anything is kept, remains of a `put` that was interrupted included; some at a time, in any order. */
  tokens(): AsyncIterable<readonly string[]>;
  /**
   * A link that serves the file under `downloadName` until `expiresAtSeconds` (Unix time), and differs at every call.
   *
   * @throws {FileStoreUnavailable} when it cannot be signed now
   */
  link(key: FileKey, options: { expiresAtSeconds: number; downloadName: string }): Promise<string>;
}

/**
 * - `found`: where the platform sends whoever follows the link: an item of the same platform. Not to be believed unread.
 * - `unresolved`: the platform named no item of its own, or nothing in time.
 * - `no_answer`: nobody could ask the platform now.
 */
export type ShortLinkAnswer = { outcome: 'found'; url: string } | { outcome: 'unresolved' | 'no_answer' };

/** Asks a worker which item a short link stands for; the API process itself never fetches what a client names. */
export interface ShortLinks {
  /** Never throws. */
  lookUp(link: ShortLink): Promise<ShortLinkAnswer>;
}

/** Asks a worker about a video; the API process itself never fetches what a client names. */
export interface MetadataProbe {
  /** Never throws: no worker in time is a failure like any other. */
  probe(video: VideoReference): Promise<{ ok: true; metadata: VideoMetadata } | VideoFailure>;
}

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
