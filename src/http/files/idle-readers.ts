import type { Socket } from 'node:net';

/** Looks up the bytes of each connection that were sent and not acknowledged yet; undefined where that is not known. */
export type SendQueues = () => Promise<(localPort: number, remotePort: number) => number | undefined>;

interface Reader {
  socket: Socket;
  /** Bytes that the kernel had taken from this process at the last check. */
  takenBytes: number;
  /** Bytes that the client had not acknowledged by then, if that was checked. */
  unacknowledgedBytes: number | undefined;
  sinceMs: number;
}

const looksPerLimit = 6;

/**
 * Ends connections whose clients have taken no byte of a file for too long. The kernel takes megabytes for a client, and then
 * nothing until a good part of them has gone: so what the client acknowledges counts too, and a slow reader is never cut while
 * it reads on.
 */
export class IdleReaders {
  readonly #limitMs: number;
  readonly #sendQueues: SendQueues;
  readonly #readers = new Set<Reader>();
  #isLooking = false;

  constructor({ limitSeconds, sendQueues }: { limitSeconds: number; sendQueues: SendQueues }) {
    this.#limitMs = limitSeconds * 1_000;
    this.#sendQueues = sendQueues;
  }

  /** Connections that carry files now. */
  get count(): number {
    return this.#readers.size;
  }

  /** @returns a function that ends the watch */
  watch(socket: Socket): () => void {
    const reader = { socket, takenBytes: 0, unacknowledgedBytes: undefined, sinceMs: performance.now() };
    this.#readers.add(reader);
    if (!this.#isLooking) this.#lookLater();
    return () => {
      this.#readers.delete(reader);
    };
  }

  #lookLater(): void {
    this.#isLooking = true;
    setTimeout(() => void this.#look(), this.#limitMs / looksPerLimit).unref();
  }

  async #look(): Promise<void> {
    const still = [...this.#readers].filter((reader) => !hasTaken(reader));
    if (still.length > 0) {
      const queueOf = await this.#sendQueues();
      for (const reader of still)
        this.#judge(reader, queueOf(reader.socket.localPort ?? 0, reader.socket.remotePort ?? 0));
    }
    if (this.#readers.size > 0) this.#lookLater();
    else this.#isLooking = false;
  }

  #judge(reader: Reader, unacknowledgedBytes: number | undefined): void {
    const isLess = (unacknowledgedBytes ?? Infinity) < (reader.unacknowledgedBytes ?? 0);
    reader.unacknowledgedBytes = unacknowledgedBytes;
    if (isLess) reader.sinceMs = performance.now();
    // Reset, because the kernel would keep what it has for such a client for many minutes.
    else if (performance.now() - reader.sinceMs >= this.#limitMs) reader.socket.resetAndDestroy();
  }
}

/** Notes how far a reader is. @returns true if it has come further since the last look, or has everything and waits for us */
function hasTaken(reader: Reader): boolean {
  const { bytesWritten, writableLength } = reader.socket;
  const takenBytes = bytesWritten - writableLength;
  if (takenBytes === reader.takenBytes && writableLength > 0) return false;
  Object.assign(reader, { takenBytes, unacknowledgedBytes: undefined, sinceMs: performance.now() });
  return true;
}
