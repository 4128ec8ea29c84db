import type { FastifyInstance } from 'fastify';
import { html } from '../documents/html.ts';
import { prefersPage, sendPage } from './browser-page.ts';
import { mediaType } from './envelope.ts';

const about = { name: 'Reeltally', summary: 'A metered video-download API', docs: '/docs', openapi: '/openapi.json' };

/** @param isDirect no proxy stands before the service: a proxy passes no health checks */
const contentFor = (isDirect: boolean) =>
  html`<p>${about.summary}: send the address of a video, and get a link to the file.</p>
    <p><a href="/console">Console</a>, for the people of an account: downloads, keys, usage and invoices</p>
    <p>
      <a href="${about.docs}">Docs</a>, for authors of clients: a guide, and an example for each endpoint. The same
      <a href="${about.openapi}">as OpenAPI</a>, for programs
    </p>
    ${isDirect && html`<p><a href="/readyz">Status</a>, for operators: whether the service and the servers behind it work</p>`}
    <p class="soft">If a link to a file brought you here, it is incomplete: copy the whole link.</p>`;

/** `/` introduces the service. Outside the API: no key, none of its headers. */
export function registerStartPage(server: FastifyInstance): void {
  const json = Buffer.from(JSON.stringify({ success: true, data: about }));
  server.route({
    method: ['GET', 'HEAD'],
    url: '/',
    handler: (request, reply) => {
      // `*` is no path, although the router takes it for this one.
      if (request.raw.url === '*') {
        reply.callNotFound();
        return reply;
      }
      reply.header('Vary', 'Accept');
      const isDirect = request.headers['x-forwarded-for'] === undefined;
      if (prefersPage(request)) return sendPage(reply, { title: about.name, content: contentFor(isDirect) });
      return reply.header('Content-Type', mediaType).send(json);
    },
  });
}
