import { z } from 'zod';
import { storedBillingDetails } from './billing-details.ts';
import type { EventOf } from './event-of.ts';
import { instant } from './instant.ts';
import { keyId } from './key-limits.ts';
import { plainText, storedEmail, storedText } from './plain-text.ts';
import { planTerms } from './plans.ts';

/** Stream `account-{accountId}`. */
export const accountStream = (accountId: string) => `account-${accountId}`;

/** No hyphen, so that stream names can be read back. */
export const accountIdPattern = /^acc_[a-z0-9]{16,32}$/;
export const accountId = z.string().regex(accountIdPattern);
export const personId = z.string().regex(/^per_[a-z0-9]{16,32}$/);

const longestLabel = 100;
export const keyLabel = plainText(longestLabel);
export const storedLabel = storedText(longestLabel);
/** A name or a reason that a member of staff gives for an action. */
export const staffText = plainText(500).min(1);

/**
 * Personal data is kept apart from the rest of an event: the log holds it encrypted, and deleting its key erases it
 * (`adapters/event-store/personal-data.ts`). Null: erased.
 */
export const personalData = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).nullable();

export const accountEventSchemas = {
  AccountOpened: z.strictObject({
    account_id: accountId,
    terms: planTerms,
    anchor_day: z.int().min(1).max(31),
    period_start: instant,
    period_end: instant,
    personal: personalData({ email: storedEmail }),
  }),
  ApiKeyIssued: z.strictObject({
    account_id: accountId,
    key_id: keyId,
    /** SHA-256 of the raw key, hexadecimal. The key itself is never stored. */
    key_hash: z.string().regex(/^[0-9a-f]{64}$/),
    key_prefix: z.string().min(4).max(24),
    personal: personalData({ label: storedLabel }),
  }),
  ApiKeyRevoked: z.strictObject({ account_id: accountId, key_id: keyId }),
  PersonInvited: z.strictObject({
    account_id: accountId,
    person_id: personId,
    personal: personalData({ email: storedEmail }),
  }),
  PersonRemoved: z.strictObject({ account_id: accountId, person_id: personId }),
  PersonSignedIn: z.strictObject({
    account_id: accountId,
    person_id: personId,
    /** The browser, as it names itself. */
    personal: personalData({ browser: storedText(200) }),
  }),
  /** Somebody of the account wants it closed. Staff close it. */
  ClosingRequested: z.strictObject({ account_id: accountId }),
  /** After UsagePeriodEnded of its last period: its keys are revoked, and nobody signs in to it. */
  AccountClosed: z.strictObject({ account_id: accountId }),
  /**
   * The keys of its personal data are deleted: what has been opened of it so far is forgotten by everybody who reads this event. It
   * is the stream's last one.
   */
  AccountErased: z.strictObject({
    account_id: accountId,
    /** The instant until which billing details stay readable, for invoices and credit notes; null: they are erased, too. */
    documents_until: instant.nullable(),
  }),
  /** All details that hold from here on. Documents find them here by their own place in the log. */
  BillingDetailsChanged: z.strictObject({ account_id: accountId, personal: storedBillingDetails.nullable() }),
};

export type AccountEvent = EventOf<typeof accountEventSchemas>;
