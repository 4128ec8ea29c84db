import { prepareAppend, type PreparedAppend } from '../../src/adapters/event-store/append.ts';
import { backoffMs } from '../../src/async/backoff.ts';
import { sleep } from '../../src/async/sleep.ts';
import {
  type AppendOutcome,
  type EventStore,
  EventStoreClosed,
  EventStoreUnavailable,
  type LogPosition,
  type RecordedEvent,
  type Subscription,
  type SubscriptionOptions,
  type WholeLog,
} from '../../src/ports/event-store.ts';
import { isAfter, positionOfEvent } from '../../src/ports/log-position.ts';
import { runAs } from './clock.ts';
import type { EventLog } from './event-log.ts';
import type { FaultKind } from './faults.ts';
import type { AtCall, SimulatedProcess } from './process.ts';

/** The way between a process and the log. */
export interface Network {
  happens: (fault: FaultKind) => boolean;
  /** A draw between two numbers of milliseconds. */
  delayMs: (leastMs: number, mostMs: number) => number;
  atCall: AtCall;
}

const resendAfterMs = 3_000;
const readTimeoutMs = 3_000;
const maxAppendBytes = 1024 * 1024;
const maxBatchEvents = 500;

type ClientOfLog = EventStore & WholeLog & { close: () => Promise<void> };

/**
 * The adapter's side of the event log, as a part of one process: an append is sent again, identical, until its outcome is known,
 * and an append that cannot be sent in time ends with `not_sent` at that time. The contract suite of the real adapter holds for
 * it (test/adapters/event-store/port-contract.ts).
 */
export function connectToLog(log: EventLog, process: SimulatedProcess, network: Network): ClientOfLog {
  const { happens, delayMs, atCall } = network;
  const closed = Promise.withResolvers<never>();
  closed.promise.catch(() => undefined);
  const subscriptions = new Set<Subscription>();
  let isClosed = false;

  /** Works outside of the process, which gets the result if it still runs by then. */
  const ask = <Value>(name: string, work: () => Promise<Value>): Promise<Value> => {
    atCall(process, 'call', name);
    return process.receive(runAs(undefined, work), () => atCall(process, 'reply', name));
  };

  /** @returns false if the log is not reached by then */
  async function whenReached(untilMs = Infinity): Promise<boolean> {
    for (;;) {
      if (isClosed) throw new EventStoreClosed('The event log is closed.');
      const nowMs = performance.now();
      if (nowMs >= untilMs) return false;
      if (nowMs >= log.awayUntilMs) return true;
      await Promise.race([sleep(Math.min(log.awayUntilMs - nowMs, untilMs - nowMs, 1_000)), closed.promise]);
    }
  }

  /** Rejects for a broken connection. */
  async function send(append: PreparedAppend): Promise<AppendOutcome> {
    const lost = new Promise<never>(() => undefined);
    await sleep(happens('append_late') ? delayMs(50, 12_000) : delayMs(0, 5));
    const heldUntilMs = log.heldUntilMs.get(append.stream) ?? 0;
    if (performance.now() < Math.max(log.awayUntilMs, heldUntilMs) || happens('append_lost')) return await lost;
    const isBroken = happens('append_broken');
    if (isBroken && delayMs(0, 1) === 0) throw new EventStoreUnavailable('The connection broke.');
    const stored = log.append(append, happens('shown_late') ? delayMs(1, 2_000) : 0);
    if (isBroken) throw new EventStoreUnavailable('The connection broke.');
    if (happens('reply_lost')) return await lost;
    await sleep(happens('reply_late') ? delayMs(50, 9_000) : delayMs(0, 3));
    if (stored === 'conflict') return 'conflict';
    const hiddenMs = (stored.at(-1)?.shownAtMs ?? 0) - performance.now();
    if (hiddenMs > 0) await sleep(hiddenMs);
    return 'stored';
  }

  /** Any attempt may bring the outcome. */
  function sendUntilKnown(append: PreparedAppend): Promise<AppendOutcome> {
    const outcome = Promise.withResolvers<AppendOutcome>();
    let isKnown = false;
    let attempts = 0;
    const attempt = async (): Promise<void> => {
      await whenReached();
      if (isKnown) return;
      attempts += 1;
      const number = attempts;
      const again = (pauseMs: number) => setTimeout(() => void attempt().catch(outcome.reject), pauseMs);
      const resend = again(resendAfterMs);
      ask('append', () => send(append)).then(
        (known) => {
          isKnown = true;
          clearTimeout(resend);
          outcome.resolve(known);
        },
        () => {
          if (isKnown || number !== attempts) return;
          clearTimeout(resend);
          again(delayMs(20, 1_000));
        },
      );
    };
    attempt().catch(outcome.reject);
    return Promise.race([outcome.promise, closed.promise]);
  }

  async function read<Value>(name: string, answer: () => Value): Promise<Value> {
    if (isClosed) throw new EventStoreClosed('The event log is closed.');
    if (!(await whenReached(performance.now() + readTimeoutMs))) throw new EventStoreUnavailable('The log is away.');
    return ask(name, async () => {
      await sleep(delayMs(0, 2));
      const answered = answer();
      await sleep(happens('read_late') ? delayMs(20, 2_900) : delayMs(0, 2));
      if (happens('read_fails')) throw new EventStoreUnavailable('The log cannot be read now.');
      return answered;
    });
  }

  function newestPosition(
    asked: Parameters<EventStore['newestPositions']>[0][number],
    events: readonly RecordedEvent[],
  ) {
    const isAsked = ({ stream }: RecordedEvent) => asked.streamPrefixes.some((prefix) => stream.startsWith(prefix));
    const position = events.findLast(isAsked)?.position;
    return position !== undefined && position > asked.after ? position : undefined;
  }

  const client: ClientOfLog = {
    append: async (stream, expected, events, { sendBeforeMs } = {}) => {
      const append = prepareAppend(stream, expected, events, maxAppendBytes);
      if (!(await whenReached(sendBeforeMs))) return 'not_sent';
      return await sendUntilKnown(append);
    },
    read: (stream, fromRevision, maxCount = Infinity) =>
      read('read', () => log.read(stream).slice(fromRevision, fromRevision + maxCount)),
    readAll: (after, maxCount) =>
      read('read all', () =>
        log
          .readAll()
          .filter(({ position }) => position > after)
          .slice(0, maxCount),
      ),
    readTail: (after, maxCount) =>
      read('read tail', () => {
        const tail = log.readAll().filter(({ position }) => position > after);
        return tail.length > maxCount ? undefined : tail;
      }),
    headPosition: () => read('head', () => log.readAll().at(-1)?.position),
    newestPositions: (asked) => read('newest', () => asked.map((each) => newestPosition(each, log.readAll()))),
    newestPositionsWithin: (maxEvents, asked) =>
      read('newest', () => {
        const newest = log.readAll().slice(-maxEvents);
        const reachesBack = (after: bigint) => newest.length < maxEvents || (newest[0]?.position ?? 0n) <= after;
        return asked.map(
          (each) => newestPosition(each, newest) ?? (reachesBack(each.after) ? undefined : 'further_back'),
        );
      }),
    subscribe: (options) => {
      const subscription = new LoopingSubscription({ log, network, process, whenReached }, options);
      subscriptions.add(subscription);
      return subscription;
    },
    close: async () => {
      isClosed = true;
      closed.reject(new EventStoreClosed('Closed before the outcome of the append was known.'));
      await Promise.all(Array.from(subscriptions, (each) => each.close()));
    },
  };
  return client;
}

