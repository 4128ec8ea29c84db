import { createServer } from 'node:net';
import { listen } from './listen.ts';

/** A server that takes every connection and whatever it is sent, and never says a word. */
export interface SilentServer extends AsyncDisposable {
  port: number;
  /** True once anybody has connected. */
  hasCallers: () => boolean;
}

export async function startSilentServer(): Promise<SilentServer> {
  let callers = 0;
  const server = createServer((socket) => {
    callers += 1;
    socket.resume();
  });
  return { ...(await listen(server)), hasCallers: () => callers > 0 };
}
