/**
 * A subscription to the log that does not end. The client's own subscription may end with an error, without one, or just fall
 * silent; it is then started again from the consumer's position.
 *
 *     connecting ──(confirmation)──▶ following ──(error, end, silence, failed batch)──▶ pausing ──▶ connecting
 */

import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { backoffMs } from '../../async/backoff.ts';
import { UnreadableEvent } from '../../domain/parse-event.ts';
import {
  type LogPosition,
  ReaderRefused,
  type Subscription,
  type SubscriptionOptions,
} from '../../ports/event-store.ts';
import { isAfter } from '../../ports/log-position.ts';
import type { ServicePart } from '../../ports/service-parts.ts';
import type { Connection } from './connection.ts';
import { isConnectionBroken } from './errors.ts';
import { Arrivals, type ArrivalsOptions, SubscriptionDropped } from './subscription-arrivals.ts';

const firstPauseMs = 100;
const longestPauseMs = 5000;

/** A subscription that waits for the connection notices within this time that it is being closed. */
const closingCheckMs = 500;

/** The server confirms a subscription at once, before any event. */
const confirmationTimeoutMs = 5000;

const defaultMaxBatchEvents = 500;

export interface SupervisionOptions extends Pick<ArrivalsOptions, 'streams' | 'onForeignEvent'> {
  logger: Logger | undefined;
  part: ServicePart;
  watchdogMs: number;
  onClosed: () => void;
}

/** No event came for long. There may have been none, or the subscription was dropped: only a new one can tell. */
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
  /** The server has ended it, or does not answer: its last failure is none of the consumer's. */
  #isDropped = false;
  #failures = 0;
  /** The problem that was logged last and is not over. */
  #told: string | undefined;

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
        this.#isCaughtUp = false;
        if (error instanceof QuietSubscription) {
          this.#supervision.logger?.debug({ subscription: this.#options.name }, 'quiet for long; subscribing again');
          continue;
        }
        this.#failures += 1;
        this.#tell(error);
        await this.#pause(backoffMs(this.#failures, { firstMs: firstPauseMs, longestMs: longestPauseMs }));
      }
    }
  }

  /** A problem that a person has to solve is logged once, however often it recurs; any other says that the server is lost. */
  #tell(error: unknown): void {
    const { name: subscription } = this.#options;
    const { logger, part } = this.#supervision;
    if (!(error instanceof UnreadableEvent || error instanceof ReaderRefused)) {
      part.failed('the subscription', error, this.#isDropped ? { server: 'event_store' } : {});
      return;
    }
    const facts = { subscription, err: error };
    if (error.message === this.#told) logger?.debug(facts, 'subscribing again');
    else if (error instanceof ReaderRefused) logger?.error(facts, 'a reader of the log cannot go on');
    else {
      const command = `reeltally log show ${error.stream} --revision ${error.revision}`;
      logger?.error({ ...facts, command }, `an event cannot be read: "${command}" shows it`);
    }
    this.#told = error.message;
  }

  #works(): void {
    const { logger, part } = this.#supervision;
    this.#failures = 0;
    part.works();
    if (this.#told === undefined) return;
    this.#told = undefined;
    logger?.warn({ subscription: this.#options.name }, 'the subscription goes on');
  }

  #mustStop(): boolean {
    return this.#isClosing || this.#connection.isClosed;
  }

  async #connectAndFollow(): Promise<void> {
    this.#isCaughtUp = false;
    this.#isDropped = false;
    while (!(await this.#connection.whenReady(performance.now() + closingCheckMs))) {
      if (this.#mustStop()) return;
    }
    const from = await this.#options.from();
    if (this.#mustStop()) return;
    const { generation } = this.#connection;
    const arrivals = new Arrivals(this.#connection, this.#signals, {
      ...this.#supervision,
      streamPrefixes: this.#options.streamPrefixes,
      from,
      maxEvents: this.#options.maxBatchEvents ?? defaultMaxBatchEvents,
    });
    try {
      await this.#follow(arrivals, from);
    } catch (error) {
      // A batch that fails in the consumer says nothing about the connection.
      const { failure } = arrivals;
      this.#isDropped = failure !== undefined;
      if (failure !== undefined) this.#connection.suspect(generation, isBroken(failure));
      throw error;
    } finally {
      arrivals.end();
    }
  }

  async #follow(arrivals: Arrivals, from: LogPosition | undefined): Promise<void> {
    const { gatherMs } = this.#options;
    let delivered = from;
    while (!this.#mustStop()) {
      const batch = arrivals.take();
      if (batch !== undefined && isAfter(batch.position, delivered)) {
        await this.#options.apply(batch);
        delivered = batch.position;
        // Positions without events may come before the batch that fails, each time anew.
        if (batch.events.length > 0) this.#works();
      } else if (arrivals.failure !== undefined) throw arrivals.failure;
      else {
        this.#isCaughtUp = arrivals.isCaughtUp;
        if (this.#isCaughtUp) this.#works();
        const timeoutMs = arrivals.isConfirmed ? this.#supervision.watchdogMs : confirmationTimeoutMs;
        if (!(await this.#wait(timeoutMs, () => arrivals.hasNews || this.#mustStop()))) {
          if (arrivals.isConfirmed) throw new QuietSubscription();
          arrivals.fail(new SubscriptionDropped(`Not confirmed within ${timeoutMs} ms.`));
        } else if (this.#isCaughtUp && gatherMs !== undefined) await this.#pause(gatherMs);
        // Events that have arrived with this one come in the same batch.
        else await nextTurn();
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

/** After an end or silence, the connection may be fine, and is only checked. */
function isBroken(failure: Error): boolean {
  return !(failure instanceof SubscriptionDropped) && isConnectionBroken(failure);
}
