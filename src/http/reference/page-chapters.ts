import { code, columnTable, type Html, html } from '../../documents/html.ts';
import type { ListedOperation } from '../../openapi/document.ts';
import { type Listing, listing, requestListing } from './page-requests.ts';

/** The chapters on how the endpoints work together. */

/** A part of the page that can be folded, and is on a small screen. */
export const chapter = (id: string, title: string, content: Html): Html =>
  html`<details class="chapter" id="${id}" open>
    <summary><h2>${title}</h2></summary>
    ${content}
  </details>`;

export function quickStart(operations: readonly ListedOperation[], apiUrl: string): Html {
  const [queue, poll] = ['queueDownload', 'getDownloadStatus'].map((id) =>
    operations.find(({ operationId }) => operationId === id),
  );
  return html`<h2 id="start">Quick start</h2>
    <p>
      A download takes three steps. Addresses, tokens and times in the examples stand for your own.
      <code>KEY</code> holds your API key; a started demo prints one, and an operator issues one with
      <code>keys issue</code>.
    </p>
    <h3>1. Queue it</h3>
    ${queue && listing(requestListing(queue, apiUrl))}
    <p>The answer has a <code>request_token</code>.</p>
    <h3>2. Poll its status</h3>
    ${poll && listing(requestListing(poll, apiUrl, { Prefer: 'wait=60, until=ended' }))}
    <p>
      With the header <code>Prefer: wait=60, until=ended</code> the answer comes when the download has ended, or after a
      minute, and does not count in the hour. Poll until <code>status</code> is <code>done</code> or
      <code>failed</code>.
    </p>
    <h3>3. Fetch the file</h3>
    ${code('curl --fail -o video.mp4 "$DOWNLOAD_URL"')}
    <p>The <code>download_url</code> of step 2 is good for an hour and needs no key. Each poll returns a new one.</p>`;
}

export function retries(operations: readonly ListedOperation[], apiUrl: string): Html {
  const queue = operations.find(({ operationId }) => operationId === 'queueDownload');
  const content = html`<p>
      The same download sent twice is queued and charged twice, unless both requests carry the same
      <code>Idempotency-Key</code>. Then the second gets the answer of the first, and costs nothing. So make a key for
      each download, such as a UUID, store it before you send the request, and repeat the request with it until it is
      answered. A different download with a used key is answered <code>400</code>.
    </p>
    ${queue && listing(retriedListing(queue, apiUrl))}
    <p>
      <code>202</code> means: recorded, charged, and carried out, whatever crashes. Any other answer means: this request
      is not charged. A connection that closes without an answer means neither.
    </p>
    ${columnTable(whenToRetry, { Answer: ([answer]) => answer, 'Try again?': ([, what]) => what })}`;
  return chapter('retries', 'Retries and idempotency', content);
}

const whenToRetry: readonly (readonly [Html, string])[] = [
  [html`<code>400</code> <code>401</code> <code>402</code> <code>404</code>`, 'No: something must change first.'],
  [
    html`<code>429</code> <code>502</code> <code>503</code>`,
    'Yes, after the seconds in Retry-After, a limited number of times. Such a request charged nothing, or its charge is given back.',
  ],
  [html`<code>500</code>`, 'Yes, with growing pauses, a limited number of times.'],
  [html`<code>delivery_failed</code>`, 'No: the file is gone. Queue the download again.'],
  [
    html`no answer`,
    'A GET: yes; a metadata request may have taken its credit. A download: yes, with its Idempotency-Key. A new API key: yes; a key that was not shown cannot be used by anybody.',
  ],
];

const idempotencyKey = { 'Idempotency-Key': 'order-1842' };

/** The request of the quick start, sent so that it is neither lost nor paid for twice. */
function retriedListing(queue: ListedOperation, apiUrl: string): Listing {
  const { curl, typescript, python } = requestListing(queue, apiUrl, idempotencyKey);
  const indented = (text: string) => text.replaceAll('\n', '\n  ');
  const [imports = '', call = ''] = python.split('\n\n');
  return {
    curl: curl.replace('curl -sS ', 'curl -sS --retry 5 --retry-connrefused '),
    typescript: [
      'async function queueDownload() {',
      `  ${indented(typescript.slice(0, typescript.lastIndexOf('\n')))}`,
      '  return response;',
      '}',
      '',
      'let response;',
      'for (let attempt = 1; attempt <= 6; attempt += 1) {',
      '  response = await queueDownload().catch(() => undefined);',
      '  if (response && ![429, 500, 502, 503].includes(response.status)) break;',
      "  const seconds = Number(response?.headers.get('Retry-After') ?? attempt * 2);",
      '  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));',
      '}',
    ].join('\n'),
    python: [
      imports,
      'import time',
      '',
      'for attempt in range(1, 7):',
      '    response = None',
      '    try:',
      `        ${call.slice(0, call.lastIndexOf('\n')).replaceAll('\n', '\n        ')}`,
      '    except requests.RequestException:',
      '        pass',
      '    if response is not None and response.status_code not in (429, 500, 502, 503):',
      '        break',
      '    wait = response.headers.get("Retry-After") if response is not None else None',
      '    time.sleep(int(wait or attempt * 2))',
    ].join('\n'),
  };
}

export function clients(): Html {
  const content = html`<p>
      <a href="/openapi.json">openapi.json</a> is this reference as OpenAPI 3.1, for any generator. A typed client for
      TypeScript, generated from it, with a command line, is a package in the source under <code>src/client</code>:
    </p>
    ${code(`const api = createApiClient('https://api.example.com', process.env.KEY);
const { data, error } = await api.POST('/video/download', { body: { url, quality: '720' } });`)}`;
  return chapter('clients', 'Clients', content);
}
