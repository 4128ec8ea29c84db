import type { ConsoleSession } from '../../ports/console-sessions.ts';
import type { Handler, Route } from '../site.ts';
import type { OwnerVisit, Visit } from '../visit.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import * as billing from './pages/billing-details.ts';
import * as design from './pages/design.ts';
import * as download from './pages/download.ts';
import * as downloads from './pages/downloads.ts';
import * as invoices from './pages/invoices.ts';
import * as keys from './pages/keys.ts';
import * as overview from './pages/overview.ts';
import * as people from './pages/people.ts';
import * as settings from './pages/settings.ts';
import * as tryIt from './pages/try-it.ts';
import * as signIn from './sign-in.ts';

type OwnerRoute = Route<ConsoleSession, ConsoleDependencies>;

const open = (
  method: OwnerRoute['method'],
  path: string,
  handler: Handler<Visit, ConsoleDependencies>,
): OwnerRoute => ({
  method,
  path: `/console${path}`,
  access: 'everybody',
  handler,
});
const owner = (
  method: OwnerRoute['method'],
  path: string,
  handler: Handler<OwnerVisit, ConsoleDependencies>,
): OwnerRoute => ({ method, path: `/console${path}`, access: 'owner', handler });

/** Every page and every action of the console. */
export const pageRoutes: readonly OwnerRoute[] = [
  open('GET', '/sign-in', signIn.showForm),
  open('POST', '/sign-in', signIn.askForLink),
  open('GET', '/sign-in/:secret', signIn.openLink),
  open('POST', '/sign-in/:secret', signIn.useLink),
  open('GET', '/design', design.show),

  owner('GET', '', overview.show),
  owner('GET', '/downloads', downloads.show),
  owner('GET', '/downloads/live', downloads.follow),
  owner('GET', '/downloads/:token', download.show),
  owner('GET', '/downloads/:token/file', download.openFile),
  owner('GET', '/try', tryIt.show),
  owner('POST', '/try/metadata', tryIt.lookUp),
  owner('POST', '/try/download', tryIt.queue),
  owner('GET', '/keys', keys.show),
  owner('POST', '/keys', keys.issue),
  owner('GET', '/keys/:key/revoke', keys.confirmRevocation),
  owner('POST', '/keys/:key/revoke', keys.revoke),
  owner('GET', '/invoices', invoices.show),
  owner('GET', '/invoices/draft', invoices.showDraft),
  owner('GET', '/invoices/:number', invoices.showInvoice),
  owner('GET', '/credit-notes/:number', invoices.showCreditNote),
  owner('GET', '/settings', settings.show),
  owner('POST', '/settings/cap', settings.changeCap),
  owner('POST', '/settings/billing', billing.changeBilling),
  owner('GET', '/settings/plan/:plan', settings.confirmPlan),
  owner('POST', '/settings/plan/:plan', settings.changePlan),
  owner('POST', '/people', people.invite),
  owner('POST', '/people/:person/remove', people.remove),
  owner('POST', '/sessions/end', people.endSession),
  owner('POST', '/sessions/end-all', signIn.endAllSessions),
  owner('POST', '/sign-out', signIn.signOut),
];
