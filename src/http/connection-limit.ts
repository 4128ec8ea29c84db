import type { Server } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';

/** Descriptors kept for everything else: connections to our servers, logs, files of the process itself. */
const keptDescriptors = 256;
const leastConnections = 16;
const toldEveryMs = 60_000;
const endIdleEveryMs = 100;

/**
 * The listeners of a process: what part of the descriptors that are left each may take, and how many a connection of it needs. A
 * connection of the API may carry a file; one of the egress proxy is one to a platform too.
 */
const listeners = {
  api: { share: 1 / 2, descriptors: 2 },
  staff: { share: 1 / 8, descriptors: 1 },
  egress: { share: 1 / 4, descriptors: 2 },
  health: { share: 1 / 16, descriptors: 1 },
  samplePlatform: { share: 1 / 16, descriptors: 2 },
};
type ListenerName = keyof typeof listeners;

/**
 * @param maxOpenFiles descriptors of this process; undefined where it has no limit
 * @returns how many connections a listener may have; undefined for no limit
 */
export function connectionsOf(name: ListenerName, maxOpenFiles: number | undefined): number | undefined {
  if (maxOpenFiles === undefined) return undefined;
  const { share, descriptors } = listeners[name];
  return Math.max(leastConnections, Math.floor(((maxOpenFiles - keptDescriptors) * share) / descriptors));
}

interface ConnectionLimitOptions {
  /** Descriptors of this process; undefined where it has no limit. */
  maxOpenFiles: number | undefined;
  logger: FastifyBaseLogger;
  /** Called for each connection that is closed unserved. */
  dropped: () => void;
}

/**
 * The one limit for the listeners of a process: together they have fewer connections than descriptors are left by the rest of the
 * process. Each has a share of its own, so that none takes the connections of another. A listener that is full ends its idle
 * connections; Node ends those that send no request (`headersTimeout`), and closes what comes beyond the share. The log says so at
 * most once a minute for each.
 */
export const connectionLimit =
  ({ maxOpenFiles, logger, dropped }: ConnectionLimitOptions) =>
  (server: Server, listener: ListenerName): void => {
    const maxConnections = connectionsOf(listener, maxOpenFiles);
    if (maxConnections === undefined) return;
    server.maxConnections = maxConnections;
    endIdleWhenFull(server);
    let [toldMs, droppedSince] = [-Infinity, 0];
    server.on('drop', () => {
      dropped();
      droppedSince += 1;
      if (performance.now() - toldMs < toldEveryMs) return;
      logger.warn(
        { listener, maxConnections, maxOpenFiles, dropped: droppedSince },
        'there are more connections than descriptors allow, and more are closed; raise the limit of open files',
      );
      [toldMs, droppedSince] = [performance.now(), 0];
    });
  };

/** A client whose connection waits for its next request opens another one; one that was refused may not come back. */
function endIdleWhenFull(server: Server): void {
  let open = 0;
  let endedMs = -Infinity;
  // It looks at every connection: not for each one that comes while the listener is full.
  const endIdle = () => {
    if (performance.now() - endedMs < endIdleEveryMs) return;
    server.closeIdleConnections();
    endedMs = performance.now();
  };
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => (open -= 1));
    if (open >= server.maxConnections) endIdle();
  });
  // They may have become idle since the last place was taken.
  server.on('drop', endIdle);
}
