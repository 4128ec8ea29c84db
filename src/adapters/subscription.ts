/**
 * A subscription to the log that does not end: the client's own ends with an error, in silence or without a word, and is then
 * begun anew from where the consumer says it is.
 *
 *     connecting ──(confirmation)──▶ following ──(error, end, silence, failed batch)──▶ pausing ──▶ connecting
 */

import { EventEmitter } from 'node:events';

import { START, streamNameFilter } from '@eventstore/db-client';
import type { AllStreamResolvedEvent, AllStreamSubscription } from '@eventstore/db-client';
import type { Logger } from 'pino';

import { isAfter, isPosition } from '../commands/log-position.ts';
import type { LogBatch, LogPosition, RecordedEvent, Subscription, SubscriptionOptions } from '../commands/ports.ts';
import type { Connection } from './event-store-connection.ts';
import { isConnectionBroken } from './event-store-errors.ts';
import { recordedEventOf } from './event-store-read.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** How long a subscription that waits for the connection may take to notice that it is being closed. */
const CLOSING_CHECK_MS = 500;

/** The server confirms a subscription at once, before any event. */
const CONFIRMATION_TIMEOUT_MS = 5000;

/** Times the server's window of 32: how many events it passes over before it says how far it is. */
const CHECKPOINT_INTERVAL = 32;

const DEFAULT_MAX_BATCH_EVENTS = 500;

export interface SupervisionOptions {
  logger: Logger | undefined;
  watchdogMs: number;
  onClosed: () => void;
}

/** The server ended the subscription, or never confirmed it. */
class SubscriptionDropped extends Error {
  override readonly name = 'SubscriptionDropped';
}

/** Nothing came for long. It may be that there was nothing, or that a drop went unnoticed: only asking again tells. */
class QuietSubscription extends Error {
  override readonly name = 'QuietSubscription';
}

export class SupervisedSubscription implements Subscription {
  readonly #connection: Connection;
  readonly #options: SubscriptionOptions;
  readonly #supervision: SupervisionOptions;
  readonly #signals = new EventEmitter();
  readonly #ended: Promise<void>;
  #isClosing = false;
  #isCaughtUp = false;
  #failures = 0;

  constructor(connection: Connection, options: SubscriptionOptions, supervision: SupervisionOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#supervision = supervision;
    this.#ended = this.#supervise();
  }

  get caughtUp(): boolean {
    return this.#isCaughtUp;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#signals.emit('wake');
    await this.#ended;
    this.#supervision.onClosed();
  }

  async #supervise(): Promise<void> {
    while (!this.#mustStop()) {
      try {
        await this.#connectAndFollow();
      } catch (error) {
        if (this.#mustStop()) return;
        if (error instanceof QuietSubscription) {
          this.#supervision.logger?.debug({ subscription: this.#options.name }, 'quiet for long; subscribing again');
          continue;
        }
        this.#failures += 1;
        this.#supervision.logger?.warn({ subscription: this.#options.name, err: error }, 'subscribing again');
        await this.#pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 10)));
      }
    }
  }

  #mustStop(): boolean {
    return this.#isClosing || this.#connection.isClosed;
  }

  async #connectAndFollow(): Promise<void> {
    this.#isCaughtUp = false;
    while (!(await this.#connection.whenReady(performance.now() + CLOSING_CHECK_MS))) {
      if (this.#mustStop()) return;
    }
    const from = await this.#options.from();
    if (this.#mustStop()) return;
    const { generation } = this.#connection;
    const arrivals = new Arrivals(this.#connection, this.#signals, {
      streamPrefixes: this.#options.streamPrefixes,
      from,
      maxEvents: this.#options.maxBatchEvents ?? DEFAULT_MAX_BATCH_EVENTS,
    });
    try {
      await this.#follow(arrivals, from);
    } catch (error) {
      // A batch that its consumer refused says nothing about the connection.
      if (arrivals.failure !== undefined) this.#connection.suspect(generation, isBroken(arrivals.failure));
      throw error;
    } finally {
      arrivals.end();
    }
  }

  async #follow(arrivals: Arrivals, from: LogPosition | undefined): Promise<void> {
    let delivered = from;
    while (!this.#mustStop()) {
      const batch = arrivals.take();
      if (batch !== undefined && isAfter(batch.position, delivered)) {
        await this.#options.apply(batch);
        delivered = batch.position;
        this.#failures = 0;
      } else if (arrivals.failure !== undefined) throw arrivals.failure;
      else {
        this.#isCaughtUp = arrivals.isCaughtUp;
        const timeoutMs = arrivals.isConfirmed ? this.#supervision.watchdogMs : CONFIRMATION_TIMEOUT_MS;
        if (!(await this.#wait(timeoutMs, () => arrivals.hasNews || this.#mustStop()))) {
          if (arrivals.isConfirmed) throw new QuietSubscription();
          arrivals.fail(new SubscriptionDropped(`Not confirmed within ${timeoutMs} ms.`));
        }
      }
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    await this.#wait(milliseconds, () => this.#mustStop());
  }

  /** @returns false when the time was over before the condition held */
  #wait(timeoutMs: number, condition: () => boolean): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (result: boolean): void => {
        clearTimeout(timer);
        forget();
        this.#signals.off('wake', check);
        resolve(result);
      };
      const check = (): void => {
        if (condition()) finish(true);
      };
      const timer = setTimeout(() => finish(false), timeoutMs);
      const forget = this.#connection.onLost(check);
      this.#signals.on('wake', check);
    });
  }
}

