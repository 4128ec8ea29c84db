/**
 * Writes all appends that arrive in one turn of the event loop in one transaction, in the order of arrival, and answers them
 * after its COMMIT. A commit costs one flush to the disk for one append or for hundreds; the next group gathers meanwhile.
 */

import { EventEmitter } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';

interface Work {
  run: () => unknown;
  settle: (result: unknown) => void;
}

/** Bounds the time that one transaction blocks readers. */
const mostPerTransaction = 512;

export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #onFailure: (error: unknown) => void;
  readonly #commits = new EventEmitter().setMaxListeners(0);
  #waiting: Work[] = [];
  #isScheduled = false;

  /**
   * @param onFailure must end the process. After a failed write or flush the contents of the disk are unknown until the log is
   *   opened again; callers without an answer send the same append again.
   */
  constructor(database: DatabaseSync, onFailure: (error: unknown) => void) {
    this.#database = database;
    this.#onFailure = onFailure;
  }

  /** Runs work inside the next transaction; fulfilled with its result once that is durable. */
  submit<Result>(run: () => Result): Promise<Result> {
    return new Promise((resolve) => {
      this.#waiting.push({ run, settle: resolve as (result: unknown) => void });
      this.#schedule();
    });
  }

  /**
   * Calls back after every commit, once its answers are on their way: those who wait for them come before readers.
   *
   * @returns a function that removes the callback
   */
  onCommit(callback: () => void): () => void {
    this.#commits.on('commit', callback);
    return () => this.#commits.off('commit', callback);
  }

  /** Fulfilled when all work submitted so far is answered. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.submit(() => undefined);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#commitGroup();
      this.#schedule();
    });
  }

  #commitGroup(): void {
    const group = this.#waiting.splice(0, mostPerTransaction);
    const results: unknown[] = [];
    try {
      this.#database.exec('BEGIN');
      for (const work of group) results.push(work.run());
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#onFailure(error);
      return;
    }
    group.forEach((work, index) => work.settle(results[index]));
    setImmediate(() => this.#commits.emit('commit'));
  }
}
