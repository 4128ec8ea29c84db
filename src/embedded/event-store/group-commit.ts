/**
 * Everything that arrives in one turn of the event loop is written in one transaction, in the order of arrival, and answered
 * after its COMMIT. A commit costs a flush to the disk whether it holds one append or hundreds, so while one is on its way the
 * next group gathers by itself.
 */

import { EventEmitter } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';

interface Work {
  run: () => unknown;
  settle: (result: unknown) => void;
}

/** Bounds how long one transaction keeps readers waiting. */
const MOST_PER_TRANSACTION = 512;

export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #onFailure: (error: unknown) => void;
  readonly #commits = new EventEmitter().setMaxListeners(0);
  #waiting: Work[] = [];
  #isScheduled = false;

  /**
   * @param onFailure must end the process: after a failed write or flush nobody can know what the disk holds until the log is
   *   opened again, and callers who get no answer send the same append again.
   */
  constructor(database: DatabaseSync, onFailure: (error: unknown) => void) {
    this.#database = database;
    this.#onFailure = onFailure;
  }

  /** Runs inside the next transaction; fulfilled with what it returned once that is durable. */
  submit<Result>(run: () => Result): Promise<Result> {
    return new Promise((resolve) => {
      this.#waiting.push({ run, settle: resolve as (result: unknown) => void });
      this.#schedule();
    });
  }

  /** Calls back after every commit; returns how to stop that. */
  onCommit(callback: () => void): () => void {
    this.#commits.on('commit', callback);
    return () => this.#commits.off('commit', callback);
  }

  /** Fulfilled when all that was submitted so far has been answered. */
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
    const group = this.#waiting.splice(0, MOST_PER_TRANSACTION);
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
    this.#commits.emit('commit');
  }
}
