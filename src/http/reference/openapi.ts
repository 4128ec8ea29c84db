import type { Endpoint } from '../endpoint.ts';
import { apiPrefix, endpoints } from '../endpoints.ts';
import { type ApiErrorCode, apiErrors, errorsOfEveryEndpoint } from '../errors.ts';
import type { Example } from './examples.ts';
import type {
  ErrorResponse,
  Examples,
  Header,
  JsonSchema,
  OpenApiDocument,
  Operation,
  Parameter,
  Reference,
  Response,
} from './openapi-types.ts';
import { ReferenceSchemas } from './schemas.ts';

const description = `Send the address of a video and get its metadata, or a download to poll and, once it is done, a signed link to the file.

Every answer is JSON: \`{"success": true, "data": …}\`, or \`{"success": false, "error": {"code", "message"}}\`. Decide by \`code\`; \`message\` is for people and may change. New fields may appear in answers at any time.

A request is checked in this order: path and method (\`404\`, \`405\`), key (\`401\`), hourly limit (\`429\`), input (\`400\`), credits (\`402\`), and then whatever the request needs from elsewhere (\`502\`). Unknown fields and parameters are ignored.`;

const integerHeader = (text: string): Header => ({
  description: text,
  required: true,
  schema: { type: 'integer', minimum: 0 },
});

const usageHeaders: Record<string, Header> = {
  'X-RateLimit-Limit': integerHeader('Requests that this key may make in one hour.'),
  'X-RateLimit-Remaining': integerHeader('Requests left in the hour up to now.'),
  'X-RateLimit-Reset': integerHeader('When the oldest counted request leaves that hour, in Unix seconds.'),
  'X-Credits-Remaining': integerHeader('Download credits left in this billing period.'),
};
const requestId: Header = {
  description:
    'Id of the request, for questions about it; log lines and events carry the same id. The service always makes it itself.',
  required: true,
  schema: { type: 'string' },
};
const headersOfEveryAnswer = { ...usageHeaders, 'X-Request-Id': requestId };
const retryAfter: Header = {
  description: 'Seconds to wait before trying again; sent with 429, 502 and 503.',
  schema: { type: 'integer', minimum: 1 },
};

const preferenceApplied: Header = {
  description: 'With a status: the `wait` of `Prefer` that was applied, and `until=ended` if it was.',
  schema: { type: 'string' },
};

/**
 * The API as OpenAPI 3.1, from the list of endpoints, the schemas that read their input, and the table of errors.
 *
 * @param examples answers that a test got from the service
 */
export function createOpenApi(options: { version: string; examples: readonly Example[] }): OpenApiDocument {
  const schemas = new ReferenceSchemas();
  const responses: Record<string, ErrorResponse> = {};
  const paths: OpenApiDocument['paths'] = {};
  for (const endpoint of endpoints) {
    const method = endpoint.method === 'GET' ? 'get' : 'post';
    const examples = options.examples.filter(
      ({ request }) => request.method === endpoint.method && request.path === endpoint.path,
    );
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [method]: operationOf(endpoint, { schemas, responses, examples }),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Reeltally',
      version: options.version,
      summary: 'A metered video-download API',
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: apiPrefix, description: 'Where this document was read.' }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'Every request carries an API key: `Authorization: Bearer <key>`.',
        },
      },
      headers: { ...headersOfEveryAnswer, 'Retry-After': retryAfter, 'Preference-Applied': preferenceApplied },
      responses,
      schemas: schemas.named,
    },
  };
}

interface Context {
  schemas: ReferenceSchemas;
  /** The document's named responses: one for each set of codes that share a status. */
  responses: Record<string, ErrorResponse>;
  examples: readonly Example[];
}

