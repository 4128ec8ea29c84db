/**
 * The event log: EventStoreDB or anything that speaks its protocol, through the official client.
 */

import { BACKWARDS, END, type ReadAllOptions, START } from '@eventstore/db-client';
import type { Logger } from 'pino';
import type { AppendOutcome, EventStore, RecordedEvent, WholeLog } from '../../ports/event-store.ts';
import { positionOfEvent } from '../../ports/log-position.ts';
import type { AppendObserver } from '../../ports/observers.ts';
import { ServiceParts } from '../../ports/service-parts.ts';
import { PendingAppend, prepareAppend } from './append.ts';
import { Connection } from './connection.ts';
import { type ExcessRight, findExcessRights } from './excess-rights.ts';
import { readEvents } from './read.ts';
import { allStreams, nameInLog, ourName, type StreamNames } from './stream-names.ts';
import { SupervisedSubscription } from './subscription.ts';

export interface EventStoreOptions {
  /** Such as `esdb://host:port?tls=false`, with credentials if the server requires them. */
  url: string;
  logger?: Logger;
  serviceParts?: ServiceParts;
  /** An append is sent again after so long without an answer. */
  resendAfterMs?: number;
  /** A server refuses an append that arrives later than so long after it was sent; default: the client's, 10 s. */
  appendDeadlineMs?: number;
  /** A read is given up after so long without progress. */
  readTimeoutMs?: number;
  /** A subscription is started again after so long without a message. */
  watchdogMs?: number;
  /** Largest append, in bytes; default: the server's default. */
  maxAppendBytes?: number;
  /** From 0 to 1, for jitter between attempts. */
  random?: () => number;
  observer?: AppendObserver;
  /**
   * Told that an append was sent and that its outcome is not known, before it is sent again. A caller for whom the order of
   * appends matters may close this event store then: from that call on nothing is sent.
   */
  onUnknownOutcome?: () => void;
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
  /** The rights that the service does not need and has. Asking changes nothing. @throws if they cannot be found out in time */
  excessRights(options: { timeoutMs: number }): Promise<ExcessRight[]>;
  /** Rejects pending calls and lets subscriptions finish their batches. Nothing then keeps the process alive. */
  close(): Promise<void>;
}

const firstBackwardsEvents = 20;
const backwardsPageEvents = 200;

/**
 * Opens the log without waiting for the server. It keeps trying to connect until it is closed.
 *
 * Only one of these may be open in a process: see connection.ts.
 */
