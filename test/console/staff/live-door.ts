import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from '../../support/listen.ts';

/** A reverse proxy before the staff listener, at which the stream of a live page can be cut. */
export interface LiveDoor {
  /** Address of the console as browsers see it. */
  url: string;
  /** Ends the streams that are open, and lets those that are asked for meanwhile wait. */
  cut: () => void;
  /** Lets them through. */
  open: () => void;
  /** The position behind which the newest stream goes on; undefined for one from its page's beginning. */
  resumedAfter: () => string | undefined;
  close: () => Promise<void>;
}

export async function startLiveDoor(port: number): Promise<LiveDoor> {
  const streams = new Set<ServerResponse>();
  const waiting: (() => void)[] = [];
  let isCut = false;
  let resumedAfter: string | undefined;
  const pass = (asked: IncomingMessage, answer: ServerResponse) => {
    const { url: path = '', method, headers } = asked;
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.on('error', () => answer.destroy()).pipe(answer);
    });
    answer.once('close', () => onward.destroy());
    asked.pipe(onward.on('error', () => answer.destroy()));
  };
  const passStream = (asked: IncomingMessage, answer: ServerResponse) => {
    streams.add(answer.once('close', () => streams.delete(answer)));
    resumedAfter = asked.headers['last-event-id']?.toString();
    pass(asked, answer);
  };
  const server = createServer((asked, answer) => {
    if (!new URL(asked.url ?? '', 'http://localhost').pathname.endsWith('/live')) pass(asked, answer);
    else if (isCut) waiting.push(() => passStream(asked, answer));
    else passStream(asked, answer);
  });
  const { port: own, close } = await listen(server);
  return {
    url: `http://localhost:${String(own)}`,
    cut: () => {
      isCut = true;
      for (const answer of streams) answer.end();
    },
    open: () => {
      isCut = false;
      for (const goOn of waiting.splice(0)) goOn();
    },
    resumedAfter: () => resumedAfter,
    close,
  };
}
