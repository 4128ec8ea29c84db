import { z } from 'zod';
import { accountId, personalData, storedLabel } from './account-events.ts';
import type { EventOf } from './event-of.ts';
import { instant } from './instant.ts';
import { storedEmail, storedText } from './plain-text.ts';
import { jobToken } from './usage-events.ts';

/**
 * Stream `staff-{staffId}`: who a member of staff is, and whose personal data this person has looked at. It is kept apart from the
 * streams of accounts, so that looking never writes to these.
 */
export const staffStream = (staffId: string) => `staff-${staffId}`;

export const staffIdPattern = /^stf_[a-z0-9]{16,32}$/;
export const staffId = z.string().regex(staffIdPattern);

/** Each may do what those before it may. */
export const staffRoles = ['support', 'finance', 'admin'] as const;
export const staffRole = z.enum(staffRoles);
export type StaffRole = z.infer<typeof staffRole>;

/** What a token for programs may read below `/staff/v1`. */
export const staffScopes = ['accounts', 'jobs', 'money', 'operation'] as const;
export const staffScope = z.enum(staffScopes);
export type StaffScope = z.infer<typeof staffScope>;

/** The pages and answers that show personal data. */
const personalPages = ['account', 'download', 'downloads', 'history', 'search', 'names'] as const;

const tokenId = z.string().regex(/^stk_[a-z0-9]{16,32}$/);

export const staffEventSchemas = {
  StaffInvited: z.strictObject({
    staff_id: staffId,
    role: staffRole,
    personal: personalData({ email: storedEmail }),
  }),
  StaffRoleChanged: z.strictObject({ staff_id: staffId, role: staffRole }),
  /** Nobody signs in as this person again. */
  StaffRemoved: z.strictObject({ staff_id: staffId }),
  /** By a link that was mailed or printed, or by the OpenID provider, which then says the role. */
  StaffSignedIn: z.strictObject({
    staff_id: staffId,
    by: z.enum(['link', 'provider']),
    role: staffRole,
    personal: personalData({
      email: storedEmail.nullable(),
      /** One that the provider has not verified. It only finds the same person again. Events of earlier versions have none. */
      unverified_email: storedEmail.nullable().optional(),
      /** The provider's names of itself and of the person; null for a link. */
      issuer: storedText(2_048).nullable(),
      subject: storedText(255).nullable(),
    }),
  }),
  StaffTokenIssued: z.strictObject({
    staff_id: staffId,
    token_id: tokenId,
    /** SHA-256 of the token, hexadecimal. The token itself is never stored. */
    token_hash: z.string().regex(/^[0-9a-f]{64}$/),
    token_prefix: z.string().min(4).max(24),
    scopes: z.array(staffScope).min(1),
    expires_at: instant,
    personal: personalData({ label: storedLabel }),
  }),
  StaffTokenRevoked: z.strictObject({ staff_id: staffId, token_id: tokenId }),
  /** Before the page or the answer is sent. */
  PersonalDataViewed: z.strictObject({
    staff_id: staffId,
    /** Null for the names in lists. */
    account_id: accountId.nullable(),
    /** The download that was looked at; null for anything else of the account. */
    token: jobToken.nullable(),
    page: z.enum(personalPages),
    /** The token of the program that looked for this person. */
    by_token: tokenId.optional(),
  }),
};

export type StaffEvent = EventOf<typeof staffEventSchemas>;
