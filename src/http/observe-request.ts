import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestObserver } from '../ports/observers.ts';
import type { Span, Tracer } from '../ports/tracing.ts';
import { apiPrefix } from './endpoints.ts';

/** Reports the end of every request, also of one whose connection was cut without an answer. */
export function observeRequest(
  request: FastifyRequest,
  { raw }: FastifyReply,
  { requests, tracer }: { requests: RequestObserver; tracer: Tracer | undefined },
): void {
  const span = tracer && startSpan(tracer, request);
  request.traceparent = span?.traceparent;
  raw.once('close', () => {
    const { method, arrivedMs, errorCode, countedKey: key } = request;
    const status = raw.writableFinished ? raw.statusCode : undefined;
    requests.requestEnded({
      method,
      route: request.is404 ? undefined : request.routeOptions.url,
      status,
      errorCode,
      key,
      durationSeconds: (performance.now() - arrivedMs) / 1000,
    });
    span?.end({
      // Errors of the client are no failures of the service.
      errorType: status === undefined ? 'cut' : status >= 500 ? errorCode : undefined,
      ...(status !== undefined && { attributes: { 'http.response.status_code': status } }),
    });
  });
}

/**
 * Traces requests to the API. Each begins a new trace: a `traceparent` from outside is not trusted.
 */
function startSpan(tracer: Tracer, { is404, method, routeOptions: { url } }: FastifyRequest): Span | undefined {
  if (is404 || !url?.startsWith(apiPrefix)) return undefined;
  return tracer.start(`${method} ${url}`, {
    kind: 'server',
    attributes: { 'http.request.method': method, 'http.route': url },
  });
}
