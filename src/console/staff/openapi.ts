import type { JsonSchema, OpenApiDocument, Response } from '../../openapi/document.ts';
import {
  contentOf,
  type DescribedOperation,
  DocumentSchemas,
  objectOf,
  parametersOf,
  writeDocument,
} from '../../openapi/write-document.ts';
import { apiBase, type Endpoint, jsonEndpoints, staffApiErrors } from './json-endpoints.ts';

const description =
  'The data that staff read in their console, as JSON for programs. Every answer is `{"success": true, "data": …}` or `{"success": false, "error": {"code", "message"}}`: decide by `code`. New fields may appear at any time. Whenever an answer has personal data, the log records whose token has read them.';

/** The API of staff as OpenAPI 3.1, from the list of endpoints and the schemas of their views. */
export function createStaffOpenApi(version: string): OpenApiDocument {
  return writeDocument({
    info: { title: 'Reeltally, API of staff', version, description },
    server: { url: apiBase },
    token: { name: 'token', description: 'A request carries a token of staff: `Authorization: Bearer <token>`.' },
    operations: jsonEndpoints.map(describe),
  });
}

const schemas = new DocumentSchemas();

function describe({ method, path, scope, role, operationId, summary, input, shown }: Endpoint): DescribedOperation {
  const given = schemas.of(input, 'input');
  const isInPath = (name: string) => path.includes(`{${name}}`);
  const isInBody = (name: string) => method === 'POST' && !isInPath(name);
  return {
    method,
    path,
    operationId,
    summary,
    description: `A token needs the scope \`${scope}\`${role === 'support' ? '' : `, and its person the role *${role}*`}.`,
    parameters: parametersOf(given, (name) => {
      if (isInBody(name)) return undefined;
      return isInPath(name) ? 'path' : 'query';
    }),
    body: method === 'POST' ? { required: true, schema: bodyOf(given, isInBody) } : undefined,
    responses: {
      200: answerOf(summary, objectOf({ success: { type: 'boolean' }, data: schemas.of(shown, 'output') })),
      ...errorResponses,
    },
  };
}

function bodyOf({ properties = {}, required = [] }: JsonSchema, isInBody: (name: string) => boolean): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isInBody(name))),
    required: required.filter(isInBody),
  };
}

const answerOf = (text: string, schema: JsonSchema): Response => ({ description: text, content: contentOf(schema) });

const errorResponses = Object.fromEntries(
  Object.entries(staffApiErrors)
    // No operation answers it: it is about methods that are none.
    .filter(([code]) => code !== 'method_not_allowed')
    .map(([code, { status, message }]) => {
      const error = objectOf({ code: { type: 'string', enum: [code] }, message: { type: 'string' } });
      return [String(status), answerOf(message, objectOf({ success: { type: 'boolean' }, error }))];
    }),
);
