import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import {
  type ConnectedEventStore,
  connectEventStore,
  type EventStoreOptions,
} from '../../src/adapters/event-store/event-store.ts';
import type { EventStore, EventToAppend, RecordedEvent } from '../../src/ports/event-store.ts';

const testOptions = { resendAfterMs: 500, readTimeoutMs: 2000, random: Math.random };

/** Opens an adapter for the length of `use`. One at a time: only one client of a process may append. */
export async function withAdapter<Result>(
  options: EventStoreOptions,
  use: (store: ConnectedEventStore) => Promise<Result>,
): Promise<Result> {
  const store = connectEventStore({ ...testOptions, ...options });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Opens an adapter that is closed when the test has finished. */
export function openAdapter(options: EventStoreOptions): ConnectedEventStore {
  const store = connectEventStore({ ...testOptions, ...options });
  onTestFinished(() => store.close());
  return store;
}

export function eventToAppend(number: number, data: Record<string, unknown> = {}): EventToAppend {
  return { id: randomUUID(), type: 'Counted', data: { number, ...data }, metadata: { from: 'test' } };
}

/** Appends one event for each number from `first` to `last`, one after the other; all must be stored. */
export async function appendNumbers(store: EventStore, stream: string, first: number, last: number): Promise<void> {
  for (let number = first; number <= last; number += 1) {
    const outcome = await store.append(stream, number === 0 ? 'no_stream' : number - 1, [eventToAppend(number)]);
    if (outcome !== 'stored') throw new Error(`Event ${number} of ${stream}: ${outcome}`);
  }
}

export function numberOf(event: RecordedEvent): number {
  return (event.data as { number: number }).number;
}

export function upTo(last: number): number[] {
  return Array.from({ length: last + 1 }, (_, number) => number);
}
