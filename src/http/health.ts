import type { FastifyInstance } from 'fastify';

/**
 * `/healthz`: the event loop runs. `/readyz`: the servers that the process needs answer. Outside the API and its keys. Some
 * monitors ask with HEAD.
 */
export function registerHealthRoutes(
  server: FastifyInstance,
  readiness: () => Promise<{ ready: boolean; parts: Record<string, string> }>,
): void {
  server.get('/healthz', { exposeHeadRoute: true }, (_request, reply) => reply.send({ status: 'ok' }));
  server.get('/readyz', { exposeHeadRoute: true }, async (_request, reply) => {
    const { ready, parts } = await readiness();
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', ...parts });
  });
}
