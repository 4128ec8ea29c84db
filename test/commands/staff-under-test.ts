import { inviteStaff, newStaffCache, type StaffDependencies } from '../../src/commands/staff.ts';
import type { StaffRole } from '../../src/domain/staff-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { accepted } from '../support/accepted.ts';
import { patienceMs } from '../support/wait-for.ts';
import { midNovember } from './usage-account.ts';

export const timeoutMs = patienceMs;
export const operator = { type: 'staff', id: 'root', role: 'operator', reason: 'the team grows' } as const;

/** What a process has that serves staff. */
export const staffDependencies = (store: EventStore, now: () => string = () => midNovember): StaffDependencies => ({
  store,
  now,
  newUuid,
  newId,
  randomBits,
  staffCache: newStaffCache(),
});

/** @returns the id of a new member */
export async function hire(
  store: EventStore,
  role: StaffRole,
  email = `${role}-${newUuid()}@example.com`,
): Promise<string> {
  const order = { email, role, by: { operator }, timeoutMs };
  return accepted(await inviteStaff(staffDependencies(store), order)).staffId;
}
