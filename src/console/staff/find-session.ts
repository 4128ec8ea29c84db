import { notBelieved } from '../../../projections/credits-macs.ts';
import { readStaffMember } from '../../../projections/staff.ts';
import type { StaffMember } from '../../../projections/staff.ts';
import type { StaffSession } from '../../ports/staff-sessions.ts';
import type { StaffDependencies } from './dependencies.ts';

/** The session of a cookie, with the role that its person has now; undefined for somebody who was removed. */
export async function findStaffSession(
  dependencies: StaffDependencies,
  secret: string,
): Promise<StaffSession | undefined> {
  const session = await dependencies.sessions.find(secret);
  const member = session && (await findMember(dependencies, session.staffId));
  return member && { ...session, role: member.role };
}

/** Somebody who is staff now, as the read model has it. */
async function findMember(
  { pool, macs }: Pick<StaffDependencies, 'pool' | 'macs'>,
  staffId: string,
): Promise<StaffMember | undefined> {
  const member = await readStaffMember(pool, staffId, macs);
  return member === undefined || member === notBelieved || member.removedAt !== null ? undefined : member;
}
