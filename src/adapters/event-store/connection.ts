/**
 * The only client of this process, and its state.
 *
 *     restoring ──(an empty append is answered)──▶ ready ──(an error, or silence)──▶ restoring
 *         └──(it fails, or is not answered)──▶ restoring, with another client
 *
 * The client keeps its unanswered appends in one list for the whole process. An error on any append stream rejects all of them,
 * and a later answer on another such stream is an uncaught error that ends the process. So there is never more than one append
 * stream: all streams of a broken connection are ended, and awaited, before the next append is sent. Each new connection begins
 * with an empty append, because many appends at once on an unused connection can hang.
 */

import { EventEmitter } from 'node:events';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { backoffMs } from '../../async/backoff.ts';
import { withDeadline } from '../../async/deadline.ts';
import { EventStoreClosed } from '../../ports/event-store.ts';
import type { ServicePart } from '../../ports/service-parts.ts';
import { DisposableClient } from './client.ts';
import { isAnswer, isUnauthenticated } from './errors.ts';

const firstPauseMs = 50;
const longestPauseMs = 1000;

const longestTimerMs = 2 ** 31 - 1;

export interface ConnectionOptions {
  url: string;
  /**
   * A stream that is never written. An append of no events, expecting no stream, stores nothing and needs a full round trip. It
   * adds some bytes to the log of a real server each time, so it must not be sent often.
   */
  warmUpStream: string;
  part: ServicePart;
  /** The connection is suspect after so long without an answer. */
  answerTimeoutMs: number;
  /** From 0 to 1, for jitter: spreads the attempts of several processes. */
  random: () => number;
  /** Told of each failure before the server's first answer, and whether the server refused us; they are not logged. */
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
  #failure: unknown;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#current = new DisposableClient(options.url);
    void this.#restore();
  }

  /** Not to be kept by the caller: a client that fails is replaced. */
  get client(): EventStoreDBClient {
    return this.#current.client;
  }

  /** Rises whenever all pending calls are given up. */
  get generation(): number {
    return this.#generation;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The failure of the last health check; undefined after one that succeeded. */
  get failure(): unknown {
    return this.#failure;
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
   * Reports a failure.
   *
   * @param generation the generation of the failed call; failures of earlier generations are ignored
   * @param isBroken whether to give up all pending calls; otherwise a health check decides that
   */
  suspect(generation: number, isBroken: boolean): void {
    if (generation !== this.#generation || this.#isClosed) return;
    this.#isBroken ||= isBroken;
    if (!this.#isReady) return;
    this.#isReady = false;
    void this.#restore();
  }

  /** Calls back when all pending calls are given up, and on closing. @returns a function that removes the callback */
  onLost(callback: () => void): () => void {
    this.#changes.on('lost', callback);
    return () => this.#changes.off('lost', callback);
  }

  /** A health check: one round trip, now. */
  async check(timeoutMs: number): Promise<boolean> {
    const untilMs = performance.now() + timeoutMs;
    if (this.#isClosed || !(await this.whenReady(untilMs).catch(() => false))) return false;
    const generation = this.#generation;
    const failure = await this.#checkHealth(Math.max(1, untilMs - performance.now()));
    if (failure !== undefined) this.suspect(generation, false);
    return failure === undefined;
  }

  async pause(milliseconds: number): Promise<void> {
    const untilMs = performance.now() + milliseconds;
    while (!this.#isClosed && performance.now() < untilMs) await this.#change(untilMs - performance.now());
  }

  /** The pause before an attempt (from 1): doubles up to a second, with jitter. */
  pauseMs(attempt: number): number {
    return backoffMs(attempt, {
      firstMs: firstPauseMs,
      longestMs: longestPauseMs,
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
      const failure = await this.#checkHealth(this.#options.answerTimeoutMs);
      this.#failure = failure;
      if (failure === undefined && !this.#mustRestart()) {
        this.#isReady = true;
        this.#wasReady = true;
        this.#options.part.works();
        this.#changes.emit('change');
        return;
      }
      this.#isBroken = true;
      if (failure !== undefined && !this.isClosed) {
        const { onNeverReached, part } = this.#options;
        if (!this.#wasReady && onNeverReached) onNeverReached(failure, isUnauthenticated(failure));
        else part.failed('a round trip', failure, { attempt, server: 'event_store' });
        await this.#replaceClient();
      }
      await this.pause(this.pauseMs(attempt));
    }
  }

  /** Another call may have found the connection broken during the health check. */
  #mustRestart(): boolean {
    return this.#isBroken || this.#isClosed;
  }

  /** @returns why there was no answer; undefined if there was one */
  async #checkHealth(timeoutMs: number): Promise<unknown> {
    const append = this.client.appendToStream(this.#options.warmUpStream, [], { expectedRevision: 'no_stream' }).then(
      () => ({ failure: undefined }),
      (error: unknown) => ({ failure: isAnswer(error) ? undefined : error }),
    );
    const { failure } = await withDeadline(append, timeoutMs, () => ({
      failure: new Error(`No answer within ${Math.round(timeoutMs)} ms.`),
    }));
    return failure;
  }

  /** Tells all pending calls. The client's own appends are rejected when its streams end. */
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

  /** Waits for a change of state or the timeout. */
  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#changes.off('change', finish);
        resolve();
      };
      const timer = setTimeout(finish, Math.min(Math.max(timeoutMs, 0), longestTimerMs));
      this.#changes.on('change', finish);
    });
  }
}
