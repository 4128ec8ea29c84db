import type { StaffRole } from '../../domain/staff-events.ts';
import type { StaffSession } from '../../ports/staff-sessions.ts';
import type { Handler, Route } from '../site.ts';
import type { StaffVisit, Visit } from '../visit.ts';
import type { StaffDependencies } from './dependencies.ts';
import * as operation from './pages/operation.ts';
import * as reference from './pages/reference.ts';
import * as start from './pages/start.ts';
import * as providerSignIn from './sign-in/provider-sign-in.ts';
import * as session from './sign-in/session.ts';
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
export const routes: readonly StaffRoute[] = [
  open('GET', '/sign-in', signIn.showForm),
  open('POST', '/sign-in', signIn.askForLink),
  open('GET', '/sign-in/with-provider', providerSignIn.begin),
  open('GET', '/sign-in/provider', providerSignIn.finish),
  open('GET', '/sign-in/:secret', signIn.openLink),
  open('POST', '/sign-in/:secret', signIn.useLink),
  open('GET', '/docs', reference.show),

  staff('GET', '', 'support', start.show),
  staff('GET', '/operation', 'support', operation.show),
  staff('POST', '/sign-out', 'support', session.signOut),
];
