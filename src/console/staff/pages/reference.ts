import { code, type Html, html, prose, table } from '../../../documents/html.ts';
import { type Answer, page, type Visit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { apiBase } from '../json-endpoints.ts';
import { createStaffOpenApi, type JsonSchema, type Operation } from '../openapi.ts';

/** The reference of the API of staff, made from its document alone. Nothing on it is anybody's data. */
export function show(_visit: Visit, { version, origins }: StaffDependencies): Answer {
  const { info, paths, components } = createStaffOpenApi(version);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => endpointSection(`${method.toUpperCase()} ${path}`, operation)),
  );
  return page({
    title: info.title,
    content: html`<p>${prose(info.description)}</p>
      ${Object.values(components.securitySchemes).map(({ description }) => html`<p>${prose(description)}</p>`)}
      ${code(`curl -sS -H "Authorization: Bearer $TOKEN" ${origins.own}${apiBase}/operation`)}
      <p><a href="/staff/openapi.json">The same as OpenAPI</a>, for programs</p>
      ${operations}`,
  });
}

function endpointSection(name: string, { operationId, summary, description, ...operation }: Operation): Html {
  const { parameters, requestBody, responses } = operation;
  const answer = responses['200']?.content['application/json'].schema.properties?.['data'] ?? {};
  const given = requestBody?.content['application/json'].schema;
  return html`<h2 id="${operationId}"><code>${name}</code></h2>
    <p>${summary}. ${prose(description)}</p>
    ${
      parameters.length > 0 &&
      fieldTable(
        'Parameter',
        parameters.map((each) => ({ ...each, name: `${each.name}${each.required ? '' : ' (optional)'}` })),
      )
    }
    ${given && fieldTable('In the body', fieldsOf(given))} ${fieldTable('In the answer', fieldsOf(answer))}
    <p class="soft">
      Errors:
      ${Object.entries(responses)
        .filter(([status]) => status !== '200')
        .map(([status, { description: text }]) => html`<code>${status}</code> ${text}. `)}
    </p>`;
}

interface Field {
  name: string;
  description?: string;
  schema: JsonSchema;
}

const fieldTable = (head: string, fields: readonly Field[]): Html =>
  html`<div class="scroll" role="region" aria-label="${head}" tabindex="0">
    ${table(
      [head, 'Kind', 'Meaning'],
      fields.map(
        ({ name, description = '', schema }) =>
          html`<tr>
            <th scope="row"><code>${name}</code></th>
            <td>${kindOf(schema)}</td>
            <td class="reason">${prose(description)}</td>
          </tr>`,
      ),
    )}
  </div>`;

/** Fields within fields by their path, such as `lines[].cents`. */
function fieldsOf(schema: JsonSchema, prefix = ''): Field[] {
  const { properties = {} } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const inner = [field, ...(field.anyOf ?? [])];
    const list = inner.find(({ items }) => items)?.items;
    const object = inner.find(({ properties: own }) => own);
    const own: Field = {
      name: prefix + name,
      schema: field,
      ...(field.description !== undefined && { description: field.description }),
    };
    if (list) return [own, ...fieldsOf(list, `${prefix}${name}[].`)];
    return object ? [own, ...fieldsOf(object, `${prefix}${name}.`)] : [own];
  });
}

function kindOf({ type, anyOf, enum: values }: JsonSchema): string {
  if (values) return values.map(String).join(', ');
  if (anyOf) return anyOf.map(kindOf).join(' or ');
  return type === undefined ? 'anything' : [type].flat().join(' or ');
}
