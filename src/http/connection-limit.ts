import type { Server } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';

/** Descriptors kept for everything else: connections to our servers, logs, files of the process itself. */
const keptDescriptors = 256;
const leastConnections = 16;
const toldEveryMs = 60_000;

/** A connection may need a second descriptor, for the file that it carries. */
const connectionsOf = (descriptors: number): number =>
  Math.max(leastConnections, Math.floor((descriptors - keptDescriptors) / 2));

/**
 * Limits the connections of a server so that descriptors are left for the rest of the process. Node closes connections beyond
 * the limit; the log says so at most once a minute.
 *
 * @param maxOpenFiles of this process; undefined where it has no limit
 */
export function limitConnections(
  server: Server,
  {
    maxOpenFiles,
    logger,
    dropped,
  }: { maxOpenFiles: number | undefined; logger: FastifyBaseLogger; dropped: () => void },
): void {
  if (maxOpenFiles === undefined) return;
  server.maxConnections = connectionsOf(maxOpenFiles);
  let droppedSince = 0;
  let toldMs = -Infinity;
  server.on('drop', () => {
    dropped();
    droppedSince += 1;
    if (performance.now() - toldMs < toldEveryMs) return;
    const facts = { maxConnections: server.maxConnections, maxOpenFiles, dropped: droppedSince };
    logger.warn(
      facts,
      'there are more connections than descriptors allow, and more are closed; raise the limit of open files',
    );
    toldMs = performance.now();
    droppedSince = 0;
  });
}
