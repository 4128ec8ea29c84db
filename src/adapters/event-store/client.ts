/**
 * The official client, so that it can be given up: it keeps the answer to its first question of a server, a failure too, and
 * would repeat that for ever ("Failed to discover after 10 attempts" of a cluster that has long been whole again).
 */

import { EventStoreDBClient } from '@eventstore/db-client';
import type { Channel } from '@grpc/grpc-js';
import { withDeadline } from '../../async/deadline.ts';

/** Ending streams is a local matter; a client that does not manage in this time is no longer waited for. */
const ABANDON_TIMEOUT_MS = 1000;

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
    await withDeadline(
      this.client.dispose().catch(() => undefined),
      ABANDON_TIMEOUT_MS,
      () => undefined,
    );
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
