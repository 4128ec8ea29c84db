import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { listen } from './listen.ts';

export interface OutgoingProxyOfTest extends AsyncDisposable {
  host: string;
  port: number;
  /** With its user and password. */
  url: string;
  /** Each `CONNECT` that showed the credentials: its target, and the address that it came from. */
  asked: { target: string; from: string }[];
}

const credentials = 'operator:pr0xy-s3cret';
/** What no log, event or process list may hold. */
export const proxySecret = 'pr0xy-s3cret';
export const proxyAuthorization = `Basic ${Buffer.from(credentials).toString('base64')}`;

/**
 * A forward proxy as operators rent one: CONNECT alone, with user and password.
 *
 * @param answer the status in place of a tunnel; undefined opens one
 * @param leadTo where its tunnels end instead of at their targets, since tests reach no public address
 */
export async function startOutgoingProxy({
  answer,
  leadTo,
}: { answer?: number; leadTo?: number } = {}): Promise<OutgoingProxyOfTest> {
  const asked: OutgoingProxyOfTest['asked'] = [];
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on('connect', (request, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    if (request.headers['proxy-authorization'] !== proxyAuthorization) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="test"\r\n\r\n');
      return;
    }
    const target = request.url ?? '';
    asked.push({ target, from: socket.remoteAddress ?? '' });
    if (answer !== undefined) {
      socket.end(`HTTP/1.1 ${String(answer)} No\r\n\r\n`);
      return;
    }
    const upstream = connect(leadTo ?? Number(target.slice(target.lastIndexOf(':') + 1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  });
  const { port, close } = await listen(server);
  return {
    host: '127.0.0.1',
    port,
    url: `http://${credentials}@127.0.0.1:${String(port)}`,
    asked,
    [Symbol.asyncDispose]: close,
  };
}
