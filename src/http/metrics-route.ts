import type { FastifyInstance } from 'fastify';

/** `/metrics`, for Prometheus. Outside the API and its keys, and without its headers; it holds no secrets. */
export function registerMetricsRoute(
  server: FastifyInstance,
  scrape: () => Promise<{ contentType: string; text: string }>,
): void {
  server.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await scrape();
    return reply.header('content-type', contentType).send(text);
  });
}