interface Surroundings {
  log: EventLog;
  network: Network;
  process: SimulatedProcess;
  whenReached: () => Promise<boolean>;
}

/** Delivers what the log has, waits for more, and begins again where the last place is known when anything fails. */
class LoopingSubscription implements Subscription {
  caughtUp = false;
  readonly #of: Surroundings;
  readonly #options: SubscriptionOptions;
  readonly #ended: Promise<void>;
  #isClosing = false;
  readonly #closing = Promise.withResolvers<undefined>();

  constructor(of: Surroundings, options: SubscriptionOptions) {
    this.#of = of;
    this.#options = options;
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#closing.resolve(undefined);
    await this.#ended;
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#isClosing;) {
      try {
        await this.#of.whenReached();
        let position = await this.#options.from();
        while (!this.#isClosing) {
          const next = await this.#next(position);
          if (!next) continue;
          await this.#options.apply(next);
          failures = 0;
          position = next.position;
          if (this.#of.network.happens('subscription_ends')) throw new EventStoreUnavailable('The subscription ended.');
        }
      } catch {
        this.caughtUp = false;
        failures += 1;
        await sleep(backoffMs(failures, { firstMs: 100, longestMs: 10_000 }));
      }
    }
  }

  async #next(after: LogPosition | undefined) {
    const { log, network, process } = this.#of;
    const events = log.readAll().filter(({ position }) => isAfter(positionOfEvent(position), after));
    const head = events.at(-1);
    if (!head) {
      this.caughtUp = true;
      await Promise.race([process.receive(log.nextAppend()), this.#closing.promise]);
      await sleep(network.delayMs(0, 20));
      return undefined;
    }
    const isWanted = ({ stream }: RecordedEvent) =>
      this.#options.streamPrefixes.some((prefix) => stream.startsWith(prefix));
    const wanted = events.filter(isWanted).slice(0, this.#options.maxBatchEvents ?? maxBatchEvents);
    const isAll = wanted.at(-1) === events.findLast(isWanted);
    return { events: wanted, position: positionOfEvent((isAll ? head : wanted.at(-1)!).position) };
  }
}
