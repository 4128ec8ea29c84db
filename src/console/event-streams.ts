import type { FastifyReply } from 'fastify';

/** After so long a stream ends, and the browser opens another one: with its session as it is then. */
const longestSeconds = 60;
const maxStreams = 2_000;
/** As many pages as the people of one account may have open. */
const maxStreamsOfOne = 200;

export interface EventStream {
  /** Sends an event. @param id the place from which a browser goes on that has lost the stream */
  send: (name: string, data: object, id?: string) => void;
  /** Aborted once nobody reads it. */
  gone: AbortSignal;
  /** True once it has to end. */
  isOver: () => boolean;
}

/** The streams of server-sent events that are open in this process (HTML Living Standard, section 9.2). */
export class EventStreams {
  /** By whoever reads them: an account, or a member of staff. */
  readonly #open = new Map<AbortController, string>();

  /** Ends all streams, as the process ends. */
  stop(): void {
    for (const stream of this.#open.keys()) stream.abort();
  }

  /**
   * @param tell sends events until it is done, or the stream is over. Where it fails, the browser opens another stream, and the
   *   answer to that says why
   * @returns false where no more streams can be open, in this process or for this reader
   */
  open(reply: FastifyReply, reader: string, tell: (stream: EventStream) => Promise<void>): boolean {
    if (this.#open.size >= maxStreams || this.#countOf(reader) >= maxStreamsOfOne) return false;
    const stream = new AbortController();
    this.#open.set(stream, reader);
    reply.raw.once('close', () => stream.abort());
    reply.raw.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Accel-Buffering': 'no',
    });
    reply.raw.write('retry: 2000\n\n');
    const untilMs = performance.now() + longestSeconds * 1_000;
    const told = tell({
      send: (name, data, id) => {
        const place = id === undefined ? '' : `id: ${id}\n`;
        reply.raw.write(`${place}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
      },
      gone: stream.signal,
      isOver: () => stream.signal.aborted || performance.now() >= untilMs,
    });
    void told
      .catch(() => undefined)
      .finally(() => {
        this.#open.delete(stream);
        reply.raw.end();
      });
    return true;
  }

  #countOf(reader: string): number {
    let count = 0;
    for (const other of this.#open.values()) if (other === reader) count += 1;
    return count;
  }
}
