import type { FastifyReply } from 'fastify';
import { endOfAnswer } from '../../requests/end-of-answer.ts';
import { leaveOnce, type LongVisit } from './long-visits.ts';

/** After so long a stream ends, and the browser opens another one: a session in use does not run out meanwhile. */
const longestSeconds = 60;
const maxStreams = 2_000;
/** As many pages as the people of one account may have open. */
const maxStreamsOfOne = 200;

interface LiveEvent {
  name: string;
  data: object;
  /** The place from which a browser goes on that has lost the stream. */
  id?: string;
}

export interface LiveStream {
  /** Sends events, unless the session does not hold any more: then the stream is over. */
  send: (events: readonly LiveEvent[]) => Promise<void>;
  /** Aborted once nobody reads it, or may read it. */
  gone: AbortSignal;
  /** True once it has to end. */
  isOver: () => boolean;
}

/** The streams of server-sent events that are open in this process (HTML Living Standard, section 9.2). */
export class LiveStreams {
  /** Each with the account or the member of staff that reads it. */
  readonly #open = new Set<{ reader: string; visit: LongVisit }>();

  /** Ends all streams, as the process ends. */
  stop(): void {
    for (const { visit } of this.#open) visit.leave();
  }

  /**
   * @param stay begins the visit of the stream, which ends with its session
   * @param tell sends events until it is done, or the stream is over. Where it fails, the browser opens another stream, and the
   *   answer to that says why
   * @returns false where no more streams can be open, in this process or for this reader
   */
  open(
    reply: FastifyReply,
    { reader, stay }: { reader: string; stay: () => LongVisit },
    tell: (stream: LiveStream) => Promise<void>,
  ): boolean {
    const ofReader = [...this.#open].filter((other) => other.reader === reader);
    if (this.#open.size >= maxStreams || ofReader.length >= maxStreamsOfOne) return false;
    const visit = stay();
    const opened = { reader, visit };
    this.#open.add(opened);
    leaveOnce(endOfAnswer(reply.request, reply, { halfClosed: 'ends' }), visit);
    reply.raw.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Accel-Buffering': 'no',
    });
    reply.raw.write('retry: 2000\n\n');
    const limit = setTimeout(visit.leave, longestSeconds * 1_000);
    const told = tell({
      send: async (events) => {
        if (events.length > 0 && (await visit.mayGoOn())) reply.raw.write(events.map(textOf).join(''));
      },
      gone: visit.ended,
      isOver: () => visit.ended.aborted,
    });
    void told
      .catch(() => undefined)
      .finally(() => {
        clearTimeout(limit);
        this.#open.delete(opened);
        visit.leave();
        reply.raw.end();
      });
    return true;
  }
}

function textOf({ name, data, id }: LiveEvent): string {
  const place = id === undefined ? '' : `id: ${id}\n`;
  return `${place}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
