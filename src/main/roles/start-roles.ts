import { setImmediate } from 'node:timers/promises';
import { sendError } from '../../http/envelope.ts';
import { ApiError } from '../../http/errors.ts';
import { registerHealthRoutes } from '../../http/health.ts';
import { createListener, requireTargets } from '../../http/listener.ts';
import { RequestRefused } from '../../requests/request-refused.ts';
import { newUuid } from '../../system/clock-and-chance.ts';
import type { Connections } from '../connect.ts';
import { listen } from '../listen.ts';
import { createReadiness } from '../readiness.ts';
import type { Role, RunningRole, StartRole } from './role.ts';

/** Each role is loaded only where it runs. */
const loading: Record<Role, () => Promise<StartRole>> = {
  api: async () => (await import('./api.ts')).startApi,
  projector: async () => (await import('./projector.ts')).startProjector,
  dispatcher: async () => (await import('./dispatcher.ts')).startDispatcher,
  worker: async () => (await import('./worker.ts')).startWorker,
};

/** Loads the code of all roles, one by one, so that what else the start does goes on in between. */
export async function loadRoles(): Promise<void> {
  for (const load of Object.values(loading)) {
    await setImmediate();
    await load();
  }
}

export async function startRole(role: Role, ...given: Parameters<StartRole>): Promise<RunningRole> {
  const start = await loading[role]();
  return await start(...given);
}

/** Health checks and metrics of a role without an API. */
export async function startHealthServer(connections: Connections): Promise<RunningRole> {
  const { logger, limitConnections, metrics } = connections;
  const { HOST: host, HEALTH_PORT: port, TRUSTED_PROXIES: trustedProxies } = connections.config;
  const server = createListener({ logger, newUuid, trustedProxies }, { exposeHeadRoutes: true });
  limitConnections(server.server, 'health');
  requireTargets(server);
  server.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof RequestRefused)) throw error;
    return sendError(reply, new ApiError('invalid_request', error.message));
  });
  registerHealthRoutes(server, { readiness: createReadiness(connections), scrape: () => metrics.scrape() });
  const url = await listen(server, { host, port, setting: 'HEALTH_PORT' });
  return { url, close: () => server.close() };
}
