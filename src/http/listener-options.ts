import { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { proxiesOf } from '../requests/client-address.ts';
import { pathOfTarget } from '../requests/target.ts';
import { ownRequestIds } from './request-id.ts';

export const bodyLimitBytes = 16 * 1024;

interface Listener {
  logger: FastifyBaseLogger;
  newUuid: () => string;
  /** Addresses or networks whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
}

/** What every listener of the service has: the same limits, and names of its own for requests. */
export const listenerOptions = ({ logger, newUuid, trustedProxies }: Listener) => ({
  loggerInstance: logger,
  logController: new LogController({ disableRequestLogging: true }),
  ...ownRequestIds(newUuid),
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
});

/**
 * Lets a listener answer clients that have closed their writing side. Node would close its own side in return, before a handler
 * that waits for anything has answered, and has no option for it but this property of its server.
 */
export function answerHalfClosed({ server }: FastifyInstance): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}