/** What one subscription of the client has brought and nobody has taken yet. The client reads no further while that is much. */
class Arrivals {
  readonly #subscription: AllStreamSubscription;
  readonly #signals: EventEmitter;
  readonly #maxEvents: number;
  readonly #forget: () => void;
  #checkpoint: LogPosition | undefined;
  #isMoreDue = true;
  isConfirmed = false;
  isCaughtUp = false;
  failure: Error | undefined;

  constructor(
    connection: Connection,
    signals: EventEmitter,
    options: { streamPrefixes: readonly string[]; from: LogPosition | undefined; maxEvents: number },
  ) {
    this.#signals = signals;
    this.#maxEvents = options.maxEvents;
    const { from } = options;
    this.#subscription = connection.client.subscribeToAll(
      {
        fromPosition: from ?? START,
        filter: streamNameFilter({
          prefixes: [...options.streamPrefixes],
          checkpointInterval: CHECKPOINT_INTERVAL,
          // Must not fail, and must not wait: the client looks at neither.
          checkpointReached: (_subscription, position) => {
            // A server that has met nothing yet sends a checkpoint of -1, which is no position.
            if (isPosition(position)) this.#checkpoint = position;
            this.#news();
            return Promise.resolve();
          },
        }),
      },
      { highWaterMark: options.maxEvents },
    );
    this.#subscription
      .on('confirmation', () => {
        this.isConfirmed = true;
        this.#news();
      })
      .on('caughtUp', () => {
        this.isCaughtUp = true;
        this.#news();
      })
      .on('readable', () => this.#news())
      .on('end', () => this.fail(new SubscriptionDropped('The server ended the subscription.')))
      .on('close', () => this.fail(new SubscriptionDropped('The subscription was closed.')))
      // Stays for good: an error without a listener would end the process.
      .on('error', (error: unknown) => this.fail(error instanceof Error ? error : new Error(String(error))));
    this.#forget = connection.onLost(() => this.fail(new SubscriptionDropped('The connection was given up.')));
  }

  get hasNews(): boolean {
    return this.#isMoreDue || this.failure !== undefined;
  }

  /**
   * Everything that has arrived, up to the limit. Once nothing is left waiting, all that the last checkpoint covers has been
   * taken: the client passes a checkpoint on only after the events before it.
   */
  take(): LogBatch | undefined {
    this.#isMoreDue = false;
    const events: RecordedEvent[] = [];
    let position: LogPosition | undefined;
    let isEmptied = false;
    while (events.length < this.#maxEvents && !isEmptied) {
      const resolved = this.#subscription.read() as AllStreamResolvedEvent | null;
      if (resolved === null) isEmptied = true;
      else if (resolved.event !== undefined) {
        events.push(recordedEventOf(resolved.event));
        ({ position } = resolved.event);
      }
    }
    if (!isEmptied) this.#isMoreDue = true;
    else if (this.#checkpoint && isAfter(this.#checkpoint, position)) position = this.#checkpoint;
    return position === undefined ? undefined : { events, position };
  }

  fail(error: Error): void {
    this.failure ??= error;
    this.#news();
  }

  end(): void {
    this.#forget();
    this.#subscription.unsubscribe().catch(() => undefined);
    this.#subscription.destroy();
  }

  #news(): void {
    this.#isMoreDue = true;
    this.#signals.emit('wake');
  }
}

/** Ends and silence are looked into; the connection may well be fine. */
function isBroken(failure: Error): boolean {
  return !(failure instanceof SubscriptionDropped) && isConnectionBroken(failure);
}
