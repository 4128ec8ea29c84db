/**
 * The official client, so that it can be given up: it keeps the answer to its first question of a server, a failure too, and
 * would repeat that for ever ("Failed to discover after 10 attempts" of a cluster that has long been whole again).
 */

import { setTimeout as delay } from 'node:timers/promises';

import { EventStoreDBClient } from '@eventstore/db-client';
import type { Channel } from '@grpc/grpc-js';

/** Ending streams is a local matter; a client that does not manage in this time is no longer waited for. */
const ABANDON_TIMEOUT_MS = 1000;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A private member of the pinned client version: the one place in which it makes a channel. */
interface ClientInternals {
  createChannel: () => Promise<Channel>;
}

export class DisposableClient {
  readonly client: EventStoreDBClient;
  readonly #channels = new Set<Channel>();
  #isDisposed = false;

  constructor(url: string) {
    this.client = EventStoreDBClient.connectionString(url);
    const internals = this.client as unknown as ClientInternals;
    const createChannel = internals.createChannel;
    internals.createChannel = async () => {
      this.#requireUse();
      const channel = await createChannel();
      this.#channels.add(channel);
      if (this.#isDisposed) this.#closeChannels();
      this.#requireUse();
      return channel;
    };
  }

  /** Ends all that is under way. */
  async endStreams(): Promise<void> {
    await within(ABANDON_TIMEOUT_MS, this.client.dispose());
  }

  /**
   * Ends all that is under way, and closes its connection, also one that is still being made: whatever waits for that fails.
   * Nothing of this client reaches a server from here on.
   */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    await this.endStreams();
    this.#closeChannels();
  }

  #requireUse(): void {
    if (this.#isDisposed) throw new Error('This client has been given up.');
  }

  #closeChannels(): void {
    for (const channel of this.#channels) channel.close();
    this.#channels.clear();
  }
}

/** Waits for a promise for a limited time. @returns undefined if it takes longer or fails */
export async function within<Result>(timeoutMs: number, promise: Promise<Result>): Promise<Result | undefined> {
  const stopped = new AbortController();
  const timeout = delay(Math.min(timeoutMs, LONGEST_TIMER_MS), undefined, { signal: stopped.signal });
  try {
    return await Promise.race([promise.catch(() => undefined), timeout.catch(() => undefined)]);
  } finally {
    stopped.abort();
  }
}
