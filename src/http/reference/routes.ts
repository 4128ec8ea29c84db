import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { pageHeaders } from '../browser-page.ts';
import { readExamples } from './examples.ts';
import { createOpenApi } from './openapi.ts';
import { renderPage } from './reference-page.ts';

interface Reference {
  json: Buffer;
  page: string;
  headers: Record<string, string>;
}

/**
 * The reference, for programs and for people. It stands outside the API: no key, none of its headers. It is made for its first
 * reader, so that the start does not wait for it.
 */
export function registerReferenceRoutes(
  server: FastifyInstance,
  options: { version: string; origin: () => string },
): void {
  let made: Reference | undefined;
  const reference = () => (made ??= makeReference(options.version, options.origin()));
  server.get('/openapi.json', (_request, reply) =>
    inHalfAMinute(reply).type('application/json').send(reference().json),
  );
  server.get('/docs', (_request, reply) => inHalfAMinute(reply).headers(reference().headers).send(reference().page));
}

function makeReference(version: string, origin: string): Reference {
  const document = createOpenApi({ version, examples: readExamples() });
  const page = renderPage(document, origin);
  // As bytes, so that the media type stays without a charset, which JSON does not have.
  return { json: Buffer.from(JSON.stringify(document)), page, headers: pageHeaders(scriptHash(page)) };
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
