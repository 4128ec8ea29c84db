import { readFileSync } from 'node:fs';
import { Marked, type MarkedExtension, type Token, type Tokens } from 'marked';
import { code, Html, html, prose } from '../../documents/html.ts';
import type { PlanCatalogue } from '../../domain/plans.ts';

/**
 * The pages of `docs` that an author of a client needs, as chapters of `/docs`: each sentence stands in one place alone. The
 * image of the service has these files (`deploy/Dockerfile`).
 */
const pages = {
  'http-api.md': undefined,
  'errors.md': undefined,
  'platforms.md': ['The platforms', 'Short links', 'Pages in between', 'Refused addresses'],
} as const satisfies Record<string, readonly string[] | undefined>;

type GuidePage = keyof typeof pages;

export interface GuideSection {
  page: GuidePage;
  /** As GitHub makes it of the heading. */
  id: string;
  title: string;
  content: Html;
}

export const docsDirectory = new URL('../../../docs/', import.meta.url);
/** Below `/docs/`, as below `docs`. */
export const programsFolder = 'examples/client/';
/** Not served there: pages about the service itself. */
const unservedPages = /^(?:\.\.\/|billing\.md|operations\.md|decisions\/)/;

/** Reads the chapters, without what stands before the first heading of a page. @param plans those of this service */
export function readGuide(plans: PlanCatalogue): GuideSection[] {
  const names = Object.keys(pages) as GuidePage[];
  return names.flatMap((page) => sectionsOf(page, plans));
}

function sectionsOf(page: GuidePage, plans: PlanCatalogue): GuideSection[] {
  const reader = new Marked<string, string>({ renderer: rendererOf(page, plans) });
  const sections: { title: string; tokens: Token[] }[] = [];
  for (const token of reader.lexer(readFileSync(new URL(page, docsDirectory), 'utf8'))) {
    if (token.type === 'heading') sections.push({ title: (token as Tokens.Heading).text, tokens: [] });
    else sections.at(-1)?.tokens.push(token);
  }
  const wanted: readonly string[] | undefined = pages[page];
  return sections
    .slice(1)
    .filter(({ title }) => wanted?.includes(title) ?? true)
    .map(({ title, tokens }) => ({ page, id: anchorOf(title), title, content: new Html(reader.parser(tokens)) }));
}

const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

type Renderer = NonNullable<MarkedExtension['renderer']>;

function rendererOf(page: GuidePage, plans: PlanCatalogue): Renderer {
  return {
    code: ({ text }) => code(text).text,
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const target = targetOf(page, href);
      return target === undefined ? text : `<a href="${target}">${text}</a>`;
    },
    table({ header, rows }) {
      if (header[0]?.text === 'plan') return planTable(plans).text;
      const cell = ({ tokens }: Tokens.TableCell) => new Html(this.parser.parseInline(tokens));
      return cardTable(
        header.map(({ text }) => text),
        rows.map((row) => row.map(cell)),
      ).text;
    },
  };
}

/** @returns where a link of a page leads to within the service; undefined where the service has no such page */
function targetOf(page: GuidePage, href: string): string | undefined {
  if (href.startsWith('https://') || href.startsWith('#')) return href;
  if (href.startsWith(programsFolder)) return `/docs/${href}`;
  const [path = '', anchor] = href.split('#');
  if (path in pages) return `#${anchor ?? sectionsStart[path as GuidePage]}`;
  if (unservedPages.test(href)) return undefined;
  throw new Error(`docs/${page} links to ${href}, of which /docs does not know whether it is served`);
}

const sectionsStart: Record<GuidePage, string> = {
  'http-api.md': 'requests',
  'errors.md': 'answers-of-the-api',
  'platforms.md': 'the-platforms',
};

const exampleSeconds = 30;

/** How far the requests of an hour go. docs/http-api.md has the plans that the service brings along. */
export const planRows = (plans: PlanCatalogue): Record<string, string>[] =>
  [...plans.values()].map(({ plan, hourly_limit: limit, max_keys, downloads_limit, overage_cents }) => {
    const hasDownloads = downloads_limit > 0 || overage_cents !== null;
    const downloads = (requestsEach: number) => String(hasDownloads ? Math.floor(limit / requestsEach) : 0);
    return {
      plan: `\`${plan}\``,
      'requests in an hour': String(limit),
      'downloads, if each poll waits for the end': downloads(1),
      [`downloads of ${String(exampleSeconds)} seconds, polled each second`]: downloads(1 + exampleSeconds),
      'keys in force': String(max_keys),
    };
  });

function planTable(plans: PlanCatalogue): Html {
  const rows = planRows(plans);
  return cardTable(
    Object.keys(rows[0] ?? {}),
    rows.map((row) => Object.values(row).map(prose)),
  );
}

/** On a small screen, each row is a card with the names of its columns. */
function cardTable(names: readonly string[], rows: readonly Html[][]): Html {
  return html`<table class="cards">
    <thead>
      <tr>
        ${names.map((name) => html`<th>${prose(name)}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (cells) =>
          html`<tr>
            ${cells.map((cell, index) => html`<td data-label="${names[index]?.replaceAll('`', '')}">${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
