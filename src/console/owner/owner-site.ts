import { readAccount } from '../../commands/accounts.ts';
import { html } from '../../documents/html.ts';
import type { ConsoleSession } from '../../ports/console-sessions.ts';
import { ownerCookies } from '../sign-in/cookies.ts';
import type { MenuEntry, Site } from '../site.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { pageRoutes } from './page-routes.ts';

/** The parts of the console, in the order of its menu. */
const entries: readonly MenuEntry[] = [
  { section: 'overview', name: 'Overview', path: '/console', letter: 'o' },
  { section: 'downloads', name: 'Downloads', path: '/console/downloads', letter: 'd' },
  { section: 'try', name: 'Try it', path: '/console/try', letter: 't' },
  { section: 'keys', name: 'API keys', path: '/console/keys', letter: 'k' },
  { section: 'invoices', name: 'Invoices', path: '/console/invoices', letter: 'i' },
  { section: 'settings', name: 'Settings', path: '/console/settings', letter: 's' },
];

/** The console of account owners. */
export const ownerSite: Site<ConsoleSession, ConsoleDependencies> = {
  base: '/console',
  addressSetting: 'PUBLIC_URL',
  routes: pageRoutes,
  cookieNames: ownerCookies,
  menu: {
    name: 'Console',
    searches: 'downloads',
    entries: () => entries,
    who: ({ accountId }) => html`<p><code title="Your account">${accountId}</code></p>`,
  },
  partName: 'pages of the console',
  readerOf: ({ accountId }) => accountId,
  findSession: ({ sessions }, secret) => sessions.find(secret),
  findSessions: async ({ sessions }, held) => {
    const alive = await sessions.findAlive(held);
    return new Map(held.filter(({ sessionId }) => alive.has(sessionId)).map((session) => [session.sessionId, session]));
  },
  mayOpen: () => true,
  isConfirmed: async ({ store, accountCache }, _access, { accountId, personId }) => {
    const { people, closed } = await readAccount(store, accountId, accountCache);
    const person = people.get(personId);
    return person !== undefined && !person.removed && !closed;
  },
};
