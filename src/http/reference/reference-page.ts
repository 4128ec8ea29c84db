import { Html, html, prose } from '../../documents/html.ts';
import { type ListedOperation, type OpenApiDocument, operationsOf } from '../../openapi/document.ts';
import type { GuideSection } from './guide.ts';
import { clients, guideChapters, quickStart, variables } from './page-chapters.ts';
import { endpointSection, methodBadge, pathPrefix } from './page-endpoint.ts';
import { languages, type ShownService } from './page-requests.ts';
import { pageScript } from './page-script.ts';
import { pageStyle } from './page-style.ts';

interface ReferencePage {
  document: OpenApiDocument;
  guide: readonly GuideSection[];
  shown: ShownService;
  /** The reader's API key, if it is known. */
  key: string | undefined;
}

/**
 * The whole book for authors of clients: one page made from the document and the guide, with nothing from elsewhere. It can be
 * read without its script, which searches, copies, fills the reader's key in, and folds the endpoints on a small screen.
 */
export function renderPage({ document, guide, shown, key }: ReferencePage): string {
  const { info } = document;
  const operations = operationsOf(document);
  const apiUrl = shown.origin + pathPrefix(document);
  const sectionsOf = (...pages: readonly GuideSection['page'][]) => guide.filter(({ page }) => pages.includes(page));
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
          ${navigation(document, operations, sectionsOf)}
          <main>
            <h1>${info.title}</h1>
            <p class="lead">${info.summary}, version ${info.version}</p>
            ${info.description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
            ${variables(shown, key)} ${quickStart(apiUrl, shown)}
            ${guideChapters(sectionsOf('http-api.md'), apiUrl, shown)}
            ${operations.map((operation) => endpointSection(document, operation))}
            ${guideChapters(sectionsOf('errors.md', 'platforms.md'), apiUrl, shown)} ${clients()}
          </main>
        </div>
        <script>
          ${new Html(pageScript)};
        </script>
      </body>
    </html>`;
  return page.text;
}

function navigation(
  { info, tags = [] }: OpenApiDocument,
  operations: readonly ListedOperation[],
  sectionsOf: (...pages: readonly GuideSection['page'][]) => readonly GuideSection[],
): Html {
  const linksTo = (sections: readonly GuideSection[]) =>
    sections.map(({ id, title }) => html`<a href="#${id}">${title}</a>`);

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
      <a href="#begin">Begin here</a><a href="#start">Quick start</a>
      <strong>Guide</strong>
      ${linksTo(sectionsOf('http-api.md'))}
      ${tags.map(
        ({ name }) =>
          html`<strong>${name}</strong> ${operations
              .filter(({ tags: own }) => own?.includes(name))
              .map(
                ({ operationId, method, path }) => html`<a href="#${operationId}">${methodBadge(method)} ${path}</a>`,
              )}`,
      )}
      <strong>Errors</strong>
      ${linksTo(sectionsOf('errors.md'))}
      <strong>Addresses of videos</strong>
      ${linksTo(sectionsOf('platforms.md'))}
      <strong>More</strong>
      <a href="#clients">Clients</a>
      <a href="/openapi.json">openapi.json</a>
    </details>
  </nav>`;
}
