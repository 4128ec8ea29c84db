/** OpenAPI 3.1, as far as the documents of this service go: of the API, and of what programs of staff read. */
export interface OpenApiDocument {
  openapi: '3.1.0';
  info: { title: string; version: string; summary?: string; description: string; license?: License };
  servers: Server[];
  tags?: { name: string; description: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Partial<Record<'get' | 'post', Operation>>>;
  components: Components & {
    securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }>;
  };
}

interface License {
  name: string;
  identifier: string;
}

export interface Server {
  url: string;
  description?: string;
}

export interface Components {
  headers?: Record<string, Header>;
  responses?: Record<string, ErrorResponse>;
  schemas?: Record<string, JsonSchema>;
}

export interface Operation {
  operationId: string;
  tags?: string[];
  summary: string;
  description: string;
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Content };
  /** By status. */
  responses: Record<string, Response | Reference>;
  'x-codeSamples'?: CodeSample[];
}

/** A request as somebody would write it, which pages made of the document show. */
export interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
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
  headers?: Record<string, Reference>;
  content: Content;
}

/** The codes and their texts stand in the schema; this keeps them at hand. */
export interface ErrorResponse extends Response {
  'x-errors': Record<string, string>;
}

export interface Content {
  'application/json': { schema: JsonSchema; examples?: Examples };
}

export type Examples = Record<string, { summary: string; value: unknown }>;

export interface Reference {
  $ref: string;
}

/** JSON Schema 2020-12, as far as zod's schemas of this service go. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  const?: unknown;
  default?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
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

export interface ListedOperation extends Operation {
  method: 'get' | 'post';
  path: string;
}

export function operationsOf({ paths }: OpenApiDocument): ListedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method as ListedOperation['method'],
    })),
  );
}

export interface Field {
  /** Of a field within fields its path, such as `lines[].cents`. */
  name: string;
  schema: JsonSchema;
  /** Whether it stands in the schema itself, and not in one of its fields. */
  isOuter: boolean;
}

/** The fields of an object, each before the fields that it holds. */
export function fieldsOf(document: OpenApiDocument, { properties = {} }: JsonSchema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const schema = { ...resolve<JsonSchema>(document, field), ...field };
    const inner = [schema, ...(schema.anyOf ?? [])];
    const list = inner.find(({ items }) => items)?.items;
    const object = inner.find(({ properties: own }) => own);
    const own: Field = { name: prefix + name, schema, isOuter: prefix === '' };
    if (list) return [own, ...fieldsOf(document, list, `${prefix}${name}[].`)];
    return object ? [own, ...fieldsOf(document, object, `${prefix}${name}.`)] : [own];
  });
}
