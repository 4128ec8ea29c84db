import { code, columnTable, type Html, html, prose, table } from '../../documents/html.ts';
import {
  type ErrorResponse,
  type Examples,
  fieldsOf,
  type JsonSchema,
  type ListedOperation,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolve,
  type Response,
} from '../../openapi/document.ts';
import { listing, listingOf } from './page-requests.ts';

export const methodBadge = (method: string): Html =>
  html`<span class="method ${method}">${method.toUpperCase()}</span>`;

/** Everything about one endpoint: what goes in, what comes out, and what can go wrong. */
export function endpointSection(document: OpenApiDocument, operation: ListedOperation): Html {
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, resolve<Response | ErrorResponse>(document, response)] as const,
  );
  return html`<details class="endpoint" id="${operation.operationId}" open>
    <summary>
      <h2>${operation.summary}</h2>
      <div class="route">${methodBadge(operation.method)}<span>${pathPrefix(document)}${operation.path}</span></div>
    </summary>
    <p>${prose(operation.description)}</p>
    ${inputPart(document, operation)}
    <h3>Request</h3>
    ${listing(listingOf(operation['x-codeSamples']))}
    ${responses.map(([status, response]) => !('x-errors' in response) && successPart(document, status, response))}
    <h3>Errors</h3>
    ${errorTable(errorsOf(document, operation))}
    ${responses.map(([status, response]) => 'x-errors' in response && ownErrorExamples(operation, status, response))}
  </details>`;
}

export const pathPrefix = ({ servers }: OpenApiDocument): string => servers[0]?.url ?? '';

interface ListedError {
  status: string;
  name: string;
  text: string;
}

const errorsOf = (document: OpenApiDocument, { responses }: Operation): ListedError[] =>
  Object.entries(responses).flatMap(([status, response]) => {
    const whole = resolve<ErrorResponse | object>(document, response);
    const texts = 'x-errors' in whole ? Object.entries(whole['x-errors']) : [];
    return texts.map(([name, text]) => ({ status, name, text }));
  });

const errorTable = (errors: readonly ListedError[]): Html =>
  columnTable(errors, {
    Status: ({ status }) => html`<span class="status bad">${status}</span>`,
    Code: ({ name }) => html`<code>${name}</code>`,
    Meaning: ({ text }) => `${text}.`,
  });

function inputPart(document: OpenApiDocument, { parameters = [], requestBody }: Operation): Html {
  const rowsIn = (place: Parameter['in']) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, required, description, schema }) => fieldRow(name, { ...schema, description }, required));
  const [query, headers] = [rowsIn('query'), rowsIn('header')];
  const body = requestBody?.content['application/json'].schema;
  return html`${query.length > 0 && html`<h3>Query parameters</h3>`} ${table(['Name', 'Type', 'Meaning'], query)}
  ${headers.length > 0 && html`<h3>Headers</h3>`} ${table(['Name', 'Type', 'Meaning'], headers)}
  ${
    body &&
    html`<h3>JSON body ${!requestBody.required && html`<span class="note">may be left out</span>`}</h3>
      ${table(['Field', 'Type', 'Meaning'], fieldRows(document, body, { marksRequired: true }))}`
  }`;
}

function successPart(document: OpenApiDocument, status: string, { description, content }: Response): Html {
  const { schema, examples = {} } = content['application/json'];
  const data = schema.properties?.['data'] ?? {};
  const whole = resolve<JsonSchema>(document, data);
  const kinds = whole.oneOf?.map((kind) => resolve<JsonSchema>(document, kind));
  return html`<h3>Answer <span class="status">${status}</span></h3>
    <p>${prose(description)}</p>
    ${exampleBlocks(examples)}
    <h3>Fields of <code>data</code></h3>
    ${kinds ? kindsTable(document, kinds) : table(['Field', 'Type', 'Meaning'], fieldRows(document, whole, {}))}`;
}

/** The kinds of an answer in one table: each field once, and with which of them it comes. */
function kindsTable(document: OpenApiDocument, kinds: readonly JsonSchema[]): Html {
  const titles = kinds.map(({ title = '' }) => title);
  const names = [...new Set(kinds.flatMap(({ properties = {} }) => Object.keys(properties)))].filter(
    (name) => name !== 'status',
  );
  const rows = names.map((name) => {
    const having = kinds.filter(({ properties = {} }) => name in properties);
    const only = having.length < kinds.length ? having.map(({ title = '' }) => `\`${title}\``).join(', ') : undefined;
    const field = { properties: { [name]: having[0]?.properties?.[name] ?? {} } };
    return fieldRows(document, field, { prefix: only === undefined ? '' : `With ${only}. ` });
  });
  return table(
    ['Field', 'Type', 'Meaning'],
    [fieldRow('status', { type: 'string', enum: titles }, undefined), ...rows.flat()],
  );
}

/** @param prefix before what the fields mean */
function fieldRows(
  document: OpenApiDocument,
  whole: JsonSchema,
  { marksRequired = false, prefix = '' }: { marksRequired?: boolean; prefix?: string },
): Html[] {
  return fieldsOf(document, whole).map(({ name, schema, isOuter }) => {
    const { description = '' } = schema;
    const isRequired = isOuter && marksRequired ? (whole.required ?? []).includes(name) : undefined;
    return fieldRow(name, { ...schema, description: isOuter ? prefix + description : description }, isRequired);
  });
}

function fieldRow(name: string, schema: JsonSchema, required: boolean | undefined): Html {
  const texts = schema['x-enumDescriptions'];
  const values = (schema.enum ?? (typeof schema.const === 'string' ? [schema.const] : undefined))?.map(
    (value) => html`<code>${String(value)}</code> `,
  );
  return html`<tr>
    <td><code>${name}</code>${required === true && html`<br /><span class="note">required</span>`}</td>
    <td class="type">${typeOf(schema)}</td>
    <td>
      ${prose(schema.description ?? '')}
      ${texts ? html`One of the <a href="#why-a-download-fails">reasons</a>.` : values && html`<div>${values.length > 1 ? 'One of' : 'Always'} ${values}</div>`}
      ${schema.default !== undefined && html`<div class="note">Default: <code>${JSON.stringify(schema.default)}</code></div>`}
    </td>
  </tr>`;
}

function typeOf({ type, anyOf, const: constant }: JsonSchema): string {
  if (type !== undefined) return [type].flat().join(' or ');
  if (constant !== undefined) return typeof constant;
  return (anyOf ?? []).map(typeOf).join(' or ');
}

function exampleBlocks(examples: Examples): Html[] {
  const all = Object.values(examples);
  return all.map(
    ({ summary, value }) =>
      html`<p class="note">${summary}:</p>
        ${code(JSON.stringify(value, null, 2))}`,
  );
}

/** Operations share the descriptions of their errors; each shows what was answered to itself. */
function ownErrorExamples({ operationId }: Operation, status: string, { content }: ErrorResponse): Html[] {
  const own = Object.entries(content['application/json'].examples ?? {}).filter(([name]) =>
    name.startsWith(`${operationId}.`),
  );
  return own.map(
    ([, { summary, value }]) =>
      html`<p class="note">${summary}, <span class="status bad">${status}</span>:</p>
        ${code(JSON.stringify(value, null, 2))}`,
  );
}
