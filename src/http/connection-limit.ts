import type { Server } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';

/** For servers of ours, their pools, logs and whatever else a process keeps open. */
const keptDescriptors = 256;
const leastConnections = 16;
const toldEveryMs = 60_000;

/** A connection may need a second descriptor, for the file that it carries. */
const connectionsOf = (descriptors: number): number =>
  Math.max(leastConnections, Math.floor((descriptors - keptDescriptors) / 2));

/**
 * Lets a server have only so many connections that descriptors are left for the rest of the process: Node closes what comes
 * beyond them. The log says so once a minute at most.
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
