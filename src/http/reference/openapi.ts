import { failureReasonNames } from '../../domain/failure-reasons.ts';
import type {
  ErrorResponse,
  Examples,
  Header,
  JsonSchema,
  OpenApiDocument,
  Parameter,
  Reference,
  Response,
} from '../../openapi/document.ts';
import {
  contentOf,
  type DescribedOperation,
  DocumentSchemas,
  objectOf,
  parametersOf,
  writeDocument,
} from '../../openapi/write-document.ts';
import type { Endpoint } from '../endpoint.ts';
import { apiPrefix, endpoints } from '../endpoints.ts';
import { type ApiErrorCode, apiErrors, errorsOfEveryEndpoint, errorsThatMayPass } from '../errors.ts';
import { endpointTags } from './endpoint-reference.ts';
import type { Example } from './examples.ts';
import { codeSamples, type ShownService } from './page-requests.ts';

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
  description:
    'Seconds to wait before trying again: with 429 and 503, and with a 502 after which the same request may succeed soon.',
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
 * @param shown the service to which the requests of the document are sent
 */
export function createOpenApi(options: {
  version: string;
  examples: readonly Example[];
  shown: ShownService;
}): OpenApiDocument {
  const schemas = new DocumentSchemas();
  const responses: Record<string, ErrorResponse> = {};
  return writeDocument({
    info: {
      title: 'Reeltally',
      version: options.version,
      summary: 'A metered video-download API',
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    server: { url: apiPrefix, description: 'Where this document was read.' },
    tags: Object.entries(endpointTags).map(([name, description]) => ({ name, description })),
    token: { name: 'apiKey', description: 'Every request carries an API key: `Authorization: Bearer <key>`.' },
    operations: endpoints.map((endpoint) => {
      const isOfEndpoint = ({ request }: Example) =>
        request.method === endpoint.method && request.path === endpoint.path;
      const examples = options.examples.filter(isOfEndpoint);
      const described = describe(endpoint, { schemas, responses, examples });
      return { ...described, 'x-codeSamples': codeSamples(described, options.shown) };
    }),
    components: {
      headers: { ...headersOfEveryAnswer, 'Retry-After': retryAfter, 'Preference-Applied': preferenceApplied },
      responses,
      schemas: schemas.named,
    },
  });
}

interface Context {
  schemas: DocumentSchemas;
  /** The document's named responses: one for each set of codes that share a status. */
  responses: Record<string, ErrorResponse>;
  examples: readonly Example[];
}

function describe({ method, path, reference }: Endpoint, context: Context): DescribedOperation {
  const { operationId, tag, summary, description, query, headers, body, success } = reference;
  const { schemas, examples } = context;
  // A malformed request is no example of a request; its answer is one of an answer.
  const wellFormed = examples.filter(({ response }) => response.status !== 400);
  const fieldsIn = (place: Parameter['in'], fields: typeof query) =>
    fields ? parametersOf(schemas.of(fields, 'input'), () => place) : [];
  const inQuery = fieldsIn('query', query).map((parameter) => {
    const examples = examplesOf(wellFormed, ({ request }) => request.query?.[parameter.name]);
    return { ...parameter, ...(examples && { examples }) };
  });
  return {
    method,
    path,
    operationId,
    tags: [tag],
    summary,
    description,
    parameters: [...inQuery, ...fieldsIn('header', headers)],
    body: body && {
      required: body.required,
      schema: schemas.of(body.schema, 'input'),
      examples: examplesOf(wellFormed, ({ request }) => request.body),
    },
    responses: {
      [success.status]: {
        description: success.description,
        headers: headersOf(success.headers),
        content: contentOf(
          envelope(true, { data: schemas.of(success.data, 'output') }),
          examplesOf(examples, ({ response }) => (response.status === success.status ? response.body : undefined)),
        ),
      } satisfies Response,
      ...errorResponsesOf(reference.errors, context),
    },
  };
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
      const response = (responses[name] ??= errorResponse(sameStatus));
      addExamples(response, examples, status);
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
}

/** There where a platform has answered. */
const ofFailure: Record<string, JsonSchema> = {
  reason: { type: 'string', enum: failureReasonNames, description: 'Why, as in `error` of a failed download.' },
  retryable: { type: 'boolean', description: 'Whether the same request may succeed soon.' },
};

function errorResponse(codes: readonly ApiErrorCode[]): ErrorResponse {
  const texts = Object.fromEntries(codes.map((code) => [code, apiErrors[code].message]));
  const error = objectOf({
    code: { type: 'string', enum: [...codes], 'x-enumDescriptions': texts },
    message: { type: 'string' },
  });
  if (codes.includes('metadata_unavailable')) Object.assign(error.properties ?? {}, ofFailure);
  const hasRetryAfter = codes.some((code) => code === 'rate_limited' || errorsThatMayPass.has(code));
  return {
    description: codes.map((code) => `\`${code}\`: ${apiErrors[code].message}.`).join(' '),
    headers: headersOf(hasRetryAfter ? ['Retry-After'] : []),
    content: contentOf(envelope(false, { error })),
    'x-errors': texts,
  };
}

/** Several operations may share a response; it has the examples of all. */
function addExamples({ content }: ErrorResponse, examples: readonly Example[], status: number): void {
  const media = content['application/json'];
  const more = examplesOf(examples, ({ response }) => (response.status === status ? response.body : undefined));
  if (more) media.examples = { ...media.examples, ...more };
}

/** Those that have something to show; a request that is sent twice is shown once. */
function examplesOf(examples: readonly Example[], shown: (example: Example) => unknown): Examples | undefined {
  const found = new Map<string, [string, { summary: string; value: unknown }]>();
  for (const example of examples) {
    const value = shown(example);
    const text = JSON.stringify(value);
    if (value !== undefined && !found.has(text)) found.set(text, [example.name, { summary: example.summary, value }]);
  }
  return found.size === 0 ? undefined : Object.fromEntries(found.values());
}

const envelope = (success: boolean, content: Record<string, JsonSchema>): JsonSchema =>
  objectOf({ success: { type: 'boolean', const: success }, ...content });

function headersOf(more: readonly string[] = []): Record<string, Reference> {
  const names = [...Object.keys(headersOfEveryAnswer), ...more];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
