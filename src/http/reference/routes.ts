import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { pageHeaders } from '../browser-page.ts';
import { readExamples } from './examples.ts';
import { createOpenApi } from './openapi.ts';
import { renderPage } from './reference-page.ts';

/** The reference, for programs and for people. It stands outside the API: no key, none of its headers. */
export function registerReferenceRoutes(server: FastifyInstance, options: { version: string; origin: string }): void {
  const document = createOpenApi({ version: options.version, examples: readExamples() });
  // As bytes, so that the media type stays without a charset, which JSON does not have.
  const json = Buffer.from(JSON.stringify(document));
  const page = renderPage(document, options.origin);
  const headers = pageHeaders(scriptHash(page));

  server.get('/openapi.json', (_request, reply) => inHalfAMinute(reply).type('application/json').send(json));
  server.get('/docs', (_request, reply) => inHalfAMinute(reply).headers(headers).send(page));
}

/** Hash of the page's one script: of the text between its tags. */
function scriptHash(page: string): string {
  const script = page.slice(page.indexOf('<script>') + '<script>'.length, page.lastIndexOf('</script>'));
  return `sha256-${hash('sha256', script, 'base64')}`;
}

/** After an upgrade, readers see the new reference half a minute later at most. */
function inHalfAMinute(reply: FastifyReply): FastifyReply {
  return reply.header('Cache-Control', 'public, max-age=30');
}
