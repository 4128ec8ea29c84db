import { notBelieved } from '../../../../projections/credits-macs.ts';
import { readStaffMembers } from '../../../../projections/staff.ts';
import { readStaff } from '../../../commands/staff.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { memberOf } from '../../../domain/staff.ts';
import type { StaffRole } from '../../../domain/staff-events.ts';
import type { StaffSession } from '../../../ports/staff-sessions.ts';
import type { StaffDependencies } from '../dependencies.ts';

/** The session of a cookie, with the role that its person has now; undefined for somebody who was removed. */
export async function findStaffSession(
  dependencies: StaffDependencies,
  secret: string,
): Promise<StaffSession | undefined> {
  const session = await dependencies.sessions.find(secret);
  return session && (await withRolesOfNow(dependencies, [session])).get(session.sessionId);
}

/** Those of the sessions that have not ended, likewise. */
export async function findStaffSessions(
  dependencies: StaffDependencies,
  sessions: readonly StaffSession[],
): Promise<ReadonlyMap<string, StaffSession>> {
  const alive = await dependencies.sessions.findAlive(sessions);
  return await withRolesOfNow(
    dependencies,
    sessions.filter(({ sessionId }) => alive.has(sessionId)),
  );
}

/** The sessions of people who are staff now, as the read model has it. */
async function withRolesOfNow(
  { pool, macs }: Pick<StaffDependencies, 'pool' | 'macs'>,
  sessions: readonly StaffSession[],
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

/** Asks the log whether the person of a session has at least this role. */
export async function isStaffConfirmed(
  { staff }: Pick<StaffDependencies, 'staff'>,
  { staffId }: StaffSession,
  least: StaffRole,
): Promise<boolean> {
  return !isRefused(memberOf(await readStaff(staff, staffId), least));
}
