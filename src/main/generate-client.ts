/**
 * Writes the client's types from the API's document; with `--check` it only says whether they are up to date.
 * Run by `npm run generate:client` and `npm run check`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { format, resolveConfig } from 'prettier';
import { createOpenApi } from '../http/reference/openapi.ts';
import type { OpenApiDocument, Response } from '../openapi/document.ts';

const file = fileURLToPath(new URL('../client/paths.ts', import.meta.url));
const heading =
  '// Generated from the API’s OpenAPI document by `npm run generate:client`: edit the schemas in src/http instead.\n\n';

// Version, examples and requests do not show in the types, so that only a change of the API changes the file.
const document = createOpenApi({ version: '0.0.0', examples: [], shown: { origin: '', videoUrl: '' } });
// Nor do header fields of answers: a client reads them off the Response.
delete document.components.headers;
for (const response of responsesOf(document)) delete response.headers;
// A field with a default may be left out of a request.
const types = astToString(await openapiTS(document as unknown as OpenAPI3, { defaultNonNullable: false }));
const generated = await format(heading + types, { ...(await resolveConfig(file)), filepath: file });

if (!process.argv.includes('--check')) {
  writeFileSync(file, generated);
} else if (readFileSync(file, 'utf8') !== generated) {
  console.error('src/client/paths.ts is not what the API’s document says now: run `npm run generate:client`.');
  process.exitCode = 1;
}

function responsesOf({ paths, components }: OpenApiDocument): Response[] {
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const own = operations.flatMap(({ responses }) => Object.values(responses)).filter((one) => 'content' in one);
  return [...own, ...Object.values(components.responses ?? {})];
}
