import { isTokenHeld, type Staff, type StaffToken } from '../domain/staff.ts';
import type { StaffRole } from '../domain/staff-events.ts';

/** The facts of members of staff and their tokens, in the one form that programs read. */

interface Member {
  staff_id: string;
  role: StaffRole;
  invited: boolean;
  since: string;
  removed_at: string | null;
}

/** @param log has e-mail address, sign-in and tokens, which stand in no read model */
export function memberFacts({ staff_id, role, invited, since, removed_at }: Member, log: Staff, now: string) {
  const held = removed_at === null ? [...log.tokens.values()].filter((token) => isTokenHeld(token, now)) : [];
  return {
    staff_id,
    email: log.member?.email ?? null,
    role,
    invited,
    since,
    removed_at,
    signed_in_at: log.signedInAt,
    tokens: held.length,
  };
}

/** @param isStaff the member who answers for the token */
export function tokenFacts(token: StaffToken, { isStaff, now }: { isStaff: boolean; now: string }) {
  return {
    token_id: token.tokenId,
    prefix: token.tokenPrefix,
    label: token.label,
    scopes: [...token.scopes],
    created_at: token.createdAt,
    expires_at: token.expiresAt,
    revoked: token.revoked,
    holds: isStaff && isTokenHeld(token, now),
  };
}
