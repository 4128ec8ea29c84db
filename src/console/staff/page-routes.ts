import type { StaffRole } from '../../domain/staff-events.ts';
import type { StaffSession } from '../../ports/staff-sessions.ts';
import type { Handler, Route } from '../site.ts';
import type { StaffVisit, Visit } from '../visit.ts';
import type { StaffDependencies } from './dependencies.ts';
import * as account from './pages/account.ts';
import * as accountDownloads from './pages/account-downloads.ts';
import * as charges from './pages/charges.ts';
import * as correction from './pages/correction.ts';
import * as corrections from './pages/corrections.ts';
import * as creditLine from './pages/credit-line.ts';
import * as download from './pages/download.ts';
import * as event from './pages/event.ts';
import * as followDownload from './pages/follow-download.ts';
import * as giveBack from './pages/give-back.ts';
import * as invoice from './pages/invoice.ts';
import * as months from './pages/months.ts';
import * as notices from './pages/notices.ts';
import * as operation from './pages/operation.ts';
import * as overage from './pages/overage.ts';
import * as people from './pages/people.ts';
import * as person from './pages/person.ts';
import * as platformOutage from './pages/platform-outage.ts';
import * as reference from './pages/reference.ts';
import * as search from './pages/search-by-id-or-number.ts';
import * as start from './pages/start.ts';
import * as work from './pages/work.ts';
import * as providerSignIn from './sign-in/provider-sign-in.ts';
import * as signIn from './sign-in/sign-in.ts';

type StaffRoute = Route<StaffSession, StaffDependencies>;

const open = (method: StaffRoute['method'], path: string, handler: Handler<Visit, StaffDependencies>): StaffRoute => ({
  method,
  path: `/staff${path}`,
  access: 'everybody',
  handler,
});
/** @param access the least role: those above it may open it too */
const staff = (
  method: StaffRoute['method'],
  path: string,
  access: StaffRole,
  handler: Handler<StaffVisit, StaffDependencies>,
): StaffRoute => ({ method, path: `/staff${path}`, access, handler });

/** Every page and every action of the staff console. */
export const pageRoutes: readonly StaffRoute[] = [
  open('GET', '/sign-in', signIn.showForm),
  open('POST', '/sign-in', signIn.askForLink),
  open('GET', '/sign-in/with-provider', providerSignIn.begin),
  open('GET', '/sign-in/provider', providerSignIn.finish),
  open('GET', '/sign-in/:secret', signIn.openLink),
  open('POST', '/sign-in/:secret', signIn.useLink),
  open('GET', '/docs', reference.show),

  staff('GET', '', 'support', start.show),
  staff('GET', '/search', 'support', search.begin),
  staff('POST', '/search', 'support', search.find),
  staff('GET', '/accounts/:account', 'support', account.show),
  staff('GET', '/accounts/:account/downloads', 'support', accountDownloads.show),
  staff('GET', '/downloads/:token', 'support', download.show),
  staff('GET', '/overage', 'support', overage.show),
  staff('GET', '/overage.csv', 'support', overage.files.csv),
  staff('GET', '/overage.json', 'support', overage.files.json),
  staff('GET', '/corrections', 'support', corrections.show),
  staff('GET', '/corrections/outage', 'support', platformOutage.show),
  staff('POST', '/corrections/outage', 'support', platformOutage.ask),
  staff('GET', '/corrections/:id', 'support', correction.show),
  staff('POST', '/corrections/:id/approve', 'finance', correction.approve),
  staff('POST', '/corrections/:id/refuse', 'support', correction.refuse),
  staff('GET', '/downloads/:token/correct', 'support', giveBack.show),
  staff('POST', '/downloads/:token/correct', 'support', giveBack.ask),
  staff('GET', '/accounts/:account/invoices/:number', 'support', invoice.show),
  staff('GET', '/accounts/:account/credit-notes/:number', 'support', invoice.showCreditNote),
  staff('GET', '/accounts/:account/invoices/:number/lines/:line/credit', 'support', creditLine.show),
  staff('POST', '/accounts/:account/invoices/:number/lines/:line/credit', 'support', creditLine.ask),
  staff('GET', '/overage/:account/:day', 'support', charges.show),
  staff('GET', '/overage/:account/:day.csv', 'support', charges.files.csv),
  staff('GET', '/overage/:account/:day.json', 'support', charges.files.json),
  staff('GET', '/overage/:account/:day/events.csv', 'support', charges.filesOfEvents.csv),
  staff('GET', '/overage/:account/:day/events.json', 'support', charges.filesOfEvents.json),
  staff('GET', '/months', 'support', months.list),
  staff('GET', '/months/:month', 'support', months.show),
  staff('GET', '/months/:month.csv', 'support', months.files.csv),
  staff('GET', '/months/:month.json', 'support', months.files.json),
  staff('GET', '/downloads/:token/live', 'support', followDownload.follow),
  staff('GET', '/events/:id', 'support', event.show),

  staff('GET', '/operation', 'support', operation.show),
  staff('POST', '/operation/acknowledge', 'admin', operation.acknowledge),
  staff('GET', '/operation/work', 'support', work.show),
  staff('GET', '/operation/notices', 'support', notices.show),
  staff('GET', '/people', 'admin', people.show),
  staff('POST', '/people', 'admin', people.invite),
  staff('GET', '/people/looks', 'admin', people.showAccessRecords),
  staff('GET', '/people/:person', 'admin', person.show),
  staff('POST', '/people/:person/role', 'admin', person.changeRole),
  staff('POST', '/people/:person/remove', 'admin', person.remove),
  staff('POST', '/people/:person/tokens', 'admin', person.issueToken),
  staff('POST', '/people/:person/tokens/:token/revoke', 'admin', person.revokeToken),

  staff('POST', '/sign-out', 'support', signIn.signOut),
];
