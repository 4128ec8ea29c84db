import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestUpstream,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { EgressObserver } from '../../ports/observers.ts';
import { type Destination, type EgressGuard, EgressRefused } from './connection-guard.ts';
import { type Egress, type Permit, Permits } from './credentials.ts';
import { OutgoingRouteFailed } from './outgoing-route.ts';

export interface EgressProxy extends Egress {
  close(): Promise<void>;
}

export interface EgressProxyOptions {
  guard: EgressGuard;
  /** Default: a listener on a free port of the loopback address. */
  listener?: Server | undefined;
  observer?: EgressObserver;
  /** For all children together, authenticated or not; 2,048 at most. */
  maxConnections?: number | undefined;
  /** A connection that is idle for so long is ended. */
  idleMs?: number;
  /** The same for a client that has not shown an attempt's credential. */
  unauthenticatedMs?: number;
}

const defaultIdleMs = 30_000;
const defaultUnauthenticatedMs = 5_000;
const mostConnections = 2_048;
const maxHeaderBytes = 32 * 1024;
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);
const authorityPattern = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253}):(\d{1,5})$/i;
/** Headers of one connection only (RFC 9110, section 7.6.1), and those of the proxy itself. */
const hopHeaders = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'http2-settings'],
];

/** Headers that are passed on: all but hop-by-hop headers, including those that `Connection` names. */
function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const declared = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const left = new Set([...hopHeaders, ...declared]);
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !left.has(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}

