/**
 * The event log: EventStoreDB or anything that speaks its protocol, through the official client.
 */

import { BACKWARDS, END, START } from '@eventstore/db-client';
import type { Logger } from 'pino';

import { positionOfEvent } from '../../ports/log-position.ts';
import { Outages } from '../../ports/outage.ts';
import type { AppendObserver } from '../../ports/observers.ts';
import type {
  AppendOptions,
  AppendOutcome,
  EventStore,
  EventToAppend,
  ExpectedRevision,
  RecordedEvent,
  Subscription,
  SubscriptionOptions,
  WholeLog,
} from '../../ports/event-store.ts';
import { PendingAppend, prepareAppend } from './append.ts';
import { Connection } from './connection.ts';
import { readEvents } from './read.ts';
import { allStreams, nameInLog, ourName } from './stream-names.ts';
import type { StreamNames } from './stream-names.ts';
import { SupervisedSubscription } from './subscription.ts';

export interface EventStoreOptions {
  /** Such as `esdb://host:port?tls=false`, with credentials if the server requires them. */
  url: string;
  logger?: Logger;
  outages?: Outages;
  /** An append is sent again after so long without an answer. */
  resendAfterMs?: number;
  /** A read is given up after so long without progress. */
  readTimeoutMs?: number;
  /** A subscription is started again after so long without a message. */
  watchdogMs?: number;
  /** Largest append, in bytes; default: the server's default. */
  maxAppendBytes?: number;
  /** From 0 to 1, for jitter between attempts. */
  random?: () => number;
  observer?: AppendObserver;
  /** Default: the whole log is ours. */
  streams?: StreamNames;
  /** Told of each event that a subscription skips because its stream only shares a prefix with ours. */
  onForeignEvent?: () => void;
  /** Told of each failure before the server's first answer; such failures are not logged. */
  onNeverReached?: (failure: unknown, isRefused: boolean) => void;
}

export interface ConnectedEventStore extends EventStore, WholeLog {
  /** Health check: one round trip through the leader. */
  ready(options: { timeoutMs: number }): Promise<boolean>;
  /** The number of appends whose outcome is not known yet, and the age of the oldest; 0 if there is none. */
  openAppends(): { count: number; oldestSeconds: number };
  /** Rejects pending calls and lets subscriptions finish their batches. Nothing then keeps the process alive. */
  close(): Promise<void>;
}

/**
 * Opens the log without waiting for the server. It keeps trying to connect until it is closed.
 *
 * Only one of these may be open in a process: see connection.ts.
 */
export function connectEventStore(options: EventStoreOptions): ConnectedEventStore {
  return new EventStoreAdapter(options);
}

const backwardsPageEvents = 200;

class EventStoreAdapter implements ConnectedEventStore {
  readonly #connection: Connection;
  readonly #logger: Logger | undefined;
  readonly #outages: Outages;
  readonly #observer: AppendObserver | undefined;
  readonly #streams: StreamNames;
  readonly #onForeignEvent: () => void;
  readonly #resendAfterMs: number;
  readonly #readTimeoutMs: number;
  readonly #watchdogMs: number;
  readonly #maxAppendBytes: number;
  readonly #pending = new Set<PendingAppend>();
  readonly #subscriptions = new Set<SupervisedSubscription>();

