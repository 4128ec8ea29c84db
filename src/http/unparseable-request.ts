import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import type { RequestObserver } from '../ports/observers.ts';
import { errorEnvelope, mediaType } from './envelope.ts';
import { ApiError } from './errors.ts';
import type { AddressWindows } from './limit-of-callers-without-key.ts';
import { requestIdField } from './listener.ts';
import { type NoRoute, noRoute } from './no-route.ts';
import { noCredits, usageHeaders } from './usage-headers.ts';

/** Node's error for bytes that it cannot parse. */
interface ParseError extends Error {
  code?: string;
  rawPacket?: unknown;
  /** Where in the packet it stopped. */
  bytesParsed?: number;
}

interface BrokenRequestsOptions {
  addresses: AddressWindows;
  requests: RequestObserver;
  newUuid: () => string;
  logger: FastifyBaseLogger;
}

/**
 * Answers, in the envelope, bytes that Node cannot parse as a request. While another request of the connection still waits for
 * its answer, nothing is sent: the client would take it for that answer, although the request may have been charged.
 */
export class BrokenRequests {
  readonly #options: BrokenRequestsOptions;
  /** The newest answer of each connection; answers leave in the order of their requests. */
  readonly #newest = new WeakMap<Duplex, ServerResponse>();

  constructor(options: BrokenRequestsOptions) {
    this.#options = options;
  }

  watch(server: Server): void {
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#newest.set(request.socket, response);
    });
    // A tunnel, which is for no path of ours: Node would close the connection without an answer.
    server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
      socket.on('error', () => undefined);
      if (this.#owesAnswer(socket)) socket.destroy();
      else this.#answer(socket, { error: new ApiError('method_not_allowed'), allow: 'GET, POST' });
    });
  }

  /** @param error why Node made no request of it */
  answer(error: ParseError, socket: Socket): void {
    // Bytes after a request that was to be the last one: its answer is on the way, and closes the connection.
    if (error.code === 'HPE_CLOSED_CONNECTION') return;
    if (error.code === 'ECONNRESET' || !socket.writable || this.#owesAnswer(socket)) socket.destroy();
    else this.#answer(socket, refusalOf(error));
  }

  /** True once a request is complete, or its answer has begun, until the answer has left. */
  #owesAnswer(socket: Duplex): boolean {
    const newest = this.#newest.get(socket);
    if (!newest || newest.writableFinished) return false;
    const waitsForAnother = newest.socket === null;
    return newest.req.complete || newest.headersSent || waitsForAnother;
  }

  #answer(socket: Duplex, { error, allow }: NoRoute): void {
    const { addresses, requests, newUuid, logger } = this.#options;
    const { code, status } = error;
    const id = newUuid();
    const body = JSON.stringify(errorEnvelope(error));
    const address = socket instanceof Socket ? socket.remoteAddress : undefined;
    const window = addresses.show(address ?? '');
    const headers = {
      'Content-Type': mediaType,
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
      [requestIdField]: id,
      ...(allow !== undefined && { Allow: allow }),
      ...(code === 'unavailable' && { 'Retry-After': '1' }),
      ...usageHeaders({ window, creditsRemaining: noCredits }),
    };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\n${head.join('')}\r\n${body}`);
    // Anybody can begin requests and not end them, which must not look like an outage.
    requests.brokenRequestAnswered({ status, errorCode: code === 'unavailable' ? undefined : code });
    logger.debug({ reqId: id, status, code }, 'bytes that are no request were answered');
  }
}

/**
 * A request line with a method that Node does not know is a request all the same. One that did not arrive in time is not called
 * wrong: when this process has stood still, Node looks at the time before it reads what has come meanwhile.
 */
function refusalOf({ code, rawPacket, bytesParsed = 0 }: ParseError): NoRoute {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { error: new ApiError('unavailable'), allow: undefined };
  if (code === 'HPE_INVALID_METHOD' && Buffer.isBuffer(rawPacket)) {
    const text = rawPacket.toString('latin1');
    const line = text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1).split('\r\n', 1)[0] ?? '';
    const [, url] = /^[!#$%&'*+.^_`|~\w-]+ (\S+) HTTP\/1\.[01]$/.exec(line) ?? [];
    if (url !== undefined) return noRoute(url);
  }
  return { error: new ApiError('invalid_request'), allow: undefined };
}
