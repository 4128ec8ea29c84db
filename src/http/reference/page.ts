import { resolve } from './document.ts';
import type { ErrorResponse, Header, JsonSchema, OpenApiDocument } from './document.ts';
import { code, html, Html, prose, table } from '../../documents/html.ts';
import { curlLine, endpointSection, errorRow, methodBadge, operationsOf, pathPrefix } from './page-endpoint.ts';
import type { ListedOperation } from './page-endpoint.ts';
import { pageStyle } from './page-style.ts';

/**
 * The reference for people: one page made from the document alone, without script, font or image from elsewhere.
 *
 * @param origin where clients reach the service, such as `https://api.example.com`
 */
export function renderPage(document: OpenApiDocument, origin: string): string {
  const { info } = document;
  const operations = operationsOf(document);
  const apiUrl = origin + pathPrefix(document);
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title}: API reference</title>
        <style>
          ${new Html(pageStyle)}
        </style>
      </head>
      <body>
        <div class="page">
          ${navigation(document, operations)}
          <main>
            <h1>${info.title}</h1>
            <p class="lead">${info.summary}, version ${info.version}</p>
            ${info.description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
            ${quickStart(operations, apiUrl)} ${authentication(document)} ${headers(document)}
            ${operations.map((operation) => endpointSection(document, operation, apiUrl))} ${errors(document)}
            ${reasons(document)} ${clients()}
          </main>
        </div>
      </body>
    </html>`;
  return page.text;
}

function navigation({ info }: OpenApiDocument, operations: readonly ListedOperation[]): Html {
  return html`<nav>
    <a class="name" href="#">${info.title}</a>
    <strong>Begin</strong>
    <a href="#start">Quick start</a><a href="#key">Keys</a><a href="#headers">Headers</a>
    <strong>Endpoints</strong>
    ${operations.map(({ operationId, method, path }) => html`<a href="#${operationId}">${methodBadge(method)} ${path}</a>`)}
    <strong>More</strong>
    <a href="#errors">Errors</a><a href="#reasons">Why a download fails</a><a href="#clients">Clients</a>
    <a href="/openapi.json">openapi.json</a>
  </nav>`;
}

function quickStart(operations: readonly ListedOperation[], apiUrl: string): Html {
  const [queue, poll] = ['queueDownload', 'getDownloadStatus'].map((id) =>
    operations.find(({ operationId }) => operationId === id),
  );
  return html`<h2 id="start">Quick start</h2>
    <p>
      A download takes three steps. Addresses, tokens and times of the examples stand for your own.
      <code>KEY</code> holds your API key; a started demo prints one, and an operator issues one with
      <code>keys issue</code>.
    </p>
    <h3>1. Queue it</h3>
    ${queue && code(curlLine(queue, apiUrl))}
    <p>The answer has a <code>request_token</code>.</p>
    <h3>2. Ask how it stands</h3>
    ${poll && code(curlLine(poll, apiUrl))}
    <p>
      With the header <code>Prefer: wait=60</code> the answer comes when that changes. Until <code>status</code> is
      <code>done</code> or <code>failed</code>.
    </p>
    <h3>3. Fetch the file</h3>
    ${code('curl -o video.mp4 "$DOWNLOAD_URL"')}
    <p>
      The <code>download_url</code> of step 2 is good for an hour and needs no key. Each poll answers a fresh one.
    </p>`;
}

function authentication({ components }: OpenApiDocument): Html {
  const schemes = Object.values(components.securitySchemes);
  return html`<h2 id="key">Keys</h2>
    ${schemes.map(({ description }) => html`<p>${prose(description)}</p>`)}
    <p>
      A key is shown once, when it is issued. Each key has an hourly limit of its own; credits belong to the account and
      are shared by its keys. A key that is missing, invalid or revoked is answered <code>401</code>.
    </p>`;
}

function headers({ components }: OpenApiDocument): Html {
  const rows = Object.entries(components.headers).map(
    ([name, { description }]: [string, Header]) =>
      html`<tr>
        <td><code>${name}</code></td>
        <td>${description}</td>
      </tr>`,
  );
  return html`<h2 id="headers">Headers</h2>
    <p>Every answer of the API tells where its key stands, errors too.</p>
    ${table(['Header', ''], rows)}`;
}

function errors(document: OpenApiDocument): Html {
  const found = new Map<string, Html>();
  for (const { responses } of operationsOf(document)) {
    for (const [status, response] of Object.entries(responses)) {
      const whole = resolve<ErrorResponse | object>(document, response);
      if (!('x-errors' in whole)) continue;
      for (const [name, text] of Object.entries(whole['x-errors'])) {
        found.set(`${status} ${name}`, errorRow(status, name, text));
      }
    }
  }
  found.set(
    '405',
    errorRow('405', 'method_not_allowed', 'A known path with another method; the header Allow names the right one'),
  );
  const rows = [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  return html`<h2 id="errors">Errors</h2>
    <p>
      An unknown path is answered <code>404</code> <code>not_found</code> as well. With <code>429</code> and
      <code>503</code>, <code>Retry-After</code> says how many seconds to wait.
    </p>
    ${table(['Status', 'Code', 'Meaning'], rows)}`;
}

function reasons({ components }: OpenApiDocument): Html {
  const texts = Object.values(components.schemas).flatMap(({ properties = {} }: JsonSchema) =>
    Object.values(properties).flatMap((field) => Object.entries(field['x-enumDescriptions'] ?? {})),
  );
  const rows = texts.map(
    ([name, text]) =>
      html`<tr>
        <td><code>${name}</code></td>
        <td>${text}</td>
      </tr>`,
  );
  return html`<h2 id="reasons">Why a download fails</h2>
    <p>
      The <code>error</code> of a status that is <code>failed</code>. Set your own text by it, or show
      <code>message</code>.
    </p>
    ${table(['Reason', 'Message'], rows)}`;
}

function clients(): Html {
  return html`<h2 id="clients">Clients</h2>
    <p>
      <a href="/openapi.json">openapi.json</a> is this reference as OpenAPI 3.1, for any generator. A typed client for
      TypeScript, generated from it, is in the source under <code>src/client</code>:
    </p>
    ${code(`const api = createApiClient('https://api.example.com', process.env.KEY);
const { data, error } = await api.POST('/video/download', { body: { url, quality: '720' } });`)}`;
}
