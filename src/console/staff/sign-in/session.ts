import { catchUp } from '../../../../projections/runner/wait-for-checkpoint.ts';
import { staff as staffModel } from '../../../../projections/staff.ts';
import type { Member } from '../../../domain/staff.ts';
import { readAsking } from '../../sign-in/asking-browser.ts';
import { setCookie, staffCookies } from '../../sign-in/cookies.ts';
import { type Answer, notYetInForce, redirect, type StaffVisit, type Visit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';

/** Begins and ends sessions of staff. */

const base = '/staff';
const sessionHours = 12;
const inForceMs = 5_000;

/** @param person somebody whose sign-in is recorded in the log */
export async function startSession(
  visit: Visit,
  dependencies: StaffDependencies,
  { staffId, member }: { staffId: string; member: Member },
): Promise<Answer> {
  const { sessions, staff, pool, origins } = dependencies;
  // Sessions hold for members that the read model knows.
  const isInForce = await catchUp({ store: staff.store, pool }, staffModel, inForceMs).catch(() => false);
  if (!isInForce) throw notYetInForce('Your sign-in is recorded. Sign in again in a minute.');
  const names = staffCookies(origins.isSecure);
  const { isSecure } = names;
  const secret = await sessions.start({
    staffId,
    role: member.role,
    browser: visit.request.headers['user-agent'] ?? '',
    replaces: visit.cookies.get(names.session),
  });
  return redirect(
    readAsking(visit, names, base)?.next ?? base,
    setCookie(names.session, secret, { isSecure, maxAgeSeconds: sessionHours * 3_600 }),
    setCookie(names.browser, '', { isSecure, maxAgeSeconds: 0 }),
  );
}

export async function signOut({ session }: StaffVisit, { sessions, origins }: StaffDependencies): Promise<Answer> {
  await sessions.end(session.staffId, session.sessionId);
  const names = staffCookies(origins.isSecure);
  const removed = setCookie(names.session, '', { isSecure: names.isSecure, maxAgeSeconds: 0 });
  return redirect('/staff/sign-in?done=out', removed);
}