/** @returns a request target in absolute form; undefined for anything but a plain `http://host[:port]/…` */
function readTarget(text: string | undefined): URL | undefined {
  if (text === undefined || !/^http:\/\/[^/?#\\@\s]+(?:[/?][\x21-\x7e]*)?$/i.test(text) || !URL.canParse(text))
    return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' && url.hostname !== '' ? url : undefined;
}

function answer(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { ...headers, 'Content-Length': '0', Connection: 'close' });
  response.end();
}

function answerTunnel(socket: Duplex, status: 400 | 403 | 407 | 429 | 502, header = ''): void {
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`;
  socket.end(`${line}\r\n${header}Content-Length: 0\r\nConnection: close\r\n\r\n`);
}

interface Proxy {
  guard: EgressGuard;
  permits: Permits;
  idleMs: number;
  callers: Callers;
}

/** The open connections to the proxy. Node's server counts and ends only those that it has accepted itself. */
class Callers {
  readonly #sockets = new Map<Duplex, NodeJS.Timeout>();
  readonly #unauthenticatedMs: number;

  constructor(unauthenticatedMs: number) {
    this.#unauthenticatedMs = unauthenticatedMs;
  }

  take(socket: Socket): void {
    const timer = setTimeout(() => socket.destroy(), this.#unauthenticatedMs);
    this.#sockets.set(socket, timer);
    socket.once('close', () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    });
  }

  /** Marks a client as authenticated. */
  know(socket: Duplex): void {
    clearTimeout(this.#sockets.get(socket));
  }

  end(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }
}

/** The permit of a request; its client is authenticated from then on. */
function permitOf({ permits, callers }: Proxy, request: IncomingMessage): Permit | undefined {
  const permit = permits.of(request);
  if (permit !== undefined) callers.know(request.socket);
  return permit;
}

/** @returns the connection, or the status of the refusal */
async function reach(
  { guard, permits, idleMs }: Proxy,
  permit: Permit,
  { host, port }: Destination,
): Promise<Socket | 403 | 429 | 502> {
  if (!permits.hasRoom(permit)) return 429;
  permit.opening += 1;
  try {
    const upstream = await guard.connect(host, port, undefined, permit.platform);
    if (permit.closed) {
      upstream.destroy();
      return 502;
    }
    upstream.on('error', () => upstream.destroy());
    upstream.setTimeout(idleMs, () => upstream.destroy());
    permits.meter(permit, upstream);
    return upstream;
  } catch (error) {
    if (error instanceof OutgoingRouteFailed) permit.usage.routeFailures += 1;
    if (!(error instanceof EgressRefused)) return 502;
    permits.refuse(permit);
    return 403;
  } finally {
    permit.opening -= 1;
  }
}

async function forward(proxy: Proxy, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const permit = permitOf(proxy, request);
  if (permit === undefined) {
    answer(response, 407, { 'Proxy-Authenticate': 'Basic realm="reeltally"' });
    return;
  }
  const url = readTarget(request.url);
  if (url === undefined || !methods.has(request.method ?? '')) {
    proxy.permits.refuse(permit, 'request');
    answer(response, 400);
    return;
  }
  const reached = await reach(proxy, permit, { host: url.hostname, port: Number(url.port || 80) });
  if (typeof reached === 'number') {
    answer(response, reached);
    return;
  }
  response.once('close', () => reached.destroy());
  const upstream = requestUpstream({
    method: request.method,
    path: `${url.pathname}${url.search}`,
    // The request target decides about the host; another Host header is not passed on.
    headers: { ...endToEnd(request.headers), host: url.host },
    createConnection: () => reached,
    maxHeaderSize: maxHeaderBytes,
  });
  const failed = Promise.withResolvers<never>();
  upstream.once('error', failed.reject);
  upstream.once('upgrade', (_message, socket) => socket.destroy());
  const answered = new Promise<IncomingMessage>((resolve) => upstream.once('response', resolve));
  const sent = pipeline(request, upstream);
  // A response that comes before the whole request is read ends the request.
  sent.catch(() => undefined);
  const message = await Promise.race([answered, failed.promise]);
  response.writeHead(message.statusCode ?? 502, endToEnd(message.headers));
  await pipeline(message, response);
}

async function tunnel(
  proxy: Proxy,
  request: IncomingMessage,
  { socket, head }: { socket: Duplex; head: Buffer },
): Promise<void> {
  const permit = permitOf(proxy, request);
  if (permit === undefined) {
    answerTunnel(socket, 407, 'Proxy-Authenticate: Basic realm="reeltally"\r\n');
    return;
  }
  const [, host, port] = authorityPattern.exec(request.url ?? '') ?? [];
  if (host === undefined || Number(port) > 65_535) {
    proxy.permits.refuse(permit, 'request');
    answerTunnel(socket, 400);
    return;
  }
  const reached = await reach(proxy, permit, { host, port: Number(port) });
  if (typeof reached === 'number') {
    answerTunnel(socket, reached);
    return;
  }
  socket.once('close', () => reached.destroy());
  reached.once('close', () => socket.destroy());
  socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  if (head.length > 0) reached.write(head);
  socket.pipe(reached);
  reached.pipe(socket);
}

/**
 * Starts the proxy for all traffic of children: CONNECT, and plain HTTP in absolute form. It does nothing without the credential
 * of a running attempt, and reaches only destinations that the guard allows.
 */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const { guard, observer } = options;
  const idleMs = options.idleMs ?? defaultIdleMs;
  const permits = new Permits(observer);
  const callers = new Callers(options.unauthenticatedMs ?? defaultUnauthenticatedMs);
  const proxy: Proxy = { guard, permits, idleMs, callers };
  const server = createServer({ maxHeaderSize: maxHeaderBytes, insecureHTTPParser: false, noDelay: true });

  server.on('request', (request, response) => {
    response.on('error', () => undefined);
    forward(proxy, request, response).catch(() => answer(response, 502));
  });
  server.on('connect', (request, socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    tunnel(proxy, request, { socket, head }).catch(() => socket.destroy());
  });
  server.on('upgrade', (_request, socket) => socket.destroy());
  server.on('checkExpectation', (_request, response) => answer(response, 417));
  server.on('clientError', (_error, socket) => socket.destroy());
  // Later than the upstream timeout, so that the upstream decides how the connection ends.
  server.setTimeout(idleMs + 5_000, (socket) => socket.destroy());

  const listener = options.listener ?? server;
  listener.maxConnections = Math.min(mostConnections, options.maxConnections ?? mostConnections);
  listener.on('connection', (socket: Socket) => callers.take(socket));
  if (options.listener === undefined) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  } else {
    options.listener.on('connection', (socket: Socket) => server.emit('connection', socket));
  }
  const { port } = listener.address() as AddressInfo;
  return {
    admit: (attempt) => permits.admit(attempt, (credentials) => `http://${credentials}@127.0.0.1:${port}`),
    async close() {
      const closed = new Promise((resolve) => listener.close(resolve));
      callers.end();
      await closed;
    },
  };
}
