import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { listen } from '../support/listen.ts';

/** One server with the names of several hosts of platforms, and a `connect` that leads there whatever is asked for. */
export interface ShortLinkHosts extends AsyncDisposable {
  connect: (host: string, port: number) => Promise<Socket>;
  /** The hosts and ports that were connected to, in order. */
  connections: string[];
  /** The addresses that were asked for, in order. */
  requests: string[];
  /** Connections that are open now. */
  open: () => Promise<number>;
  certificateAuthorities: string;
}

/**
 * The certificate is its own authority, is good for vm.tiktok.com, www.tiktok.com, pin.it, api.pinterest.com and
 * www.pinterest.com, and belongs to these tests alone.
 */
const pem = readFileSync(new URL('short-link-hosts.pem', import.meta.url), 'utf8');

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** @param answers what each address answers, by host and path; 404 for any other */
export async function startShortLinkHosts(answers: Readonly<Record<string, Answer>>): Promise<ShortLinkHosts> {
  const connections: string[] = [];
  const requests: string[] = [];
  const server = createServer({ cert: pem, key: pem }, (request, response) => {
    const address = `${request.headers.host ?? ''}${request.url ?? ''}`;
    requests.push(`${request.method ?? ''} ${address}`);
    const answer = answers[address];
    if (answer) answer(response, request);
    else response.writeHead(404).end();
  });
  const { port, close } = await listen(server);
  return {
    connections,
    requests,
    certificateAuthorities: pem,
    connect: async (host, wantedPort) => {
      connections.push(`${host}:${wantedPort}`);
      const socket = connect({ host: '127.0.0.1', port });
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      return socket;
    },
    open: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    [Symbol.asyncDispose]: close,
  };
}

export const redirectTo =
  (location: string, status = 302): Answer =>
  (response) => {
    response.writeHead(status, { location }).end();
  };
