/**
 * Recent event ids, for retries of appends without a revision. They are in memory and bounded, as in the real server: after a
 * restart such a retry is not recognized. Important events must therefore be appended with a revision.
 */
const MOST_IDS = 75_000;

export class RecentIds {
  readonly #events = new Map<string, { stream: string; revision: bigint }>();

  add(stream: string, id: string, revision: bigint): void {
    this.#events.set(id, { stream, revision });
    if (this.#events.size <= MOST_IDS) return;
    const oldest = this.#events.keys().next();
    if (oldest.done !== true) this.#events.delete(oldest.value);
  }

  revisionIn(stream: string, id: string): bigint | undefined {
    const event = this.#events.get(id);
    return event?.stream === stream ? event.revision : undefined;
  }
}
