import { html, Html } from '../documents/html.ts';
import type { ConsoleSession } from '../ports/console-sessions.ts';
import type { Assets } from './assets.ts';
import type { Page, Section } from './visit.ts';

/** The parts of the console, in the order of its menu, each with the letter that opens it after `g`. */
const sections: readonly { section: Section; name: string; path: string; letter: string }[] = [
  { section: 'overview', name: 'Overview', path: '/console', letter: 'o' },
  { section: 'downloads', name: 'Downloads', path: '/console/downloads', letter: 'd' },
  { section: 'try', name: 'Try it', path: '/console/try', letter: 't' },
  { section: 'keys', name: 'API keys', path: '/console/keys', letter: 'k' },
  { section: 'invoices', name: 'Invoices', path: '/console/invoices', letter: 'i' },
  { section: 'settings', name: 'Settings', path: '/console/settings', letter: 's' },
];

interface Around {
  assets: Assets;
  session: ConsoleSession | undefined;
  isDemo: boolean;
}

/** A whole page: what is on all of them, around what is its own. */
export function layout(page: Page, { assets, session, isDemo }: Around): Html {
  const { title, content, section, islands = [] } = page;
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
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <div class="shell">
          ${session && menu(session, section, isDemo)}
          <main id="content" tabindex="-1" class="${!session && 'alone'}">
            ${!session && html`<p class="brand">Reeltally</p>`}
            <h1>${title}</h1>
            ${content}
          </main>
        </div>
        ${session && keyboardHelp()}
      </body>
    </html> `;
}

function menu({ accountId, formToken }: ConsoleSession, current: Section | undefined, isDemo: boolean): Html {
  return html`<header class="menu">
    <p class="brand"><a href="/console">Reeltally</a>${isDemo && html` <span class="tag">demo</span>`}</p>
    <nav aria-label="Console">
      <ul>
        ${sections.map(
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
      <p><code title="Your account">${accountId}</code></p>
      <form method="post" action="/console/sign-out">
        ${formTokenField({ formToken })}
        <button class="quiet">Sign out</button>
      </form>
      <p class="keys-hint">
        <button class="quiet" type="button" data-help hidden>Keys: <kbd>?</kbd></button>
      </p>
    </div>
  </header>`;
}

/** Every form that changes something has it. */
export const formTokenField = ({ formToken }: Pick<ConsoleSession, 'formToken'>): Html =>
  html`<input type="hidden" name="form_token" value="${formToken}" />`;

function keyboardHelp(): Html {
  const rows = [
    ['/', 'search downloads'],
    ...sections.map(({ letter, name }) => [`g ${letter}`, name]),
    ['j  k', 'next and previous row of a table'],
    ['Enter', 'open the row'],
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
