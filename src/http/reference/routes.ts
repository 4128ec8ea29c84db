import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { PlanCatalogue } from '../../domain/plans.ts';
import { pageHeaders } from '../browser-page.ts';
import { readExamples } from './examples.ts';
import { docsDirectory, programsFolder, readGuide } from './guide.ts';
import { createOpenApi } from './openapi.ts';
import { videoElsewhere } from './page-requests.ts';
import { renderPage } from './reference-page.ts';

interface ReferenceOptions {
  version: string;
  origin: () => string;
  /** Address of the sample platform, if this service has one. */
  samplePlatformOrigin: string | undefined;
  plans: PlanCatalogue;
  /** The API key of the reader whose cookies these are, if the service knows it, as a demo does. */
  keyOfReader: (cookies: string | undefined) => Promise<string | undefined>;
}

interface Reference {
  json: Buffer;
  pageFor: (key: string | undefined) => string;
  headers: Record<string, string>;
}

/**
 * The reference, for programs and for people. It stands outside the API: no key, none of its headers. It is made for its first
 * reader, so that the start does not wait for it.
 */
export function registerReferenceRoutes(server: FastifyInstance, options: ReferenceOptions): void {
  let made: Reference | undefined;
  const reference = () => (made ??= makeReference(options));
  server.get('/openapi.json', (_request, reply) =>
    inHalfAMinute(reply).type('application/json').send(reference().json),
  );
  server.get('/docs', async (request, reply) => {
    const key = await options.keyOfReader(request.headers.cookie);
    const { headers, pageFor } = reference();
    const cached = key === undefined ? inHalfAMinute(reply) : reply.header('Cache-Control', 'no-store');
    return cached.header('Vary', 'Cookie').headers(headers).send(pageFor(key));
  });
  registerPrograms(server);
}

/** The whole client programs of docs/examples, as text to read or to save. */
function registerPrograms(server: FastifyInstance): void {
  const folder = new URL(programsFolder, docsDirectory);
  for (const name of readdirSync(folder).filter((each) => /\.(?:sh|py|ts)$/.test(each))) {
    server.get(`/docs/${programsFolder}${name}`, (_request, reply) =>
      inHalfAMinute(reply)
        .header('X-Content-Type-Options', 'nosniff')
        .type('text/plain; charset=utf-8')
        .send(readFileSync(new URL(name, folder))),
    );
  }
}

function makeReference({ version, origin, samplePlatformOrigin, plans }: ReferenceOptions): Reference {
  const videoUrl = samplePlatformOrigin === undefined ? videoElsewhere : `${samplePlatformOrigin}/watch/bars`;
  const shown = { origin: origin(), videoUrl };
  const document = createOpenApi({ version, examples: readExamples(), shown });
  const guide = readGuide(plans);
  const pageFor = (key: string | undefined) => renderPage({ document, guide, shown, key });
  const page = pageFor(undefined);
  return {
    // As bytes, so that the media type stays without a charset, which JSON does not have.
    json: Buffer.from(JSON.stringify(document)),
    pageFor: (key) => (key === undefined ? page : pageFor(key)),
    headers: pageHeaders(scriptHash(page)),
  };
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
