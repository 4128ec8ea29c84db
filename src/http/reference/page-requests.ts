import { type Html, html } from '../../documents/html.ts';
import type { ListedOperation } from '../../openapi/document.ts';

/** Requests as somebody would write them, in each language that the page shows. */
export const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const;
type Language = keyof typeof languages;
export type Listing = Readonly<Record<Language, string>>;

/** The same request in every language: the page shows the one that the reader has chosen. */
export function listing(texts: Listing): Html {
  const names = Object.entries(languages) as [Language, string][];
  return html`<div class="listing">
    <div class="tabs">${names.map(([id, name]) => html`<label class="${id}" for="in-${id}">${name}</label>`)}</div>
    ${names.map(([id]) => html`<pre class="${id}"><code>${texts[id]}</code></pre>`)}
  </div>`;
}

/** The first example that a test has sent. @param headers beside the key, by name */
export function requestListing(
  { method, path, parameters = [], requestBody }: ListedOperation,
  apiUrl: string,
  headers: Readonly<Record<string, string>> = {},
): Listing {
  const query = parameters.flatMap(({ name, in: place, examples = {} }) => {
    const [first] = Object.values(examples);
    return first && place === 'query' ? [[name, String(first.value)] as const] : [];
  });
  const body = Object.values(requestBody?.content['application/json'].examples ?? {})[0]?.value;
  const request = { method, url: apiUrl + path, query, body, headers };
  return { curl: inCurl(request), typescript: inTypeScript(request), python: inPython(request) };
}

interface ListedRequest {
  method: 'get' | 'post';
  url: string;
  query: readonly (readonly [name: string, value: string])[];
  body: unknown;
  headers: Readonly<Record<string, string>>;
}

function inCurl({ method, url, query, body, headers }: ListedRequest): string {
  return [
    `curl -sS ${method === 'post' && !body ? '-X POST ' : ''}"${url}"`,
    '  -H "Authorization: Bearer $KEY"',
    ...Object.entries(headers).map(([name, value]) => `  -H '${name}: ${value}'`),
    ...query.map(([name, value]) => `  --get --data-urlencode '${name}=${value}'`),
    ...(body ? ["  -H 'Content-Type: application/json'", `  -d '${JSON.stringify(body)}'`] : []),
  ].join(' \\\n');
}

function inTypeScript({ method, url, query, body, headers }: ListedRequest): string {
  const sent = [
    '    Authorization: `Bearer ${process.env.KEY}`,',
    ...Object.entries({ ...headers, ...(body ? { 'Content-Type': 'application/json' } : {}) }).map(
      ([name, value]) => `    '${name}': '${value}',`,
    ),
  ];
  return [
    ...(query.length > 0 ? [`const query = new URLSearchParams(${literal(Object.fromEntries(query))});`] : []),
    `const response = await fetch(${query.length > 0 ? `\`${url}?\${query}\`` : `'${url}'`}, {`,
    ...(method === 'post' ? ["  method: 'POST',"] : []),
    '  headers: {',
    ...sent,
    '  },',
    ...(body ? [`  body: JSON.stringify(${literal(body)}),`] : []),
    '});',
    'const { success, data, error } = await response.json();',
  ].join('\n');
}

function inPython({ method, url, query, body, headers }: ListedRequest): string {
  return [
    'import os',
    'import requests',
    '',
    `response = requests.${method}(`,
    `    "${url}",`,
    '    headers={',
    '        "Authorization": f"Bearer {os.environ[\'KEY\']}",',
    ...Object.entries(headers).map(([name, value]) => `        "${name}": "${value}",`),
    '    },',
    ...(query.length > 0 ? [`    params=${JSON.stringify(Object.fromEntries(query))},`] : []),
    ...(body ? [`    json=${JSON.stringify(body)},`] : []),
    '    timeout=90,',
    ')',
    'answer = response.json()',
  ].join('\n');
}

/** An object as TypeScript is written. */
function literal(value: object): string {
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${JSON.stringify(field)}`);
  return `{ ${fields.join(', ')} }`;
}
