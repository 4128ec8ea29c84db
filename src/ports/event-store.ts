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
