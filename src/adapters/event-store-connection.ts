/**
 * The one client of this process, and whether it works.
 *
 *     restoring ──(an empty append is answered)──▶ ready ──(an error, or silence)──▶ restoring
 *
 * The client keeps its unanswered appends in one list for the whole process: an error on any of its append streams rejects
 * all of them, and an answer that then still comes in on another such stream is an uncaught error that ends the process.
 * So there is never more than one append stream: every stream of a broken connection is ended, and awaited, before the next
 * append is sent. An empty append goes first on every new connection, because many at once on an unused one can hang.
 */

import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import { EventStoreDBClient, UnavailableError } from '@eventstore/db-client';
import { Metadata, status } from '@grpc/grpc-js';
import type { Channel } from '@grpc/grpc-js';
import type { Logger } from 'pino';

import { EventStoreClosed } from '../commands/ports.ts';
import { isAnswer, isUnauthenticated } from './event-store-errors.ts';

/** Appending no events here, expecting no stream, writes nothing and needs a whole round trip. */
const WARM_UP_STREAM = 'connection-warm-up';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** Ending streams is a local matter; a client that does not manage in this time is no longer waited for. */
const ABANDON_TIMEOUT_MS = 1000;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What the pinned version of the client has but does not publish; the way in which it drops a channel itself. */
interface ClientInternals {
  getChannel(): Promise<Channel>;
  handleError(client: { getChannel(): Channel }, error: Error): Promise<void>;
}

export interface ConnectionOptions {
  url: string;
  logger: Logger | undefined;
  /** Silence for so long makes the connection suspect. */
  answerTimeoutMs: number;
  /** From 0 to 1: spreads the attempts of several processes. */
  random: () => number;
  /** Told while the server does not let us in, and never has; that is not logged then. */
  onRefused: (() => void) | undefined;
}

export class Connection {
  readonly client: EventStoreDBClient;
  readonly #options: ConnectionOptions;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #generation = 0;
  #isReady = false;
  #isBroken = false;
  #isClosed = false;
  #wasReady = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.client = EventStoreDBClient.connectionString(options.url);
    void this.#restore();
  }

  /** Rises whenever everything that was under way has been given up. */
  get generation(): number {
    return this.#generation;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Waits until appends and reads can be sent.
   *
   * @param untilMs by `performance.now()`
   * @returns false when that instant passed first
   * @throws {EventStoreClosed}
   */
  async whenReady(untilMs = Infinity): Promise<boolean> {
    for (;;) {
      if (this.#isClosed) throw new EventStoreClosed('The connection to the event store is closed.');
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return false;
      if (this.#isReady) return true;
      await this.#change(leftMs);
    }
  }

  /**
   * Says that something did not work.
   *
   * @param generation in which it was begun; what was given up since then is no news
   * @param isBroken whether everything under way is to be given up; otherwise an empty append decides that
   */
  suspect(generation: number, isBroken: boolean): void {
    if (generation !== this.#generation || this.#isClosed) return;
    this.#isBroken ||= isBroken;
    if (!this.#isReady) return;
    this.#isReady = false;
    void this.#restore();
  }

  /** Calls back when everything under way is given up, and on closing; returns how to stop that. */
  onLost(callback: () => void): () => void {
    this.#changes.on('lost', callback);
    return () => this.#changes.off('lost', callback);
  }

  /** One round trip, now. */
  async check(timeoutMs: number): Promise<boolean> {
    const untilMs = performance.now() + timeoutMs;
    if (this.#isClosed || !(await this.whenReady(untilMs).catch(() => false))) return false;
    const generation = this.#generation;
    const result = await this.#probe(Math.max(1, untilMs - performance.now()));
    if (result !== 'answered') this.suspect(generation, false);
    return result === 'answered';
  }

  async pause(milliseconds: number): Promise<void> {
    const untilMs = performance.now() + milliseconds;
    while (!this.#isClosed && performance.now() < untilMs) await this.#change(untilMs - performance.now());
  }

  /** The time before attempt number `attempt` (from 1): doubling up to a second, and never exactly what others wait. */
  pauseMs(attempt: number): number {
    const fullMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 10));
    return fullMs * (0.5 + this.#options.random() / 2);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#changes.emit('change');
    await this.#abandon();
    const internals = this.client as unknown as ClientInternals;
    await within(ABANDON_TIMEOUT_MS, closeChannel(internals));
  }

  async #restore(): Promise<void> {
    for (let attempt = 1; !this.#isClosed; attempt += 1) {
      if (this.#isBroken) await this.#abandon();
      this.#isBroken = false;
      const result = await this.#probe(this.#options.answerTimeoutMs);
      if (result === 'answered' && !this.#mustRestart()) {
        this.#isReady = true;
        this.#wasReady = true;
        this.#changes.emit('change');
        return;
      }
      this.#isBroken = true;
      if (result === 'refused' && !this.#wasReady && this.#options.onRefused) this.#options.onRefused();
      else if (!this.isClosed) this.#options.logger?.warn({ attempt, result }, 'the event store cannot be reached');
      if (result === 'silent') await this.#dropChannel();
      await this.pause(this.pauseMs(attempt));
    }
  }

  /** While a probe was under way, something else may have found the connection broken. */
  #mustRestart(): boolean {
    return this.#isBroken || this.#isClosed;
  }

  async #probe(timeoutMs: number): Promise<'answered' | 'refused' | 'failed' | 'silent'> {
    const append = this.client.appendToStream(WARM_UP_STREAM, [], { expectedRevision: 'no_stream' }).then(
      () => 'answered' as const,
      (error: unknown) => {
        if (isAnswer(error)) return 'answered' as const;
        return isUnauthenticated(error) ? ('refused' as const) : ('failed' as const);
      },
    );
    return (await within(timeoutMs, append)) ?? 'silent';
  }

  /** Ends every stream of the client. Appends under way are rejected by that; the others are told. */
  async #abandon(): Promise<void> {
    this.#generation += 1;
    this.#changes.emit('lost');
    await within(ABANDON_TIMEOUT_MS, this.client.dispose());
  }

  /**
   * Makes the client connect anew. It has no time limit for a connection that was accepted and then says nothing, so this is
   * the only way out of one.
   */
  async #dropChannel(): Promise<void> {
    const internals = this.client as unknown as ClientInternals;
    const silence = { code: status.UNAVAILABLE, details: 'no answer', metadata: new Metadata() };
    const error = new UnavailableError(Object.assign(new Error('no answer'), silence));
    const drop = internals.getChannel().then((channel) => internals.handleError({ getChannel: () => channel }, error));
    await within(ABANDON_TIMEOUT_MS, drop);
  }

  /** Waits for a change of state, at most so long. */
  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#changes.off('change', finish);
        resolve();
      };
      const timer = setTimeout(finish, Math.min(timeoutMs, LONGEST_TIMER_MS));
      this.#changes.on('change', finish);
    });
  }
}

async function closeChannel(internals: ClientInternals): Promise<void> {
  (await internals.getChannel()).close();
}

/** What a promise gives within a time; undefined if it takes longer or fails. */
async function within<Result>(timeoutMs: number, promise: Promise<Result>): Promise<Result | undefined> {
  const stopped = new AbortController();
  const timeout = delay(Math.min(timeoutMs, LONGEST_TIMER_MS), undefined, { signal: stopped.signal });
  try {
    return await Promise.race([promise.catch(() => undefined), timeout.catch(() => undefined)]);
  } finally {
    stopped.abort();
  }
}
