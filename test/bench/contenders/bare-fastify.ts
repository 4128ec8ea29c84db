/** What Fastify alone can do: a route that answers a fixed object. */
import Fastify from 'fastify';

const server = Fastify();
server.get('/*', () => ({ success: true, data: { status: 'queued' } }));
console.log(JSON.stringify({ url: await server.listen({ port: 0, host: '127.0.0.1' }) }));
