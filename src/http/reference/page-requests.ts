import { type Html, html } from '../../documents/html.ts';
import type { CodeSample } from '../../openapi/document.ts';
import type { DescribedOperation } from '../../openapi/write-document.ts';
import { apiPrefix } from '../endpoints.ts';

/** Requests as somebody would write them, in each language that the page shows. They run as they stand. */
export const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const;
type Language = keyof typeof languages;
export type Listing = Readonly<Record<Language, string>>;

/** What requests need that are sent to a service. */
export interface ShownService {
  /** Where clients reach it, such as `https://api.example.com`. */
  origin: string;
  /** Address of a video that it accepts. */
  videoUrl: string;
}

/** A video of a platform that every service has unless its operator switches it off. */
export const videoElsewhere = 'https://www.youtube.com/watch?v=aqz-KE-bpKQ';

/** The same request in every language: the page shows the one that the reader has chosen. */
export function listing(texts: Listing): Html {
  const names = Object.entries(languages) as [Language, string][];
  return html`<div class="listing">
    <div class="tabs">${names.map(([id, name]) => html`<label class="${id}" for="in-${id}">${name}</label>`)}</div>
    ${names.map(([id]) => html`<pre class="${id}"><code>${texts[id]}</code></pre>`)}
  </div>`;
}

/** The listing of an operation, as the document has it. */
export const listingOf = (samples: readonly CodeSample[] = []): Listing => {
  const textIn = (language: Language) => samples.find(({ label }) => label === languages[language])?.source ?? '';
  return { curl: textIn('curl'), typescript: textIn('typescript'), python: textIn('python') };
};

/** The first example that a test has sent, as a request to this service. */
export function codeSamples(operation: DescribedOperation, shown: ShownService): CodeSample[] {
  const { curl, typescript, python } = requestListing(operation, shown);
  return [
    { lang: 'Shell', label: languages.curl, source: curl },
    { lang: 'TypeScript', label: languages.typescript, source: typescript },
    { lang: 'Python', label: languages.python, source: python },
  ];
}

function requestListing({ method, path, parameters, body }: DescribedOperation, shown: ShownService): Listing {
  const query = parameters.flatMap(({ name, in: place, examples = {} }): Parameter[] => {
    const [first] = Object.values(examples);
    if (!first || place !== 'query') return [];
    return [
      { name, value: name === 'token' ? 'TOKEN' : ofService(String(first.value), shown), isVariable: name === 'token' },
    ];
  });
  const sent: unknown = Object.values(body?.examples ?? {})[0]?.value;
  const request = {
    method,
    url: `${shown.origin}${apiPrefix}${path}`,
    query,
    body: sent === undefined ? undefined : (JSON.parse(ofService(JSON.stringify(sent), shown)) as object),
  };
  return { curl: inCurl(request), typescript: inTypeScript(request), python: inPython(request) };
}

/** The examples were sent to the sample platform of a test. */
const ofService = (text: string, { videoUrl }: ShownService) =>
  text.replaceAll('https://videos.example.com/watch/bars', videoUrl);

interface Parameter {
  name: string;
  /** The value itself, or the name of the variable of the environment that has it. */
  value: string;
  isVariable: boolean;
}

interface ListedRequest {
  method: 'GET' | 'POST';
  url: string;
  query: readonly Parameter[];
  body: object | undefined;
}

function inCurl({ method, url, query, body }: ListedRequest): string {
  return [
    `curl -sS ${method === 'POST' && !body ? '-X POST ' : ''}"${url}"`,
    '  -H "Authorization: Bearer $REELTALLY_KEY"',
    ...query.map(
      ({ name, value, isVariable }) => `  --get --data-urlencode "${name}=${isVariable ? '$' : ''}${value}"`,
    ),
    ...(body ? ["  -H 'Content-Type: application/json'", `  -d '${JSON.stringify(body)}'`] : []),
  ].join(' \\\n');
}

function inTypeScript({ method, url, query, body }: ListedRequest): string {
  const fields = query.map(
    ({ name, value, isVariable }) => `${name}: ${isVariable ? `process.env.${value} ?? ''` : JSON.stringify(value)}`,
  );
  return [
    ...(fields.length > 0 ? [`const query = new URLSearchParams({ ${fields.join(', ')} });`] : []),
    `const response = await fetch(${fields.length > 0 ? `\`${url}?\${query}\`` : `'${url}'`}, {`,
    ...(method === 'POST' ? ["  method: 'POST',"] : []),
    '  headers: {',
    '    Authorization: `Bearer ${process.env.REELTALLY_KEY}`,',
    ...(body ? ["    'Content-Type': 'application/json',"] : []),
    '  },',
    ...(body ? [`  body: JSON.stringify(${literal(body)}),`] : []),
    '});',
    'console.log(JSON.stringify(await response.json(), null, 2));',
  ].join('\n');
}

function inPython({ method, url, query, body }: ListedRequest): string {
  const fields = query.map(
    ({ name, value, isVariable }) => `"${name}": ${isVariable ? `os.environ["${value}"]` : JSON.stringify(value)}`,
  );
  return [
    'import json, os, urllib.parse, urllib.request',
    '',
    ...(fields.length > 0 ? [`query = urllib.parse.urlencode({${fields.join(', ')}})`] : []),
    'request = urllib.request.Request(',
    `    "${url}${fields.length > 0 ? '?" + query' : '"'},`,
    ...(body ? [`    data=json.dumps(${JSON.stringify(body)}).encode(),`] : []),
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["REELTALLY_KEY"],',
    ...(body ? ['        "Content-Type": "application/json",'] : []),
    '    },',
    `    method="${method}",`,
    ')',
    'with urllib.request.urlopen(request, timeout=90) as response:',
    '    print(json.dumps(json.load(response), indent=2))',
  ].join('\n');
}

/** An object as TypeScript is written. */
function literal(value: object): string {
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${JSON.stringify(field)}`);
  return `{ ${fields.join(', ')} }`;
}
