import { columnTable, Html, html, prose } from '../../documents/html.ts';
import { type JsonSchema, type ListedOperation, type OpenApiDocument, operationsOf } from '../../openapi/document.ts';
import { chapter, clients, quickStart, retries } from './page-chapters.ts';
import { endpointSection, errorsOf, errorTable, methodBadge, pathPrefix } from './page-endpoint.ts';
import { languages } from './page-requests.ts';
import { pageScript } from './page-script.ts';
import { pageStyle } from './page-style.ts';

/**
 * The reference for people: one page made from the document alone, with nothing from elsewhere. It can be read without its
 * script, which searches, copies, and folds the endpoints on a small screen.
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
            ${operations.map((operation) => endpointSection(document, operation, apiUrl))}
            ${retries(operations, apiUrl)} ${errors(document)} ${reasons(document)} ${clients()}
          </main>
        </div>
        <script>
          ${new Html(pageScript)};
        </script>
      </body>
    </html>`;
  return page.text;
}

function navigation({ info }: OpenApiDocument, operations: readonly ListedOperation[]): Html {
  return html`<nav>
    <a class="name" href="#">${info.title}</a>
    <fieldset class="languages">
      <legend>Examples in</legend>
      ${Object.entries(languages).map(
        ([id, name]) =>
          html`<label
            ><input type="radio" name="language" id="in-${id}" ${id === 'curl' && 'checked'} />${name}</label
          >`,
      )}
    </fieldset>
    <div class="search" hidden>
      <input type="search" placeholder="Search (press /)" aria-label="Search this page" autocomplete="off" />
      <div class="hits" aria-live="polite"></div>
    </div>
    <details class="contents" open>
      <summary>Contents</summary>
      <strong>Begin</strong>
      <a href="#start">Quick start</a><a href="#key">Keys</a><a href="#headers">Headers</a>
      <strong>Endpoints</strong>
      ${operations.map(({ operationId, method, path }) => html`<a href="#${operationId}">${methodBadge(method)} ${path}</a>`)}
      <strong>More</strong>
      <a href="#retries">Retries</a><a href="#errors">Errors</a><a href="#reasons">Why a download fails</a
      ><a href="#clients">Clients</a>
      <a href="/openapi.json">openapi.json</a>
    </details>
  </nav>`;
}

function authentication({ components }: OpenApiDocument): Html {
  const schemes = Object.values(components.securitySchemes);
  const content = html`${schemes.map(({ description }) => html`<p>${prose(description)}</p>`)}
    <p>
      A key is shown once, when it is issued. Each key has an hourly limit of its own; credits belong to the account and
      are shared by its keys. A key that is missing, invalid or revoked is answered <code>401</code>.
    </p>`;
  return chapter('key', 'Keys', content);
}

function headers({ components }: OpenApiDocument): Html {
  const content = html`<p>Every answer of the API has these headers, errors included.</p>
    ${columnTable(Object.entries(components.headers ?? {}), {
      Header: ([name]) => html`<code>${name}</code>`,
      '': ([, { description }]) => description,
    })}`;
  return chapter('headers', 'Headers', content);
}

function errors(document: OpenApiDocument): Html {
  const found = new Map(
    operationsOf(document)
      .flatMap((operation) => errorsOf(document, operation))
      .map((error) => [`${error.status} ${error.name}`, error]),
  );
  found.set('405 method_not_allowed', {
    status: '405',
    name: 'method_not_allowed',
    text: 'A known path with another method; the header Allow names the right one',
  });
  const all = [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, error]) => error);
  const content = html`<p>
      An unknown path is answered <code>404</code> <code>not_found</code> as well. With <code>429</code> and
      <code>503</code>, <code>Retry-After</code> says how many seconds to wait.
    </p>
    ${errorTable(all)}`;
  return chapter('errors', 'Errors', content);
}

function reasons({ components }: OpenApiDocument): Html {
  const texts = Object.values(components.schemas ?? {}).flatMap(({ properties = {} }: JsonSchema) =>
    Object.values(properties).flatMap((field) => Object.entries(field['x-enumDescriptions'] ?? {})),
  );
  const content = html`<p>
      The <code>error</code> of a <code>failed</code> download. Show a text of your own for it, or <code>message</code>.
    </p>
    ${columnTable(texts, { Reason: ([name]) => html`<code>${name}</code>`, Message: ([, text]) => text })}`;
  return chapter('reasons', 'Why a download fails', content);
}
