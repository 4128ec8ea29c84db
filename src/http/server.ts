import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RequestObserver } from '../ports/observers.ts';
import type { Tracer } from '../ports/tracing.ts';
import { clientAddress } from '../requests/client-address.ts';
import { requireTarget } from '../requests/target.ts';
import { asApiError } from './as-api-error.ts';
import { type AuthenticateDependencies, createAuthenticate } from './authenticate.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { apiPrefix, endpoints } from './endpoints.ts';
import { sendError, sendErrorWithoutHooks } from './envelope.ts';
import { ApiError, errorsThatGiveBack, errorsThatMayPass } from './errors.ts';
import { giveBack } from './give-back-rate-limit.ts';
import type { AddressWindows } from './limit-of-callers-without-key.ts';
import { createListener, showRequestId } from './listener.ts';
import { noRoute } from './no-route.ts';
import { observeRequest } from './observe-request.ts';
import { PartsAway } from './retry-after.ts';
import { BrokenRequests } from './unparseable-request.ts';
import { noCredits, writeUsageHeaders } from './usage-headers.ts';

export interface ServerDependencies
  extends Omit<EndpointDependencies, 'partsAway'>, Omit<AuthenticateDependencies, 'partsAway'> {
  logger: FastifyBaseLogger;
  /** Addresses or networks whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  requests: RequestObserver;
  tracer?: Tracer | undefined;
}

/**
 * The JSON API. A request passes, in this order: route and method (404, 405), its address (400), key (401), rate (429), then its
 * endpoint: input (400), quota (402), upstream (502).
 */
export function createServer(given: ServerDependencies): FastifyInstance {
  const partsAway = new PartsAway(() => performance.now());
  const dependencies = { ...given, partsAway };
  const { logger, addresses, trustedProxies, newUuid, requests, tracer } = dependencies;
  const brokenRequests = new BrokenRequests({ addresses, requests, newUuid, logger });
  const server = createListener(
    { logger, newUuid, trustedProxies },
    {
      forceCloseConnections: 'idle',
      frameworkErrors: (_error, request, reply) => {
        request.arrivedMs = performance.now();
        showRequestId(request, reply);
        observeRequest(request, reply, { requests, tracer });
        request.usageHeaders = { window: addresses.show(clientAddress(request)), creditsRemaining: noCredits };
        writeUsageHeaders(reply, request.usageHeaders);
        void sendErrorWithoutHooks(reply, new ApiError('not_found'));
      },
      clientErrorHandler: (error, socket) => {
        brokenRequests.answer(error, socket);
      },
    },
  );

  decorateRequests(server);
  brokenRequests.watch(server.server);

  server.addHook('onRequest', (request, reply, done) => {
    request.arrivedMs = performance.now();
    showRequestId(request, reply);
    observeRequest(request, reply, { requests, tracer });
    if (request.method === 'POST') hideMediaType(request);
    // Before the body: an unknown path or a wrong method is answered as such, whatever else is wrong.
    if (request.is404) answerNoRoute(request, reply, addresses);
    else {
      requireTarget(request.raw);
      done();
    }
  });
  server.addHook('onSend', (request, reply, _payload, done) => {
    if (request.usageHeaders) writeUsageHeaders(reply, request.usageHeaders);
    done();
  });
  answerAllBeforeTheEnd(server, dependencies);

  const authenticate = createAuthenticate(dependencies);
  for (const { method, path, handler, reference: _, ...config } of endpoints) {
    server.route({
      method,
      url: apiPrefix + path,
      onRequest: authenticate,
      handler: handler(dependencies),
      config,
    });
  }
  server.setNotFoundHandler((request, reply) => answerNoRoute(request, reply, addresses));
  server.setErrorHandler(answerError(dependencies));
  // Node would answer an expectation that it does not know by itself, without the envelope; it may be ignored (RFC 9110 §10.1.1).
  server.server.on('checkExpectation', (request, response) => {
    server.routing(request, response);
  });
  return server;
}

/** While the server closes, no poll waits any more, and each connection ends with the answer that is under way. */
function answerAllBeforeTheEnd(
  server: FastifyInstance,
  { waitingPolls }: Pick<ServerDependencies, 'waitingPolls'>,
): void {
  let isClosing = false;
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close');
    done();
  });
  server.addHook('preClose', (done) => {
    isClosing = true;
    waitingPolls.stop();
    done();
  });
}

/** Declares our own properties of a request: see `caller.ts`. */
function decorateRequests(server: FastifyInstance): void {
  server.decorateRequest('caller', null);
  server.decorateRequest('place', undefined);
  server.decorateRequest('isPlaceOpen', false);
  server.decorateRequest('usageHeaders', null);
  server.decorateRequest('arrivedMs', 0);
  server.decorateRequest('pollToken', undefined);
  server.decorateRequest('idempotencyKeyHash', undefined);
  server.decorateRequest('errorCode', undefined);
  server.decorateRequest('countedKey', undefined);
  server.decorateRequest('traceparent', undefined);
}

/** Fastify refuses a malformed media type by itself, before key and rate. Endpoints read it from `request.raw` instead. */
function hideMediaType(request: FastifyRequest): void {
  request.headers = { 'content-type': undefined };
}

function answerNoRoute(request: FastifyRequest, reply: FastifyReply, addresses: AddressWindows): FastifyReply {
  request.usageHeaders = { window: addresses.show(clientAddress(request)), creditsRemaining: noCredits };
  const { error, allow } = noRoute(request.url);
  if (allow !== undefined) reply.header('allow', allow);
  return sendError(reply, error);
}

const asksToRepeat = ({ code, failure }: ApiError): boolean =>
  errorsThatMayPass.has(code) && failure?.retryable !== false;

function answerError({ addresses, admissions, partsAway }: AuthenticateDependencies) {
  return async (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    request.usageHeaders ??= { window: addresses.show(clientAddress(request)), creditsRemaining: noCredits };
    const known = asApiError(error, request);
    if (!known) request.log.error({ err: error }, 'a request failed inside the service');
    const answered = known ?? new ApiError('internal_error');
    if (asksToRepeat(answered)) {
      reply.header('retry-after', String(answered.away ? partsAway.missed(answered.away) : 1));
    }
    if (errorsThatGiveBack.has(answered.code)) await giveBack(request, admissions);
    return sendError(reply, answered);
  };
}