  constructor(options: EventStoreOptions) {
    this.#logger = options.logger;
    this.#outages = options.outages ?? new Outages(options.logger);
    this.#observer = options.observer;
    this.#streams = options.streams ?? allStreams;
    this.#onForeignEvent = options.onForeignEvent ?? (() => undefined);
    this.#resendAfterMs = options.resendAfterMs ?? 3000;
    this.#readTimeoutMs = options.readTimeoutMs ?? 3000;
    this.#watchdogMs = options.watchdogMs ?? 60_000;
    this.#maxAppendBytes = options.maxAppendBytes ?? 1024 * 1024;
    this.#connection = new Connection({
      url: options.url,
      warmUpStream: nameInLog(this.#streams, 'connection-warm-up'),
      outage: this.#outages.of('the event store'),
      answerTimeoutMs: this.#resendAfterMs,
      random: options.random ?? (() => 1),
      onNeverReached: options.onNeverReached,
    });
  }

  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
    options: AppendOptions = {},
  ): Promise<AppendOutcome> {
    const prepared = prepareAppend(nameInLog(this.#streams, stream), expected, events, this.#maxAppendBytes);
    const pending = new PendingAppend(this.#connection, prepared, {
      resendAfterMs: this.#resendAfterMs,
      logger: this.#logger,
      onResend: () => this.#observer?.appendResent(),
    });
    this.#pending.add(pending);
    let outcome: AppendOutcome | 'failed' = 'failed';
    try {
      outcome = await pending.run(options.sendBeforeMs);
      return outcome;
    } finally {
      this.#pending.delete(pending);
      this.#tell(outcome, (performance.now() - pending.startedMs) / 1000);
    }
  }

  /** A failure of the observer must not replace the outcome. */
  #tell(outcome: AppendOutcome | 'failed', seconds: number): void {
    try {
      this.#observer?.appendEnded(outcome, seconds);
    } catch (error) {
      this.#logger?.warn({ err: error }, 'an append could not be counted');
    }
  }

  async read(stream: string, fromRevision: number, maxCount?: number): Promise<RecordedEvent[]> {
    const name = nameInLog(this.#streams, stream);
    const range = {
      fromRevision: BigInt(fromRevision),
      requiresLeader: true,
      ...(maxCount === undefined ? {} : { maxCount }),
    };
    const events = await readEvents(this.#connection, (client) => client.readStream(name, range), this.#readTimeoutMs);
    return events.map((event) => ({ ...event, stream }));
  }

  async readAll(after: bigint, maxCount: number): Promise<RecordedEvent[]> {
    for (let from = after; ;) {
      const fromPosition = from < 0n ? START : positionOfEvent(from);
      // The server's read includes the event at the position itself.
      const range = { fromPosition, maxCount: maxCount + 1, requiresLeader: true } as const;
      const events = await readEvents(this.#connection, (client) => client.readAll(range), this.#readTimeoutMs);
      const ours = this.#ours(events).filter(({ position }) => position > after);
      const last = events.at(-1)?.position ?? from;
      // A page of other systems' events is not the end of the log.
      if (ours.length > 0 || last <= from) return ours.slice(0, maxCount);
      from = last;
    }
  }

  /** Keeps the events of our streams, without the stream prefix of this installation. */
  #ours(events: readonly RecordedEvent[]): RecordedEvent[] {
    return events.flatMap((event) => {
      const stream = ourName(this.#streams, event.stream);
      return stream === undefined ? [] : [{ ...event, stream }];
    });
  }

  async headPosition(): Promise<bigint | undefined> {
    const range = { direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true } as const;
    const events = await readEvents(this.#connection, (client) => client.readAll(range), this.#readTimeoutMs);
    return events[0]?.position;
  }

  async newestPosition(streamPrefixes: readonly string[], after: bigint): Promise<bigint | undefined> {
    // The client's reads take no filter, so the log is read back, page by page.
    for (let before: bigint | undefined; ;) {
      const fromPosition = before === undefined ? END : { commit: before, prepare: before };
      const range = {
        direction: BACKWARDS,
        fromPosition,
        maxCount: backwardsPageEvents,
        requiresLeader: true,
      } as const;
      const events = await readEvents(this.#connection, (client) => client.readAll(range), this.#readTimeoutMs);
      const isWanted = ({ stream }: RecordedEvent) => streamPrefixes.some((prefix) => stream.startsWith(prefix));
      const newest = this.#ours(events).find(isWanted);
      if (newest) return newest.position > after ? newest.position : undefined;
      const oldest = events.at(-1)?.position;
      if (oldest === undefined || oldest <= after) return undefined;
      before = oldest;
    }
  }

  subscribe(options: SubscriptionOptions): Subscription {
    const subscription = new SupervisedSubscription(this.#connection, options, {
      logger: this.#logger,
      outage: this.#outages.of(`the subscription of ${options.name}`),
      watchdogMs: this.#watchdogMs,
      streams: this.#streams,
      onForeignEvent: this.#onForeignEvent,
      onClosed: () => this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  ready({ timeoutMs }: { timeoutMs: number }): Promise<boolean> {
    return this.#connection.check(timeoutMs);
  }

  openAppends(): { count: number; oldestSeconds: number } {
    // The set keeps them in the order in which they began.
    const [oldest] = this.#pending;
    return {
      count: this.#pending.size,
      oldestSeconds: oldest ? (performance.now() - oldest.startedMs) / 1000 : 0,
    };
  }

  async close(): Promise<void> {
    const closed = this.#connection.close();
    for (const pending of this.#pending) pending.close();
    await Promise.all(Array.from(this.#subscriptions, (subscription) => subscription.close()));
    await closed;
  }
}
