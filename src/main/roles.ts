import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger } from 'fastify';
import { registerHealthRoutes } from '../http/health.ts';
import { registerMetricsRoute } from '../http/metrics-route.ts';
import { createReadiness } from './connect.ts';
import type { Connections } from './connect.ts';
import { listen } from './listen.ts';
import type { Role, RunningRole, StartRole } from './role.ts';
import { startApi } from './roles/api.ts';
import { startDispatcher } from './roles/dispatcher.ts';
import { startProjector } from './roles/projector.ts';
import { startWorker } from './roles/worker.ts';

/** In the order in which a download meets them; they stop in the same order. */
export const startRole: Record<Role, StartRole> = {
  api: startApi,
  projector: startProjector,
  dispatcher: startDispatcher,
  worker: startWorker,
};

/** For a role that serves nothing else. */
export async function startHealthServer(connections: Connections): Promise<RunningRole> {
  const logger: FastifyBaseLogger = connections.logger;
  const server = Fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) });
  registerHealthRoutes(server, createReadiness(connections));
  registerMetricsRoute(server, () => connections.metrics.scrape());
  const { HOST: host, HEALTH_PORT: port } = connections.config;
  const url = await listen(server, { host, port, setting: 'HEALTH_PORT' });
  return { url, close: () => server.close() };
}
