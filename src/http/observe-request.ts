import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestObserver } from '../commands/observers.ts';

/** Tells how a request ended, whichever way: a connection that was cut has no answer, and closes too. */
export function observeRequest(request: FastifyRequest, { raw }: FastifyReply, observer: RequestObserver): void {
  raw.once('close', () => {
    const { method, arrivedMs, errorCode } = request;
    observer.requestEnded({
      method,
      route: request.is404 ? undefined : request.routeOptions.url,
      status: raw.writableFinished ? raw.statusCode : undefined,
      errorCode,
      durationSeconds: (performance.now() - arrivedMs) / 1000,
    });
  });
}
