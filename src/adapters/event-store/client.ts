/**
 * The official client, in a form that can be disposed of. It caches the server's first answer, even a failure, and would repeat
 * it for ever ("Failed to discover after 10 attempts", long after the cluster has recovered).
 */

import { EventStoreDBClient } from '@eventstore/db-client';
import type { Channel, ChannelOptions, ClientDuplexStream } from '@grpc/grpc-js';
import { withDeadline } from '../../async/deadline.ts';

/** Ending streams needs no server. After this time, the client is no longer waited for. */
const abandonTimeoutMs = 1000;

/**
 * How much the server may send before this process has taken any of it (HTTP/2 flow control). With the usual 64 KiB, fewer than a
 * hundred events, the two take turns: while one works, the other waits.
 */
const windowBytes = 1024 * 1024;

type AppendStream = ClientDuplexStream<unknown, unknown>;
type MakeStream = (client: unknown) => AppendStream | Promise<AppendStream>;

/** Private members of the pinned client version: the only places that make a channel, and a stream. */
interface ClientInternals {
  createChannel: () => Promise<Channel>;
  GRPCStreamCreator: (Client: unknown, name: string, make: MakeStream, cache: unknown) => () => Promise<AppendStream>;
}

/** The same of a channel, which connects at its first call, and reads its options then. */
interface ChannelInternals {
  internalChannel: { options: ChannelOptions };
}

export class DisposableClient {
  readonly client: EventStoreDBClient;
  readonly #channels = new Set<Channel>();
  #isDisposed = false;

  constructor(url: string) {
    this.client = EventStoreDBClient.connectionString(url);
    const internals = this.client as unknown as ClientInternals;
    const { createChannel, GRPCStreamCreator: createStream } = internals;
    internals.createChannel = async () => {
      this.#requireUse();
      const channel = await createChannel();
      const { options } = (channel as unknown as ChannelInternals).internalChannel;
      options['grpc-node.flow_control_window'] = windowBytes;
      this.#channels.add(channel);
      if (this.#isDisposed) this.#closeChannels();
      this.#requireUse();
      return channel;
    };
    internals.GRPCStreamCreator = (Client, name, make, cache) =>
      createStream(
        Client,
        name,
        name === 'appendToStream' ? async (grpcClient) => neverFull(await make(grpcClient)) : make,
        cache,
      );
  }

  /** Ends all open streams. */
  async endStreams(): Promise<void> {
    await withDeadline(
      this.client.dispose().catch(() => undefined),
      abandonTimeoutMs,
      () => undefined,
    );
  }

  /**
   * Ends all open streams and closes the connection, even one that is still being made; calls that wait for it fail. From then
   * on this client sends nothing to a server.
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

/**
 * Says of each write that the stream takes more. While one is full, as that of a silent server, the client keeps further appends
 * in a queue. When the stream ends, it rejects the promises of those writes; nothing handles them, and an unhandled rejection
 * ends the process. So the stream keeps them; the adapter has their bytes in any case, as it sends them again.
 */
function neverFull(stream: AppendStream): AppendStream {
  const write = stream.write.bind(stream) as (message: unknown) => boolean;
  stream.write = (message: unknown) => {
    write(message);
    return true;
  };
  return stream;
}
