/**
 * The one client of this process, and whether it works.
 *
 *     restoring ──(an empty append is answered)──▶ ready ──(an error, or silence)──▶ restoring
 *         └──(it fails, or is not answered)──▶ restoring, with another client
 *
 * The client keeps its unanswered appends in one list for the whole process: an error on any of its append streams rejects
 * all of them, and an answer that then still comes in on another such stream is an uncaught error that ends the process.
 * So there is never more than one append stream: every stream of a broken connection is ended, and awaited, before the next
 * append is sent. An empty append goes first on every new connection, because many at once on an unused one can hang.
 */

import { EventEmitter } from 'node:events';

import type { EventStoreDBClient } from '@eventstore/db-client';

import type { Outage } from '../../ports/outage.ts';
import { EventStoreClosed } from '../../ports/event-store.ts';
import { DisposableClient } from './client.ts';
import { isAnswer, isUnauthenticated } from './errors.ts';
import { backoffMs } from '../../async/backoff.ts';
import { withDeadline } from '../../async/deadline.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface ConnectionOptions {
  url: string;
  /**
   * A stream that nobody writes. Appending no events to it, expecting no stream, stores no event and needs a whole round
   * trip. The log of a real server grows by some bytes each time, so this is no question to ask often.
   */
  warmUpStream: string;
  outage: Outage;
  /** Silence for so long makes the connection suspect. */
  answerTimeoutMs: number;
  /** From 0 to 1: spreads the attempts of several processes. */
  random: () => number;
  /** Told of each failure until the server has answered for the first time, and whether it refused us; not logged then. */
  onNeverReached: ((failure: unknown, isRefused: boolean) => void) | undefined;
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #current: DisposableClient;
  #generation = 0;
  #isReady = false;
  #isBroken = false;
  #isClosed = false;
  #wasReady = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#current = new DisposableClient(options.url);
    void this.#restore();
  }

  /** Not to be kept: what fails is replaced. */
  get client(): EventStoreDBClient {
    return this.#current.client;
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
    const failure = await this.#probe(Math.max(1, untilMs - performance.now()));
    if (failure !== undefined) this.suspect(generation, false);
    return failure === undefined;
  }

  async pause(milliseconds: number): Promise<void> {
    const untilMs = performance.now() + milliseconds;
    while (!this.#isClosed && performance.now() < untilMs) await this.#change(untilMs - performance.now());
  }

  /** The time before attempt number `attempt` (from 1): doubling up to a second, and never exactly what others wait. */
  pauseMs(attempt: number): number {
    return backoffMs(attempt, {
      firstMs: FIRST_PAUSE_MS,
      longestMs: LONGEST_PAUSE_MS,
      random: this.#options.random,
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#changes.emit('change');
    this.#giveUpAll();
    await this.#current.dispose();
  }

  async #restore(): Promise<void> {
    for (let attempt = 1; !this.#isClosed; attempt += 1) {
      if (this.#isBroken) {
        this.#giveUpAll();
        await this.#current.endStreams();
      }
      this.#isBroken = false;
      const failure = await this.#probe(this.#options.answerTimeoutMs);
      if (failure === undefined && !this.#mustRestart()) {
        this.#isReady = true;
        this.#wasReady = true;
        this.#options.outage.works();
        this.#changes.emit('change');
        return;
      }
      this.#isBroken = true;
      if (failure !== undefined && !this.isClosed) {
        const { onNeverReached, outage } = this.#options;
        if (!this.#wasReady && onNeverReached) onNeverReached(failure, isUnauthenticated(failure));
        else outage.failed('a round trip', failure, { attempt });
        await this.#replaceClient();
      }
      await this.pause(this.pauseMs(attempt));
    }
  }

  /** While a probe was under way, something else may have found the connection broken. */
  #mustRestart(): boolean {
    return this.#isBroken || this.#isClosed;
  }

  /** @returns why there is no answer; undefined if there is one */
  async #probe(timeoutMs: number): Promise<unknown> {
    const append = this.client.appendToStream(this.#options.warmUpStream, [], { expectedRevision: 'no_stream' }).then(
      () => ({ failure: undefined }),
      (error: unknown) => ({ failure: isAnswer(error) ? undefined : error }),
    );
    const { failure } = await withDeadline(append, timeoutMs, () => ({
      failure: new Error(`No answer within ${Math.round(timeoutMs)} ms.`),
    }));
    return failure;
  }

  /** Tells all that is under way. The client's own appends are rejected when its streams end. */
  #giveUpAll(): void {
    this.#generation += 1;
    this.#changes.emit('lost');
  }

  /** The old client's streams are ended before the new one appends. */
  async #replaceClient(): Promise<void> {
    this.#giveUpAll();
    await this.#current.dispose();
    if (!this.#isClosed) this.#current = new DisposableClient(this.#options.url);
  }

  /** Waits for a change of state, at most so long. */
  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#changes.off('change', finish);
        resolve();
      };
      const timer = setTimeout(finish, Math.min(Math.max(timeoutMs, 0), LONGEST_TIMER_MS));
      this.#changes.on('change', finish);
    });
  }
}
