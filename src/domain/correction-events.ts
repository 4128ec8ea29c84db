import { z } from 'zod';
import { accountId } from './account-events.ts';
import { cents } from './cents.ts';
import type { EventOf } from './event-of.ts';
import { caseReference, jobToken } from './usage-events.ts';

/**
 * Stream `corrections-{accountId}`: what staff ask to give back in the console, and who approves it. Money is given back by
 * `ChargeWaived` and `CreditNoteIssued`, which name the event here that permits it as their cause.
 */
export const correctionsStream = (accountId: string) => `corrections-${accountId}`;

/** One append holds all waivers of a correction, and stays below 1 MiB however long its reason and reference are. */
export const maxChargesOfCorrection = 200;

const usageStreamName = z.string().regex(/^usage-acc_[a-z0-9]{16,32}-\d{8}$/);
const revision = z.int().min(0);
const correctionId = z.uuid();

/** What is given back, with the amount as it was when it was asked. */
const correction = z.discriminatedUnion('kind', [
  /**
   * Charges of one period: waived while its books are open, credited afterwards. `revision` is that of the charge, `cents` the most
   * that is given back of it.
   */
  z.strictObject({
    kind: z.literal('charges'),
    stream: usageStreamName,
    charges: z
      .array(z.strictObject({ token: jobToken, revision, cents: cents.min(1) }))
      .min(1)
      .max(maxChargesOfCorrection)
      .refine((charges) => new Set(charges.map(({ token }) => token)).size === charges.length, 'names a charge twice'),
  }),
  /** A part of an invoice's line, and of none of its charges in particular. */
  z.strictObject({ kind: z.literal('credit_line'), invoice_number: z.int().min(1), line: z.int().min(1) }),
]);
export type Correction = z.infer<typeof correction>;
export type ChargesCorrection = Extract<Correction, { kind: 'charges' }>;

/** A correction that somebody wants. Without an amount, it is all that is left. */
export type WantedCorrection =
  | {
      kind: 'charges';
      stream: string;
      charges: readonly { token: string; revision: number; cents?: number | undefined }[];
    }
  | { kind: 'credit_line'; invoice_number: number; line: number; cents?: number | undefined };

export const correctionEventSchemas = {
  /** The metadata says who asks, in which role and why. */
  CorrectionAsked: z.strictObject({
    correction_id: correctionId,
    account_id: accountId,
    reference: caseReference,
    correction,
    /** The most that it may give back: of charges, the sum of theirs. */
    cents: cents.min(1),
    /**
     * What one person may give back to one account within 24 hours without a second person, as it was set then. Above it, and
     * for a role that only asks, somebody else approves.
     */
    limit_cents: cents,
    needs_approval: z.boolean(),
  }),
  CorrectionApproved: z.strictObject({ correction_id: correctionId }),
  /** By somebody else, or by whoever asked, who takes it back. */
  CorrectionRefused: z.strictObject({ correction_id: correctionId }),
  /** The money is given back: `cents` of it, at most what was asked. */
  CorrectionMade: z.strictObject({ correction_id: correctionId, cents: cents.min(1) }),
  /** Nothing was given back, because the charge or the period has changed since. */
  CorrectionFailed: z.strictObject({ correction_id: correctionId, why: z.string().min(1).max(100) }),
};

export type CorrectionEvent = EventOf<typeof correctionEventSchemas>;