function operationOf({ reference }: Endpoint, context: Context): Operation {
  const { operationId, summary, description, query, headers, body, success } = reference;
  const { schemas, examples } = context;
  // A malformed request is no example of a request; its answer is one of an answer.
  const wellFormed = examples.filter(({ response }) => response.status !== 400);
  const parameters = [
    ...(query ? parametersOf(schemas.ofInput(query), 'query') : []).map((parameter) => ({
      ...parameter,
      ...examplesOf(wellFormed, ({ request }) => request.query?.[parameter.name]),
    })),
    ...(headers ? parametersOf(schemas.ofInput(headers), 'header') : []),
  ];
  return {
    operationId,
    summary,
    description,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: body.required,
        content: {
          'application/json': {
            schema: schemas.ofInput(body.schema),
            ...examplesOf(wellFormed, ({ request }) => request.body),
          },
        },
      },
    }),
    responses: {
      [success.status]: {
        description: success.description,
        headers: headersOf(success.status, success.headers),
        content: {
          'application/json': {
            schema: envelope(true, { data: schemas.ofAnswer(success.data) }),
            ...examplesOf(examples, ({ response }) => (response.status === success.status ? response.body : undefined)),
          },
        },
      } satisfies Response,
      ...errorResponsesOf(reference.errors, context),
    },
  };
}

function parametersOf({ properties = {}, required = [] }: JsonSchema, place: Parameter['in']): Parameter[] {
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    description,
    schema,
  }));
}

function errorResponsesOf(own: readonly ApiErrorCode[], { responses, examples }: Context): Record<string, Reference> {
  // In the order of the table of errors, which is that of their statuses.
  const codes = (Object.keys(apiErrors) as ApiErrorCode[]).filter((code) =>
    [...errorsOfEveryEndpoint, ...own].includes(code),
  );
  const byStatus = Map.groupBy(codes, (code) => apiErrors[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, sameStatus]) => {
      const name = sameStatus.join('-or-');
      const response = (responses[name] ??= errorResponse(status, sameStatus));
      addExamples(response, examples, status);
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
}

function errorResponse(status: number, codes: readonly ApiErrorCode[]): ErrorResponse {
  const texts = Object.fromEntries(codes.map((code) => [code, apiErrors[code].message]));
  return {
    description: codes.map((code) => `\`${code}\`: ${apiErrors[code].message}.`).join(' '),
    headers: headersOf(status),
    content: {
      'application/json': {
        schema: envelope(false, {
          error: {
            type: 'object',
            properties: {
              code: { type: 'string', enum: [...codes], 'x-enumDescriptions': texts },
              message: { type: 'string' },
            },
            required: ['code', 'message'],
          },
        }),
      },
    },
    'x-errors': texts,
  };
}

/** Several operations may share a response; it has the examples of all. */
function addExamples({ content }: ErrorResponse, examples: readonly Example[], status: number): void {
  const media = content['application/json'];
  const more = examplesOf(examples, ({ response }) => (response.status === status ? response.body : undefined));
  if (more.examples) media.examples = { ...media.examples, ...more.examples };
}

/** Those that have something to show; a request that is sent twice is shown once. */
function examplesOf(examples: readonly Example[], shown: (example: Example) => unknown): { examples?: Examples } {
  const found = new Map<string, [string, { summary: string; value: unknown }]>();
  for (const example of examples) {
    const value = shown(example);
    const text = JSON.stringify(value);
    if (value !== undefined && !found.has(text)) found.set(text, [example.name, { summary: example.summary, value }]);
  }
  return found.size === 0 ? {} : { examples: Object.fromEntries(found.values()) };
}

function envelope(success: boolean, content: Record<string, JsonSchema>): JsonSchema {
  return {
    type: 'object',
    properties: { success: { type: 'boolean', const: success }, ...content },
    required: ['success', ...Object.keys(content)],
  };
}

function headersOf(status: number, more: readonly string[] = []): Record<string, Reference> {
  const names = [
    ...Object.keys(headersOfEveryAnswer),
    ...more,
    ...([429, 502, 503].includes(status) ? ['Retry-After'] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
