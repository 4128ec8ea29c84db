import { code, type Html, html, prose, table } from '../../../documents/html.ts';
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
    ${parameters.length > 0 && fieldTable('Parameter', parameters.map(parameterRow))}
    ${given && fieldTable('In the body', fieldsOf(document, given).map(fieldRow))}
    ${fieldTable('In the answer', fieldsOf(document, data).map(fieldRow))}
    <p class="soft">
      Errors:
      ${responses
        .filter(([status]) => status !== '200')
        .map(([status, { description: text }]) => html`<code>${status}</code> ${text}. `)}
    </p>`;
}

/** Many rows of three narrow columns: a table at any width, without a label in each cell. */
const fieldTable = (head: string, rows: readonly Html[]): Html =>
  html`<div class="scroll" role="region" aria-label="${head}" tabindex="0">
    ${table([head, 'Kind', 'Meaning'], rows)}
  </div>`;

const parameterRow = ({ name, required, description, schema }: Parameter): Html =>
  fieldRow({ name: `${name}${required ? '' : ' (optional)'}`, schema: { ...schema, description } });

const fieldRow = ({ name, schema }: Pick<Field, 'name' | 'schema'>): Html =>
  html`<tr>
    <th scope="row"><code>${name}</code></th>
    <td>${kindOf(schema)}</td>
    <td>${prose(schema.description ?? '')}</td>
  </tr>`;

function kindOf({ type, anyOf, enum: values }: JsonSchema): string {
  if (values) return values.map(String).join(', ');
  if (anyOf) return anyOf.map(kindOf).join(' or ');
  return type === undefined ? 'anything' : [type].flat().join(' or ');
}
