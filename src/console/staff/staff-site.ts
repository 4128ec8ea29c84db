import { notBelieved } from '../../../projections/credits-macs.ts';
import { readStaffMembers } from '../../../projections/staff.ts';
import { readStaff } from '../../commands/staff.ts';
import { html } from '../../documents/html.ts';
import { isRefused } from '../../domain/refusals.ts';
import { hasRole, memberOf } from '../../domain/staff.ts';
import type { StaffSession } from '../../ports/staff-sessions.ts';
import { formTokenField } from '../form-fields.ts';
import { staffCookies } from '../sign-in/cookies.ts';
import type { MenuEntry, Site } from '../site.ts';
import type { StaffDependencies } from './dependencies.ts';
import { pageRoutes } from './page-routes.ts';

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
  readerOf: ({ staffId }) => staffId,
  findSession: async (dependencies, secret) => {
    const session = await dependencies.sessions.find(secret);
    return session && (await withRolesOfNow([session], dependencies)).get(session.sessionId);
  },
  findSessions: async (dependencies, held) => {
    const alive = await dependencies.sessions.findAlive(held);
    return await withRolesOfNow(
      held.filter(({ sessionId }) => alive.has(sessionId)),
      dependencies,
    );
  },
  mayOpen: (access, { role }) => access !== 'owner' && hasRole(role, access),
  isConfirmed: async (dependencies, access, { staffId }) =>
    access !== 'owner' && !isRefused(memberOf(await readStaff(dependencies, staffId), access)),
};

/** The sessions of people who are staff now, with the roles that the read model has now. */
async function withRolesOfNow(
  sessions: readonly StaffSession[],
  { pool, macs }: StaffDependencies,
): Promise<ReadonlyMap<string, StaffSession>> {
  const staffIds = [...new Set(sessions.map(({ staffId }) => staffId))];
  const members = staffIds.length === 0 ? new Map<string, never>() : await readStaffMembers(pool, staffIds, macs);
  const held = new Map<string, StaffSession>();
  for (const session of sessions) {
    const member = members.get(session.staffId);
    if (member === undefined || member === notBelieved || member.removed_at !== null) continue;
    held.set(session.sessionId, { ...session, role: member.role });
  }
  return held;
}
