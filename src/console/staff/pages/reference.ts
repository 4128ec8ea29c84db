import { code, type Html, html, prose } from '../../../documents/html.ts';
import {
  type Field,
  fieldsOf,
  type JsonSchema,
  type ListedOperation,
  type OpenApiDocument,
  operationsOf,
  type Parameter,
  resolve,
  type Response,
} from '../../../openapi/document.ts';
import { listTable, rowName } from '../../parts.ts';
import { type Answer, page, type Visit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { apiBase } from '../json-endpoints.ts';
import { createStaffOpenApi } from '../openapi.ts';

/** The reference of the API of staff, made from its document alone. Nothing on it is anybody's data. */
export function show(_visit: Visit, { version, origins }: StaffDependencies): Answer {
  const document = createStaffOpenApi(version);
  const { info, components } = document;
  return page({
    title: info.title,
    content: html`<p>${prose(info.description)}</p>
      ${Object.values(components.securitySchemes).map(({ description }) => html`<p>${prose(description)}</p>`)}
      ${code(`curl -sS -H "Authorization: Bearer $TOKEN" ${origins.own}${apiBase}/operation`)}
      <p><a href="/staff/openapi.json">The same as OpenAPI</a>, for programs</p>
      ${operationsOf(document).map((operation) => endpointSection(document, operation))}`,
  });
}

function endpointSection(document: OpenApiDocument, { method, path, ...operation }: ListedOperation): Html {
  const { operationId, summary, description, parameters = [], requestBody } = operation;
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, resolve<Response>(document, response)] as const,
  );
  const [, answer] = responses.find(([status]) => status === '200') ?? [];
  const data = answer?.content['application/json'].schema.properties?.['data'] ?? {};
  const given = requestBody?.content['application/json'].schema;
  return html`<h2 id="${operationId}"><code>${method.toUpperCase()} ${path}</code></h2>
    <p>${summary}. ${prose(description)}</p>
    ${parameters.length > 0 && fieldTable('Parameter', parameters.map(fieldOf))}
    ${given && fieldTable('In the body', fieldsOf(document, given))}
    ${fieldTable('In the answer', fieldsOf(document, data))}
    <p class="soft">
      Errors:
      ${responses
        .filter(([status]) => status !== '200')
        .map(([status, { description: text }]) => html`<code>${status}</code> ${text}. `)}
    </p>`;
}

const fieldTable = (head: string, fields: readonly Pick<Field, 'name' | 'schema'>[]): Html =>
  listTable(head, fields, {
    [head]: rowName(({ name }) => html`<code>${name}</code>`),
    Kind: ({ schema }) => kindOf(schema),
    Meaning: ({ schema }) => prose(schema.description ?? ''),
  });

const fieldOf = ({ name, required, description, schema }: Parameter): Pick<Field, 'name' | 'schema'> => ({
  name: `${name}${required ? '' : ' (optional)'}`,
  schema: { ...schema, description },
});

function kindOf({ type, anyOf, enum: values }: JsonSchema): string {
  if (values) return values.map(String).join(', ');
  if (anyOf) return anyOf.map(kindOf).join(' or ');
  return type === undefined ? 'anything' : [type].flat().join(' or ');
}
