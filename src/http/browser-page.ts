import type { FastifyReply, FastifyRequest } from 'fastify';
import { Html, html } from '../documents/html.ts';

/** Small pages for people who meet the service in a browser. */

const style = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #fff; --accent: #0b63b5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa6b5; --paper: #12161c; --accent: #6db3f2; } }
body { margin: 0 auto; max-width: 36rem; padding: 12vh 1.5rem 3rem; color: var(--ink); background: var(--paper);
  font: 17px/1.6 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0 0 .6rem; font-size: 1.9rem; line-height: 1.2; }
p { margin: 0 0 1rem; } .soft { color: var(--soft); font-size: .85rem; } a { color: var(--accent); }
code { font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; font-size: .88em; }
`;

/**
 * Headers of a self-contained page: nothing else is loaded, and a script that got in by accident does not run.
 *
 * @param scriptHash of the one script that may run, such as `sha256-…`
 */
export function pageHeaders(scriptHash?: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    ...(scriptHash === undefined ? [] : [`script-src '${scriptHash}'`]),
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'X-Content-Type-Options': 'nosniff',
  };
}

export interface Page {
  title: string;
  content: Html;
}

export function sendPage(reply: FastifyReply, { title, content }: Page): FastifyReply {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${new Html(style)}
        </style>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>`;
  return reply.headers(pageHeaders()).send(page.text);
}

/**
 * Reads from Accept (RFC 9110 section 12.5.1) if a client prefers a page to JSON: browsers name HTML and give the rest less
 * weight, programs name JSON or accept anything.
 */
export function prefersPage({ headers: { accept = '' } }: FastifyRequest): boolean {
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { type, weight: weight === undefined ? 1 : Number(weight) };
  });
  const weightOf = (...types: string[]) => {
    const named = types.flatMap((name) => ranges.filter(({ type }) => type === name));
    return named[0]?.weight ?? 0;
  };
  return weightOf('text/html', 'text/*', '*/*') > weightOf('application/json', 'application/*', '*/*');
}
