import type { StaffSession } from '../../ports/staff-sessions.ts';
import { type Route, routesBelow } from '../site.ts';
import type { StaffDependencies } from './dependencies.ts';
import * as account from './pages/account.ts';
import * as accountDownloads from './pages/account-downloads.ts';
import * as accountLife from './pages/account-life.ts';
import * as charges from './pages/charges.ts';
import * as correction from './pages/correction.ts';
import * as corrections from './pages/corrections.ts';
import * as creditLine from './pages/credit-line.ts';
import * as documentMails from './pages/document-mails.ts';
import * as download from './pages/download.ts';
import * as event from './pages/event.ts';
import * as followDownload from './pages/follow-download.ts';
import * as giveBack from './pages/give-back.ts';
import * as history from './pages/history.ts';
import * as invoice from './pages/invoice.ts';
import * as months from './pages/months.ts';
import * as notices from './pages/notices.ts';
import * as operation from './pages/operation.ts';
import * as overage from './pages/overage.ts';
import * as people from './pages/people.ts';
import * as person from './pages/person.ts';
import * as platformOutage from './pages/platform-outage.ts';
import * as reference from './pages/reference.ts';
import * as salesBook from './pages/sales-book.ts';
import * as search from './pages/search-by-id-or-number.ts';
import * as start from './pages/start.ts';
import * as work from './pages/work.ts';
import * as providerSignIn from './sign-in/provider-sign-in.ts';
import * as signIn from './sign-in/sign-in.ts';

const { filtered, open, signedIn } = routesBelow<StaffSession, StaffDependencies>('/staff');

/** Every page and every action of the staff console, with the least role: those above it may open it too. */
export const pageRoutes: readonly Route<StaffSession, StaffDependencies>[] = [
  open('GET', '/sign-in', signIn.showForm),
  open('POST', '/sign-in', signIn.askForLink, signIn.showForm),
  open('GET', '/sign-in/with-provider', providerSignIn.begin),
  open('GET', '/sign-in/provider', providerSignIn.finish),
  open('GET', '/sign-in/:secret', signIn.openLink),
  open('POST', '/sign-in/:secret', signIn.useLink),
  open('GET', '/docs', reference.show),

  signedIn('GET', '', 'support', start.show),
  signedIn('GET', '/search', 'support', search.showAgain),
  signedIn('POST', '/search', 'support', search.find),
  signedIn('GET', '/accounts/:account', 'support', account.show),
  filtered('/accounts/:account/downloads', 'support', accountDownloads.show),
  filtered('/accounts/:account/downloads.csv', 'support', accountDownloads.saveCsv, accountDownloads.show),
  filtered('/accounts/:account/history', 'support', history.show),
  signedIn('POST', '/accounts/:account/suspend', 'finance', accountLife.suspend, account.show),
  signedIn('POST', '/accounts/:account/lift-suspension', 'finance', accountLife.lift, account.show),
  signedIn('POST', '/accounts/:account/close', 'finance', accountLife.close, account.show),
  signedIn('GET', '/downloads/:token', 'support', download.show),
  filtered('/overage', 'support', overage.show),
  filtered('/overage.csv', 'support', overage.files.csv, overage.show),
  signedIn('GET', '/overage.json', 'support', overage.files.json),
  filtered('/corrections', 'support', corrections.show),
  filtered('/corrections.csv', 'support', corrections.files.csv, corrections.show),
  signedIn('GET', '/corrections.json', 'support', corrections.files.json),
  filtered('/corrections/outage', 'support', platformOutage.show),
  signedIn('POST', '/corrections/outage', 'support', platformOutage.ask, platformOutage.show),
  signedIn('GET', '/corrections/:id', 'support', correction.show),
  signedIn('POST', '/corrections/:id/approve', 'finance', correction.approve, correction.show),
  signedIn('POST', '/corrections/:id/refuse', 'support', correction.refuse, correction.show),
  signedIn('GET', '/downloads/:token/correct', 'support', giveBack.showOfDownload),
  signedIn('POST', '/downloads/:token/correct', 'support', giveBack.askOfDownload, giveBack.showOfDownload),
  signedIn('GET', '/accounts/:account/invoices/:number', 'support', invoice.show),
  signedIn('GET', '/accounts/:account/credit-notes/:number', 'support', invoice.showCreditNote),
  signedIn('POST', '/accounts/:account/invoices/:number/mails', 'support', documentMails.askOfInvoice, invoice.show),
  signedIn(
    'POST',
    '/accounts/:account/credit-notes/:number/mails',
    'support',
    documentMails.askOfCreditNote,
    invoice.showCreditNote,
  ),
  signedIn('GET', '/accounts/:account/invoices/:number/lines/:line/credit', 'support', creditLine.show),
  signedIn(
    'POST',
    '/accounts/:account/invoices/:number/lines/:line/credit',
    'support',
    creditLine.ask,
    creditLine.show,
  ),
  filtered('/overage/:account/:day', 'support', charges.show),
  filtered('/overage/:account/:day.csv', 'support', charges.files.csv, charges.show),
  signedIn('GET', '/overage/:account/:day.json', 'support', charges.files.json),
  signedIn('GET', '/overage/:account/:day/give-back', 'support', giveBack.showTicked),
  signedIn('POST', '/overage/:account/:day/give-back', 'support', giveBack.askTicked, giveBack.showTicked),
  signedIn('GET', '/overage/:account/:day/events.csv', 'support', charges.filesOfEvents.csv),
  signedIn('GET', '/overage/:account/:day/events.json', 'support', charges.filesOfEvents.json),
  signedIn('GET', '/months', 'support', months.list),
  signedIn('GET', '/months.csv', 'support', months.filesOfMonths.csv),
  signedIn('GET', '/months.json', 'support', months.filesOfMonths.json),
  filtered('/months/:month', 'support', months.show),
  filtered('/months/:month.csv', 'support', months.files.csv, months.show),
  signedIn('GET', '/months/:month.json', 'support', months.files.json),
  filtered('/sales-book', 'finance', salesBook.show),
  filtered('/sales-book.csv', 'finance', salesBook.files.csv, salesBook.show),
  signedIn('GET', '/sales-book.json', 'finance', salesBook.files.json),
  signedIn('GET', '/downloads/:token/live', 'support', followDownload.follow),
  signedIn('GET', '/events/:id', 'support', event.show),

  signedIn('GET', '/operation', 'support', operation.show),
  signedIn('POST', '/operation/acknowledge', 'admin', operation.acknowledge, operation.show),
  signedIn('GET', '/operation/work', 'support', work.show),
  signedIn('GET', '/operation/notices', 'support', notices.show),
  signedIn('GET', '/people', 'admin', people.show),
  signedIn('POST', '/people', 'admin', people.invite, people.show),
  filtered('/people/looks', 'admin', people.showAccessRecords),
  signedIn('GET', '/people/:person', 'admin', person.show),
  signedIn('POST', '/people/:person/invite-again', 'admin', person.inviteAgain, person.show),
  signedIn('POST', '/people/:person/role', 'admin', person.changeRole, person.show),
  signedIn('POST', '/people/:person/remove', 'admin', person.remove, person.show),
  signedIn('POST', '/people/:person/tokens', 'admin', person.issueToken, person.show),
  signedIn('POST', '/people/:person/tokens/:token/revoke', 'admin', person.revokeToken, person.show),

  signedIn('POST', '/sign-out', 'support', signIn.signOut),
];
