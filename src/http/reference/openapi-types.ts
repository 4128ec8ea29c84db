/** OpenAPI 3.1, as far as this service's document goes. */
export interface OpenApiDocument {
  openapi: '3.1.0';
  info: { title: string; version: string; summary: string; description: string; license: License };
  servers: { url: string; description: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Partial<Record<'get' | 'post', Operation>>>;
  components: {
    securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }>;
    headers: Record<string, Header>;
    responses: Record<string, ErrorResponse>;
    schemas: Record<string, JsonSchema>;
  };
}

interface License {
  name: string;
  identifier: string;
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Content };
  /** By status. */
  responses: Record<string, Response | Reference>;
}

export interface Parameter {
  name: string;
  in: 'query' | 'header';
  required: boolean;
  description: string;
  schema: JsonSchema;
  examples?: Examples;
}

export interface Header {
  description: string;
  required?: boolean;
  schema: JsonSchema;
}

export interface Response {
  description: string;
  headers: Record<string, Reference>;
  content: Content;
}

/** The codes and their texts stand in the schema; this keeps them at hand. */
export interface ErrorResponse extends Response {
  'x-errors': Record<string, string>;
}

interface Content {
  'application/json': { schema: JsonSchema; examples?: Examples };
}

export type Examples = Record<string, { summary: string; value: unknown }>;

export interface Reference {
  $ref: string;
}

/** JSON Schema 2020-12, as far as zod's schemas of this API go. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
  title?: string;
  description?: string;
  const?: unknown;
  default?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  'x-enumDescriptions'?: Record<string, string>;
}

/** Resolves a reference within the document. */
export function resolve<Target extends object>(document: OpenApiDocument, target: Target | Reference): Target {
  if (!('$ref' in target) || typeof target.$ref !== 'string') return target as Target;
  const [, , group = '', name = ''] = target.$ref.split('/');
  const groups = document.components as unknown as Record<string, Record<string, Target> | undefined>;
  const found = groups[group]?.[name];
  if (!found) throw new Error(`the document has no ${target.$ref}`);
  return found;
}
