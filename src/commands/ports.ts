/**
 * What the inside of the service needs from outside. Adapters implement these; `main/` is the only place that joins them.
 */

import type { DownloadProgress } from './video-ports.ts';

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

/**
 * A place between two events of the whole log. The position of an event has the same commit and prepare; where prepare is the
 * smaller one, everything before the commit position is meant, and an event at exactly there is still to come.
 */
export interface LogPosition {
  commit: bigint;
  prepare: bigint;
}

export interface LogBatch {
  events: readonly RecordedEvent[];
  /** Everything up to here has been delivered, whether or not it matched the filter. */
  position: LogPosition;
}

export interface SubscriptionOptions {
  /** For the log. */
  name: string;
  /** Only events of streams whose names start with one of these. */
  streamPrefixes: readonly string[];
  /** Where to go on: asked at every (re)subscription, so that a failed batch is delivered again. Undefined: from the start. */
  from: () => Promise<LogPosition | undefined>;
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

/** A reader of the log cannot go on before a person does what the message says; trying again does not help. */
export class ReaderRefused extends Error {
  override readonly name = 'ReaderRefused';
}

export class EventStoreUnavailable extends Error {
  override readonly name = 'EventStoreUnavailable';
}

export class EventStoreClosed extends Error {
  override readonly name = 'EventStoreClosed';
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

/**
 * Begins a measurement of Postgres's time, right before it is asked for. What it returns is told Postgres's answer, in
 * milliseconds since 1970.
 */
export type MeasureTime = () => (postgresMs: number) => void;

/** The time is not known for certain: nothing that needs it is decided or appended. */
export class ClockIsWrong extends Error {
  override readonly name = 'ClockIsWrong';

  constructor(why: string) {
    super(`nothing can be decided now: ${why}`);
  }
}

/** Tables whose rows carry a MAC, because decisions start from them. */
export const tablesWithMacs = ['credits', 'idempotency_keys', 'api_key_window', 'pending_voids'] as const;
export type TableWithMacs = (typeof tablesWithMacs)[number];

/** Tells rows that this installation has written from those that somebody else has, whoever may write to Postgres. */
export interface RowMacs {
  /** Ids of the secrets whose MACs verify. */
  readonly secretIds: readonly string[];
  /** @param text what the row says, in a form of its own that does not depend on how Postgres writes it */
  sign(table: TableWithMacs, text: string): string;
  /** @param row name: says in the log which row it is; mac: null for a row from before there were any */
  verifies(row: { table: TableWithMacs; name: string; text: string; mac: string | null }): boolean;
}