export function connectEventStore({
  url,
  logger,
  serviceParts = new ServiceParts(logger),
  observer,
  onUnknownOutcome = () => undefined,
  streams = allStreams,
  onForeignEvent = () => undefined,
  onNeverReached,
  resendAfterMs = 3000,
  appendDeadlineMs,
  readTimeoutMs = 3000,
  watchdogMs = 60_000,
  maxAppendBytes = 1024 * 1024,
  random = () => 1,
}: EventStoreOptions): ConnectedEventStore {
  const appends = new Set<PendingAppend>();
  const subscriptions = new Set<SupervisedSubscription>();
  const connection = new Connection({
    url,
    warmUpStream: nameInLog(streams, 'connection-warm-up'),
    part: serviceParts.of('the event store'),
    answerTimeoutMs: resendAfterMs,
    random,
    onNeverReached,
  });

  /** A failure of the observer must not replace the outcome. */
  const tell: AppendObserver['appendEnded'] = (...ended) => {
    try {
      observer?.appendEnded(...ended);
    } catch (error) {
      logger?.warn({ err: error }, 'an append could not be counted');
    }
  };
  const readLog = (range: ReadAllOptions): Promise<RecordedEvent[]> =>
    readEvents(connection, (client) => client.readAll({ ...range, requiresLeader: true }), readTimeoutMs);
  /** Keeps the events of our streams, without the stream prefix of this installation. */
  const oursAmong = (events: readonly RecordedEvent[]): RecordedEvent[] =>
    events.flatMap((event) => {
      const stream = ourName(streams, event.stream);
      return stream === undefined ? [] : [{ ...event, stream }];
    });

  const newestPositionsWithin: EventStore['newestPositionsWithin'] = async (maxEvents, asked) => {
    const newest = asked.map((): bigint | undefined | 'further_back' => 'further_back');
    const left = new Set(asked.keys());
    // The client's reads take no filter, so the log is read back, page by page: a short one first, for readers that are up to date.
    let [fromPosition, maxCount]: [ReadAllOptions['fromPosition'], number] = [END, firstBackwardsEvents];
    for (let seen = 0; left.size > 0 && seen < maxEvents; seen += maxCount) {
      if (seen > 0) maxCount = backwardsPageEvents;
      const events = await readLog({ direction: BACKWARDS, fromPosition, maxCount });
      const ours = oursAmong(events);
      const oldest = events.at(-1)?.position;
      for (const index of left) {
        const { streamPrefixes = [], after = 0n } = asked[index] ?? {};
        const found = ours.find(({ stream }) => streamPrefixes.some((prefix) => stream.startsWith(prefix)));
        if (found === undefined && oldest !== undefined && oldest > after) continue;
        newest[index] = found && found.position > after ? found.position : undefined;
        left.delete(index);
      }
      if (oldest !== undefined) fromPosition = positionOfEvent(oldest);
    }
    return newest;
  };

  return {
    append: async (stream, expected, events, { sendBeforeMs } = {}) => {
      const prepared = prepareAppend(nameInLog(streams, stream), expected, events, maxAppendBytes);
      const onResend = () => observer?.appendResent();
      const append = new PendingAppend(connection, prepared, {
        resendAfterMs,
        deadlineMs: appendDeadlineMs,
        logger,
        onResend,
        onUnknownOutcome,
      });
      appends.add(append);
      let outcome: AppendOutcome | 'failed' = 'failed';
      try {
        outcome = await append.run(sendBeforeMs);
        return outcome;
      } finally {
        appends.delete(append);
        tell(outcome, (performance.now() - append.startedMs) / 1000, events);
      }
    },
    read: async (stream, fromRevision, maxCount = Number.MAX_SAFE_INTEGER) => {
      const name = nameInLog(streams, stream);
      const range = { fromRevision: BigInt(fromRevision), maxCount, requiresLeader: true };
      const events = await readEvents(connection, (client) => client.readStream(name, range), readTimeoutMs);
      return events.map((event) => ({ ...event, stream }));
    },
    readAll: async (after, maxCount) => {
      for (let from = after; ;) {
        // The server's read includes the event at the position itself.
        const fromPosition = from < 0n ? START : positionOfEvent(from);
        const events = await readLog({ fromPosition, maxCount: maxCount + 1 });
        const ours = oursAmong(events).filter(({ position }) => position > after);
        const last = events.at(-1)?.position ?? from;
        // A page of other systems' events is not the end of the log.
        if (ours.length > 0 || last <= from) return ours.slice(0, maxCount);
        from = last;
      }
    },
    readTail: async (after, maxCount) => {
      // The server's read includes the event at the position itself, and one more shows that there are too many.
      const events = await readLog({ fromPosition: positionOfEvent(after), maxCount: maxCount + 2 });
      const later = events.filter(({ position }) => position > after);
      return later.length > maxCount ? undefined : oursAmong(later);
    },
    headPosition: async () => {
      const [head] = await readLog({ direction: BACKWARDS, fromPosition: END, maxCount: 1 });
      return head?.position;
    },
    newestPositions: async (asked) =>
      // Nothing is further back than the whole log.
      (await newestPositionsWithin(Infinity, asked)).map((newest) => (newest === 'further_back' ? undefined : newest)),
    newestPositionsWithin,
    subscribe: (options) => {
      const subscription = new SupervisedSubscription(connection, options, {
        logger,
        part: serviceParts.of(`the subscription of ${options.name}`),
        watchdogMs,
        streams,
        onForeignEvent,
        onClosed: () => subscriptions.delete(subscription),
      });
      subscriptions.add(subscription);
      return subscription;
    },
    ready: ({ timeoutMs }) => connection.check(timeoutMs),
    openAppends: () => {
      // The set keeps them in the order in which they began.
      const [oldest] = appends;
      return { count: appends.size, oldestSeconds: oldest ? (performance.now() - oldest.startedMs) / 1000 : 0 };
    },
    excessRights: ({ timeoutMs }) => findExcessRights(connection, nameInLog(streams, 'rights-check'), timeoutMs),
    close: async () => {
      const closed = connection.close();
      for (const append of appends) append.close();
      await Promise.all(Array.from(subscriptions, (subscription) => subscription.close()));
      await closed;
    },
  };
}
