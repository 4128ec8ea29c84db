/** An event as the log holds it. It is not parsed yet: `data` and `metadata` may be any JSON. */
export interface RecordedEvent {
  stream: string;
  /** Position within the stream, from 0. */
  revision: number;
  /** UUID given by the writer. The log recognises a resent append by the ids of its events. */
  id: string;
  type: string;
  data: unknown;
  /** `data` as the log holds it, where personal data in `data` was opened: hashes and copies of the log are of this form. */
  stored?: unknown;
  metadata: unknown;
  /** Commit position in the whole log; rises with every event. */
  position: bigint;
  /** Time at which the log stored it, for information only: the event's own time is in its metadata. */
  created: Date;
}

/** An event's data as the log holds it. */
export const storedData = ({ data, stored }: Pick<RecordedEvent, 'data' | 'stored'>): unknown => stored ?? data;

export interface EventToAppend {
  id: string;
  type: string;
  data: Readonly<Record<string, unknown>>;
  metadata: Readonly<Record<string, unknown>>;
}

/** `no_stream`, or the revision of the stream's last event. Weaker expectations are left out on purpose. */
export type ExpectedRevision = 'no_stream' | number;

/**
 * - `stored`: the events are durable at exactly expected + 1 …, by this attempt or by an earlier identical one. Every read that
 *   begins from now on, in any process, has them.
 * - `conflict`: the events are certainly not stored, because somebody else wrote to the stream first. What somebody else wrote
 *   may be shown to readers a moment later.
 * - `not_sent`: the events are certainly not stored, and will not be: the log could not be reached before `sendBeforeMs`.
 */
export type AppendOutcome = 'stored' | 'conflict' | 'not_sent';

/**
 * Encrypts the personal data of events that are about to be appended, each under the key of its stream's account or member of
 * staff. The key is made with the first of them, and is durable when this returns.
 *
 * @returns for each event, what `personal` of its data becomes; undefined for an event without personal data
 * @throws {EventStoreUnavailable} while the keys cannot be read or made
 */
export type SealPersonalData = (
  stream: string,
  events: readonly Pick<EventToAppend, 'id' | 'type' | 'data'>[],
) => Promise<readonly (string | undefined)[]>;

interface AskedPosition {
  streamPrefixes: readonly string[];
  after: bigint;
}

export interface EventStore {
  /** Absent where nobody has keys, as in a log of older versions: personal data is then stored as it is. */
  sealPersonalData?: SealPersonalData;

  /**
   * Appends atomically at the exact revision. An append that was sent is resent, identical, until its outcome is known, however
   * long that takes. A caller with a deadline races this promise and treats its own time-out as an unknown outcome.
   *
   * @param options.sendBeforeMs by `performance.now()`: an append that could not be sent by then ends with `not_sent`, at that
   *   time and not later. It has to come before the earliest deadline of the requests in the append: from that deadline on, a
   *   pending void may send the append by itself, with the charges of the other requests in it, which are decided again after
   *   `not_sent` and could be told 402 for what they are charged
   * @throws {InvalidAppend} for events the log could never take (name, id, type or size); nothing is sent then.
   * @throws {EventStoreClosed} when the adapter is closed while the outcome is unknown.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
    options?: { sendBeforeMs?: number },
  ): Promise<AppendOutcome>;

  /**
   * The events of a stream from a revision on, in order; empty if the stream does not exist or ends before it. Every read of this
   * port goes through the leader of a cluster, and has at least what any process was told of before the read began.
   *
   * @param maxCount at most so many; without it, all
   * @throws {EventStoreUnavailable} when the log cannot be read now.
   */
  read(stream: string, fromRevision: number, maxCount?: number): Promise<RecordedEvent[]>;

  /**
   * Every event after the commit position of an event, in order, with at least those that were stored before the call.
   *
   * @param maxCount with the events of other systems
   * @returns undefined if there are more
   * @throws {EventStoreUnavailable}
   */
  readTail(after: bigint, maxCount: number): Promise<RecordedEvent[] | undefined>;

  /** Position of the newest event of the whole log, or undefined when it is empty. @throws {EventStoreUnavailable} */
  headPosition(): Promise<bigint | undefined>;

  /**
   * Of each that is asked for: the position of the newest event of streams whose names start with one of its prefixes, or
   * undefined if there is none behind `after`. All are found in one pass.
   *
   * @throws {EventStoreUnavailable}
   */
  newestPositions(asked: readonly AskedPosition[]): Promise<(bigint | undefined)[]>;

  /**
   * As `newestPositions`, but looks only at the `maxEvents` newest events of the log, or a few more: `further_back` where the
   * event may lie before them.
   *
   * @throws {EventStoreUnavailable}
   */
  newestPositionsWithin(
    maxEvents: number,
    asked: readonly AskedPosition[],
  ): Promise<(bigint | undefined | 'further_back')[]>;

  /**
   * Delivers the log in order until it is closed, without a gap: once an event is delivered, none appears before it any more.
   * After a failure events may be delivered again. See `SubscriptionOptions`.
   */
  subscribe(options: SubscriptionOptions): Subscription;
}

/** The log as a whole, for a reader that goes from its beginning to its end. */
export interface WholeLog extends Pick<EventStore, 'read' | 'headPosition'> {
  /**
   * The next events after a commit position, in order, with the metadata of our streams (`$$` and the name); empty at the end.
   *
   * @param after -1n: from the start
   * @throws {EventStoreUnavailable}
   */
  readAll(after: bigint, maxCount: number): Promise<RecordedEvent[]>;
}

/**
 * A place in the whole log. An event's own position has the same commit and prepare. A smaller prepare means the place before
 * the commit position: the event at exactly that position is still to come.
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
  /** The place to go on from; undefined: the start. Called at every (re)subscription, so a failed batch is delivered again. */
  from: () => Promise<LogPosition | undefined>;
  /**
   * Takes one batch at a time, in order; the next comes only after its promise is fulfilled. A rejection is logged, and after a
   * backoff the subscription starts again from `from()`.
   */
  apply: (batch: LogBatch) => Promise<void>;
  /** Most events in a batch. Default 500. */
  maxBatchEvents?: number;
  /** How long the first event after a quiet time waits for those that follow, in milliseconds. Default: not at all. */
  gatherMs?: number;
}

export interface Subscription {
  /** True if the end of the log has been reached since the last (re)subscription. */
  readonly caughtUp: boolean;
  /** Stops after the batch under way has been applied. */
  close(): Promise<void>;
}

export class InvalidAppend extends Error {
  override readonly name = 'InvalidAppend';
}

/** A reader of the log cannot go on before a person does what the message says, so it does not retry. */
export class ReaderRefused extends Error {
  override readonly name: string = 'ReaderRefused';
}

/** The log does not have the events that a reader has taken. */
export class LogReplaced extends ReaderRefused {
  override readonly name = 'LogReplaced';
  /** Position of the newest event of the log that was found instead; undefined: it is empty. */
  readonly head: bigint | undefined;

  constructor(message: string, head: bigint | undefined) {
    super(message);
    this.head = head;
  }
}

export class EventStoreUnavailable extends Error {
  override readonly name = 'EventStoreUnavailable';
}

export class EventStoreClosed extends Error {
  override readonly name = 'EventStoreClosed';
}

/** Tells whether the log could not be read: it is away, or this process has closed it to end. Nothing is known then. */
export const couldNotBeRead = (error: unknown): boolean =>
  error instanceof EventStoreUnavailable || error instanceof EventStoreClosed;
