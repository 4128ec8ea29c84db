import type { Server } from 'node:http';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { proxiesOf } from '../requests/client-address.ts';
import { pathOfTarget, requireTarget } from '../requests/target.ts';

export const bodyLimitBytes = 16 * 1024;

interface Listener {
  logger: FastifyBaseLogger;
  newUuid: () => string;
  /** Addresses or networks whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
}

const refuseSchema = (): never => {
  throw new Error('the input of a route is read by zod');
};

/**
 * What every listener of the service has: the same limits, and names of its own for requests. Bodies arrive as bytes: the routes
 * that take one read it.
 */
export function createListener(
  { logger, newUuid, trustedProxies }: Listener,
  more: FastifyHttpOptions<Server>,
): FastifyInstance {
  const server = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newUuid(),
    requestIdHeader: false,
    bodyLimit: bodyLimitBytes,
    // Slow heads and bodies: the time that a request may take to arrive.
    requestTimeout: 10_000,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    // Node would answer a missing Host by itself, without the envelope.
    http: { headersTimeout: 5_000, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    exposeHeadRoutes: false,
    rewriteUrl: pathOfTarget,
    trustProxy: trustedProxies.length > 0 ? proxiesOf(trustedProxies) : false,
    return503OnClosing: false,
    // Routes have no schemas of Fastify's, whose compilers are a large part of its code: they are loaded unless others are named.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    ...more,
  });
  // Clients that have closed their writing side are answered. Node would close its own side in return, before a handler that waits
  // for anything has answered, and has no option for it but this property of its server.
  Object.assign(server.server, { httpAllowHalfOpen: true });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  return server;
}

/** The name of a request in answers, logs (`reqId`) and events (`$correlationId`). It is ours: what a client sends is not read. */
export const requestIdField = 'X-Request-Id';

export function showRequestId({ id }: FastifyRequest, reply: FastifyReply): void {
  reply.header(requestIdField, id);
}

/** Names each request in its answer, and refuses one whose address cannot be read. */
export function requireTargets(server: FastifyInstance): void {
  server.addHook('onRequest', async (request, reply) => {
    showRequestId(request, reply);
    requireTarget(request.raw);
  });
}
