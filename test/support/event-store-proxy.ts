import { connect, createServer, type Server, type Socket } from 'node:net';
import { listen, type Listening } from './listen.ts';

export type WayThrough = 'to_server' | 'to_client';

/** With `answers`, the server takes what it is sent, and nobody hears of it. */
export type Silence = 'everything' | 'answers';

interface ConnectionState {
  silence: Silence | undefined;
}

/** A TCP proxy before an event store that loses connections at an exact byte, or swallows everything. */
export class EventStoreProxy {
  readonly #listening: Listening;
  readonly #sockets = new Set<Socket>();
  readonly #targetPort: number;
  #cut: { way: WayThrough; afterBytes: number } | undefined;
  #silence: Silence | undefined;
  /** How many connections were cut. */
  cuts = 0;
  /** How many connections have come. */
  connections = 0;

  private constructor(server: Server, listening: Listening, targetPort: number) {
    this.#listening = listening;
    this.#targetPort = targetPort;
    server.on('connection', (client) => this.#join(client));
  }

  static async start(targetPort: number): Promise<EventStoreProxy> {
    const server = createServer();
    return new EventStoreProxy(server, await listen(server), targetPort);
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.#listening.port}?tls=false`;
  }

  /** Lets exactly so many more bytes through in one direction, then cuts the connection; once. */
  cutAfter(way: WayThrough, afterBytes: number): void {
    this.#cut = { way, afterBytes };
  }

  cutNever(): void {
    this.#cut = undefined;
  }

  /** From now on accepts, and swallows everything, or what the server says. */
  silence(what: Silence = 'everything'): void {
    this.#silence = what;
  }

  /** New connections work again; those that were silent stay so. */
  heal(): void {
    this.#silence = undefined;
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cutAll();
    await this.#listening.close();
  }

  #join(client: Socket): void {
    this.connections += 1;
    this.#track(client);
    if (this.#silence === 'everything') {
      client.resume();
      return;
    }
    const upstream = connect(this.#targetPort, '127.0.0.1');
    this.#track(upstream);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.on('close', end);
    upstream.on('close', end);
    const state: ConnectionState = { silence: undefined };
    client.on('data', (chunk: Buffer) => this.#pass('to_server', chunk, upstream, end, state));
    upstream.on('data', (chunk: Buffer) => this.#pass('to_client', chunk, client, end, state));
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #pass(way: WayThrough, chunk: Buffer, target: Socket, end: () => void, state: ConnectionState): void {
    // A connection that was silenced stays silent, or what it swallowed would be missing in the middle.
    state.silence ??= this.#silence;
    if (state.silence === 'everything' || (state.silence === 'answers' && way === 'to_client')) return;
    if (this.#cut?.way !== way) {
      target.write(chunk);
      return;
    }
    if (chunk.length <= this.#cut.afterBytes) {
      this.#cut.afterBytes -= chunk.length;
      target.write(chunk);
      return;
    }
    const allowed = chunk.subarray(0, this.#cut.afterBytes);
    this.#cut = undefined;
    this.cuts += 1;
    // The last bytes arrive before the end does.
    if (allowed.length === 0) end();
    else target.end(allowed, end);
  }
}
