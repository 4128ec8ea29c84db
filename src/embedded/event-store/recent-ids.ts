/**
 * The event ids of late, for appends that name no revision. In memory and bounded, as in the server this one stands in for:
 * after a restart such an append is no longer recognised, which is why nothing that matters may be appended this way.
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
