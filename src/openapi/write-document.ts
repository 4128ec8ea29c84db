import { z } from 'zod';
import type {
  Components,
  Content,
  Examples,
  JsonSchema,
  OpenApiDocument,
  Operation,
  Parameter,
  Server,
} from './document.ts';

interface Described {
  info: OpenApiDocument['info'];
  server: Server;
  tags?: OpenApiDocument['tags'];
  /** What a request carries as its bearer token. */
  token: { name: string; description: string };
  operations: readonly DescribedOperation[];
  components?: Components;
}

export interface DescribedOperation extends Omit<Operation, 'parameters' | 'requestBody'> {
  method: 'GET' | 'POST';
  /** With its parts in braces. */
  path: string;
  parameters: Parameter[];
  body?: { required: boolean; schema: JsonSchema; examples?: Examples | undefined } | undefined;
}

/** Writes an API down as OpenAPI 3.1, its endpoints in their order. */
export function writeDocument({ info, server, tags, token, operations, components = {} }: Described): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const { method, path, ...described } of operations)
    paths[path] = { ...paths[path], [method === 'GET' ? 'get' : 'post']: operationOf(described) };
  return {
    openapi: '3.1.0',
    info,
    servers: [server],
    ...(tags && { tags }),
    security: [{ [token.name]: [] }],
    paths,
    components: {
      securitySchemes: { [token.name]: { type: 'http', scheme: 'bearer', description: token.description } },
      ...components,
    },
  };
}

function operationOf({
  operationId,
  tags,
  summary,
  description,
  parameters,
  body,
  responses,
  'x-codeSamples': samples,
}: Omit<DescribedOperation, 'method' | 'path'>): Operation {
  return {
    operationId,
    ...(tags && { tags }),
    summary,
    description,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: body.required, content: contentOf(body.schema, body.examples) } }),
    responses,
    ...(samples && { 'x-codeSamples': samples }),
  };
}

export const contentOf = (schema: JsonSchema, examples?: Examples): Content => ({
  'application/json': { schema, ...(examples && { examples }) },
});

/** An object all of whose fields are there. */
export const objectOf = (properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

/** @param placeOf where a field of the schema stands in a request; undefined for one that is no parameter */
export function parametersOf(
  { properties = {}, required = [] }: JsonSchema,
  placeOf: (name: string) => Parameter['in'] | undefined,
): Parameter[] {
  return Object.entries(properties).flatMap(([name, { description = '', ...schema }]) => {
    const place = placeOf(name);
    return place === undefined
      ? []
      : [{ name, in: place, required: place === 'path' || required.includes(name), description, schema }];
  });
}

/** zod's schemas as schemas of a document; those with an id of their own are gathered and referred to. */
export class DocumentSchemas {
  readonly named: Record<string, JsonSchema> = {};

  /** @param io input: a field with a default may be left out */
  of(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    return this.#gather(
      z.toJSONSchema(schema, {
        io,
        // A text of an address may be read as something else that JSON Schema has no name for.
        unrepresentable: 'any',
        override: ({ jsonSchema }) => {
          // Fields may be added one day, so the document does not forbid them; the tests do.
          delete jsonSchema.additionalProperties;
          // Every integer of JavaScript has these limits; they say nothing about the field.
          if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
          if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        },
      }),
    );
  }

  #gather(converted: object): JsonSchema {
    const text = JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/');
    const {
      $schema: _dialect,
      $defs = {},
      id,
      ...schema
    } = JSON.parse(text) as JsonSchema & { $schema?: string; $defs?: Record<string, JsonSchema>; id?: string };
    const named = { ...$defs, ...(id !== undefined && { [id]: schema }) };
    for (const [name, definition] of Object.entries(named)) {
      const { id: _id, ...rest } = definition as JsonSchema & { id?: string };
      this.named[name] = rest;
    }
    return id === undefined ? schema : { $ref: `#/components/schemas/${id}` };
  }
}
