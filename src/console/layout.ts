import { Html, html } from '../documents/html.ts';
import type { Assets } from './assets/assets.ts';
import { formTokenField } from './form-fields.ts';
import type { MenuEntry, Site, SiteSession } from './site.ts';
import type { Page, Section } from './visit.ts';

interface Around<Session> {
  assets: Assets;
  site: Pick<Site<Session, never>, 'base' | 'menu' | 'readerOf'>;
  session: Session | undefined;
  isDemo: boolean;
  /** Whether the page is the answer to a form. */
  isAnswer: boolean;
}

/** A whole page: what is on all of them, around what is its own. */
export function layout<Session extends SiteSession>(page: Page, around: Around<Session>): Html {
  const { assets, site, session } = around;
  const { title, content, section, islands = [], keys = [] } = page;
  const entries = session ? site.menu.entries(session) : [];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Reeltally</title>
        <link rel="icon" href="${assets.script('icon.svg')}" />
        ${assets.stylesheets.map((address) => html`<link rel="stylesheet" href="${address}" />`)} ${assets.importMap}
        ${['console', ...islands].map((name) => html`<script type="module" src="${assets.script(name)}"></script>`)}
      </head>
      <body
        ${around.isAnswer && html`data-answer="${page.address ?? ''}"`}
        ${session && html`data-reader="${site.readerOf(session)}"`}
      >
        <a class="skip" href="#content">Skip to the content</a>
        <div class="shell">
          ${session && menu(entries, { ...around, session, section })}
          <main id="content" tabindex="-1" class="${!session && 'alone'}">
            ${!session && html`<p class="brand">Reeltally</p>`}
            <h1>${title}</h1>
            ${content}
          </main>
        </div>
        ${session && keyboardHelp(entries, site.menu.searches, keys)}
      </body>
    </html> `;
}

function menu<Session extends SiteSession>(
  entries: readonly MenuEntry[],
  { site, session, section: current, isDemo }: Around<Session> & { session: Session; section: Section | undefined },
): Html {
  const { base, menu } = site;
  return html`<header class="menu">
    <p class="brand"><a href="${base}">Reeltally</a>${isDemo && html` <span class="tag">demo</span>`}</p>
    ${menu.search?.(session)}
    <nav aria-label="${menu.name}">
      <ul>
        ${entries.map(
          ({ section, name, path, letter }) =>
            html`<li>
              <a href="${path}" data-go="${letter}" ${section === current && new Html('aria-current="page"')}
                >${name}</a
              >
            </li>`,
        )}
      </ul>
    </nav>
    <div class="who">
      ${menu.who(session)}
      <form method="post" action="${base}/sign-out">
        ${formTokenField(session)}
        <button class="quiet">Sign out</button>
      </form>
      <p class="keys-hint">
        <button class="quiet" type="button" data-help hidden>Keys: <kbd>?</kbd></button>
      </p>
    </div>
  </header>`;
}

function keyboardHelp(entries: readonly MenuEntry[], searches: string, ofPage: NonNullable<Page['keys']>): Html {
  const rows = [
    ['/', `search ${searches}`],
    ...entries.map(({ letter, name }) => [`g ${letter}`, name]),
    ['j  k', 'next and previous row of a table'],
    ['Enter', 'open the row'],
    ...ofPage,
    ['?', 'this help'],
  ];
  return html`<dialog id="keyboard-help" aria-labelledby="keyboard-help-title">
    <h2 id="keyboard-help-title">Keys</h2>
    <dl class="keys">
      ${rows.map(
        ([key = '', what]) =>
          html`<dt>${key.split(/\s+/).map((each) => html`<kbd>${each}</kbd> `)}</dt>
            <dd>${what}</dd>`,
      )}
    </dl>
    <form method="dialog"><button>Close</button></form>
  </dialog>`;
}
