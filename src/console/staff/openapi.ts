import { z } from 'zod';
import { apiBase, type Endpoint, jsonEndpoints } from './json-endpoints.ts';
import { staffApiErrors } from './staff-api-errors.ts';

/** JSON Schema 2020-12, as far as the schemas of views go. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  enum?: unknown[];
  additionalProperties?: unknown;
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  parameters: { name: string; in: 'path' | 'query'; required: boolean; description: string; schema: JsonSchema }[];
  requestBody?: { required: true; content: Json };
  responses: Record<string, { description: string; content: Json }>;
}

interface Json {
  'application/json': { schema: JsonSchema };
}

export interface OpenApi {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Partial<Record<'get' | 'post', Operation>>>;
  components: { securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }> };
}

const description =
  'The data that staff read in their console, as JSON for programs. Every answer is `{"success": true, "data": …}` or `{"success": false, "error": {"code", "message"}}`: decide by `code`. New fields may appear at any time. Whenever an answer has personal data, the log records whose token has read them.';

/** The API of staff as OpenAPI 3.1, from the list of endpoints and the schemas of their views. */
export function createStaffOpenApi(version: string): OpenApi {
  const paths: OpenApi['paths'] = {};
  for (const endpoint of jsonEndpoints) {
    const method = endpoint.method === 'GET' ? 'get' : 'post';
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operationOf(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Reeltally, API of staff', version, description },
    servers: [{ url: apiBase }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A request carries a token of staff: `Authorization: Bearer <token>`.',
        },
      },
    },
  };
}

function operationOf({ method, path, scope, operationId, summary, input, shown }: Endpoint): Operation {
  const given = schemaOf(input, 'input');
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const isInBody = (name: string) => method === 'POST' && !inPath.includes(name);
  const fields = Object.entries(given.properties ?? {});
  const body = Object.fromEntries(fields.filter(([name]) => isInBody(name)));
  const required = given.required ?? [];
  return {
    ...{ operationId, summary, description: `A token needs the scope \`${scope}\`.` },
    parameters: fields
      .filter(([name]) => !isInBody(name))
      .map(([name, { description: text = '', ...schema }]) => ({
        ...{ name, in: inPath.includes(name) ? 'path' : 'query', description: text, schema },
        required: inPath.includes(name) || required.includes(name),
      })),
    ...(method === 'POST' && {
      requestBody: {
        required: true,
        content: json({
          ...{ type: 'object', properties: body, required: required.filter(isInBody) },
        }),
      },
    }),
    responses: {
      200: {
        description: summary,
        content: json(envelope({ success: { type: 'boolean' }, data: schemaOf(shown, 'output') })),
      },
      ...Object.fromEntries(
        Object.entries(staffApiErrors)
          // No operation answers it: it is about methods that are none.
          .filter(([code]) => code !== 'method_not_allowed')
          .map(([code, { status, message }]) => [
            String(status),
            { description: message, content: json(errorSchema(code)) },
          ]),
      ),
    },
  };
}

const json = (schema: JsonSchema): Json => ({ 'application/json': { schema } });

const envelope = (properties: Record<string, JsonSchema>): JsonSchema => ({
  ...{ type: 'object', properties, required: Object.keys(properties) },
});

const errorSchema = (code: string): JsonSchema =>
  envelope({
    success: { type: 'boolean' },
    error: envelope({ code: { type: 'string', enum: [code] }, message: { type: 'string' } }),
  });

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...converted } = z.toJSONSchema(schema, {
    io,
    // A text of an address may be read as something else that JSON Schema has no name for.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // Fields may be added one day, so the document does not forbid them; tests do.
      delete jsonSchema.additionalProperties;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return converted as JsonSchema;
}
