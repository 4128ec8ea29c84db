import type { EventStore, RecordedEvent } from '../../ports/event-store.ts';

interface Reading {
  after: bigint;
  resolve: (events: readonly RecordedEvent[] | undefined) => void;
}

/** The read of a stream costs about as much as so many events of a longer read. */
const eventsPerStreamRead = 8;

/**
 * The end of the whole log, read once for all accounts that ask in the same tick or while a read is under way. It shows each of
 * them what its stream has beyond its row of the read model, which is nearly always nothing, at a fraction of what a read of
 * each stream costs.
 */
export class LogTail {
  readonly #store: Pick<EventStore, 'readTail'>;
  #waiting: Reading[] = [];
  #isReading = false;

  constructor(store: Pick<EventStore, 'readTail'>) {
    this.#store = store;
  }

  /**
   * @param after commit position of an event
   * @returns at least every event after that position which was stored before this call; undefined where a read of the
   *   caller's own stream costs no more: if nobody else asks, the tail is long, or the log cannot be read
   */
  readAfter(after: bigint): Promise<readonly RecordedEvent[] | undefined> {
    const { promise, resolve } = Promise.withResolvers<readonly RecordedEvent[] | undefined>();
    this.#waiting.push({ after, resolve });
    if (!this.#isReading) void this.#readForAll();
    return promise;
  }

  async #readForAll(): Promise<void> {
    this.#isReading = true;
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      const events = together.length > 1 ? await this.#read(together) : undefined;
      for (const { resolve } of together) resolve(events);
    }
    this.#isReading = false;
  }

  #read(together: readonly Reading[]): Promise<RecordedEvent[] | undefined> {
    const after = together.reduce((least, reading) => (reading.after < least ? reading.after : least), 2n ** 64n);
    return this.#store.readTail(after, together.length * eventsPerStreamRead).catch(() => undefined);
  }
}
