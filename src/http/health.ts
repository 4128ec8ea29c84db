import type { FastifyInstance } from 'fastify';

interface Health {
  readiness: () => Promise<{ ready: boolean; parts: Record<string, string> }>;
  scrape: () => Promise<{ contentType: string; text: string }>;
}

/**
 * `/healthz`: the event loop runs. `/readyz`: the servers that the process needs answer. `/metrics`, for Prometheus, holds no
 * secrets. All are outside the API and its keys, and without its headers. Some monitors ask with HEAD.
 */
export function registerHealthRoutes(server: FastifyInstance, { readiness, scrape }: Health): void {
  server.get('/healthz', { exposeHeadRoute: true }, (_request, reply) => reply.send({ status: 'ok' }));
  server.get('/readyz', { exposeHeadRoute: true }, async (_request, reply) => {
    const { ready, parts } = await readiness();
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', ...parts });
  });
  server.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await scrape();
    return reply.header('content-type', contentType).send(text);
  });
}
