import { html } from '../../documents/html.ts';
import { hasRole } from '../../domain/staff.ts';
import type { StaffSession } from '../../ports/staff-sessions.ts';
import { formTokenField } from '../form-fields.ts';
import { staffCookies } from '../sign-in/cookies.ts';
import type { MenuEntry, Site } from '../site.ts';
import type { StaffDependencies } from './dependencies.ts';
import { pageRoutes } from './page-routes.ts';
import { findStaffSession, findStaffSessions, isStaffConfirmed } from './sign-in/find-session.ts';

const entries: readonly MenuEntry[] = [
  { section: 'search', name: 'Search', path: '/staff', letter: 's' },
  { section: 'corrections', name: 'Corrections', path: '/staff/corrections', letter: 'c' },
  { section: 'overage', name: 'Overage', path: '/staff/overage', letter: 'o' },
  { section: 'months', name: 'Months', path: '/staff/months', letter: 'm' },
  { section: 'operation', name: 'Operation', path: '/staff/operation', letter: 'r' },
];
const forAdmins: MenuEntry = { section: 'people', name: 'People', path: '/staff/people', letter: 'p' };

/** The console of the service's own people: support, finance, admins. */
export const staffSite: Site<StaffSession, StaffDependencies> = {
  base: '/staff',
  addressSetting: 'STAFF_URL',
  routes: pageRoutes,
  cookieNames: staffCookies,
  menu: {
    name: 'Staff console',
    searches: 'everything',
    entries: ({ role }) => (hasRole(role, 'admin') ? [...entries, forAdmins] : entries),
    // What is searched for may be personal data: it is sent in a body, and stands in no address.
    search: (session) =>
      html`<form method="post" action="/staff/search" role="search" class="search">
        ${formTokenField(session)}
        <label class="visually-hidden" for="search">Search</label>
        <input
          type="search"
          id="search"
          name="search"
          placeholder="Search"
          autocomplete="off"
          maxlength="2048"
          required
        />
        <button class="second">Find</button>
      </form>`,
    who: ({ staffId, role }) =>
      html`<p><span class="tag info">${role}</span></p>
        <p><code title="You">${staffId}</code></p>`,
  },
  partName: 'pages of the staff console',
  findSession: findStaffSession,
  findSessions: findStaffSessions,
  mayOpen: (access, { role }) => access !== 'owner' && hasRole(role, access),
  isConfirmed: async (dependencies, access, session) =>
    access !== 'owner' && (await isStaffConfirmed(dependencies, session, access)),
};
