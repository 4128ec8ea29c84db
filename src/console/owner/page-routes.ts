import type { ConsoleSession } from '../../ports/console-sessions.ts';
import { type Route, routesBelow } from '../site.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import * as billing from './pages/billing-details.ts';
import * as design from './pages/design.ts';
import * as download from './pages/download.ts';
import * as downloads from './pages/downloads.ts';
import * as history from './pages/history.ts';
import * as invoices from './pages/invoices.ts';
import * as keyLimit from './pages/key-limit.ts';
import * as keyUsage from './pages/key-usage.ts';
import * as keys from './pages/keys.ts';
import * as overview from './pages/overview.ts';
import * as people from './pages/people.ts';
import * as settings from './pages/settings.ts';
import * as tryIt from './pages/try-it.ts';
import * as signIn from './sign-in.ts';

const { filtered, open, signedIn } = routesBelow<ConsoleSession, ConsoleDependencies>('/console');

/** Every page and every action of the console. */
export const pageRoutes: readonly Route<ConsoleSession, ConsoleDependencies>[] = [
  open('GET', '/sign-in', signIn.showForm),
  open('POST', '/sign-in', signIn.askForLink, signIn.showForm),
  open('GET', '/sign-in/:secret', signIn.openLink),
  open('POST', '/sign-in/:secret', signIn.useLink),
  open('GET', '/design', design.show),

  signedIn('GET', '', 'owner', overview.show),
  signedIn('GET', '/usage.csv', 'owner', overview.saveCsv),
  filtered('/downloads', 'owner', downloads.show),
  filtered('/downloads.csv', 'owner', downloads.saveCsv, downloads.show),
  signedIn('GET', '/downloads/live', 'owner', downloads.follow),
  signedIn('GET', '/downloads/:token', 'owner', download.show),
  signedIn('GET', '/downloads/:token/file', 'owner', download.openFile),
  signedIn('GET', '/try', 'owner', tryIt.show),
  signedIn('POST', '/try/metadata', 'owner', tryIt.lookUp, tryIt.show),
  signedIn('POST', '/try/download', 'owner', tryIt.queue, tryIt.show),
  signedIn('GET', '/keys', 'owner', keys.show),
  signedIn('POST', '/keys', 'owner', keys.issue, keys.show),
  signedIn('GET', '/keys/usage', 'owner', keyUsage.show),
  signedIn('GET', '/keys/:key/limit', 'owner', keyLimit.show),
  signedIn('POST', '/keys/:key/limit', 'owner', keyLimit.change, keyLimit.show),
  signedIn('GET', '/keys/:key/revoke', 'owner', keys.confirmRevocation),
  signedIn('POST', '/keys/:key/revoke', 'owner', keys.revoke),
  signedIn('GET', '/invoices', 'owner', invoices.show),
  signedIn('GET', '/invoices.csv', 'owner', invoices.saveCsv),
  signedIn('GET', '/invoices/draft', 'owner', invoices.showDraft),
  signedIn('GET', '/invoices/:number', 'owner', invoices.showInvoice),
  signedIn('GET', '/credit-notes/:number', 'owner', invoices.showCreditNote),
  filtered('/history', 'owner', history.show),
  signedIn('GET', '/settings', 'owner', settings.show),
  signedIn('POST', '/settings/cap', 'owner', settings.changeCap, settings.show),
  signedIn('POST', '/settings/billing', 'owner', billing.changeBilling, settings.show),
  signedIn('GET', '/settings/plan/:plan', 'owner', settings.confirmPlan),
  signedIn('POST', '/settings/plan/:plan', 'owner', settings.changePlan),
  signedIn('POST', '/settings/keep-plan', 'owner', settings.keepPlan, settings.show),
  signedIn('POST', '/settings/closing', 'owner', settings.requestClosing, settings.show),
  signedIn('POST', '/settings/people', 'owner', people.invite, settings.show),
  signedIn('POST', '/settings/people/:person/invite-again', 'owner', people.inviteAgain, settings.show),
  signedIn('POST', '/settings/people/:person/remove', 'owner', people.remove),
  signedIn('POST', '/settings/sessions/end', 'owner', people.endSession),
  signedIn('POST', '/settings/sessions/end-all', 'owner', signIn.endAllSessions),
  signedIn('POST', '/sign-out', 'owner', signIn.signOut),
];
