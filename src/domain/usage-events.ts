import { z } from 'zod';
import { accountId } from './account-events.ts';
import { cents } from './cents.ts';
import { audioFormats, formats, maxItem, qualities } from './download-options.ts';
import type { EventOf } from './event-of.ts';
import { failureReasonNames } from './failure-reasons.ts';
import { instant } from './instant.ts';
import { keyId, keyLimit } from './key-limits.ts';
import { planTerms, terms } from './plans.ts';

/** Streams `usage-{accountId}-{yyyymmdd}`, one per account and billing period (see `usageStream`). */
const period = { period_start: instant, period_end: instant };
const count = z.int().min(0);
const ordinal = z.int().min(1);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
export const jobToken = z.string().regex(/^[A-Za-z0-9_-]{20,64}$/);

/** `now`: from this event on. `next_period`: UsagePeriodEnded carries the change into the terms of the next period. */
const effective = z.enum(['now', 'next_period']);
export type Effective = z.infer<typeof effective>;

/** A case or ticket number. The same with the same reference gives back once. */
export const caseReference = z.string().regex(/^[!-~]{1,100}$/);

/** The two pools of the contract (§1). */
const pools = ['downloads', 'metadata'] as const;
/** The process that told the client of the compensation, and when; missing in older events. */
const promised = z.strictObject({ process: z.string().min(1).max(200), at: instant });
export type Promised = z.infer<typeof promised>;
/** With a key: of the limit of that key, which also has one of overage. */
const warning = {
  pool: z.enum([...pools, 'overage']),
  threshold_percent: z.int().min(1).max(100),
  limited_key_id: keyId.optional(),
};
/** The key whose limit counts the charge; missing if its key has none. */
const ofKey = { limited_key_id: keyId.optional() };

export const usageEventSchemas = {
  /** First event of each stream. */
  UsagePeriodOpened: z.strictObject({
    account_id: accountId,
    anchor_day: z.int().min(1).max(31),
    ...period,
    /** Start of the period before; null for an account's first. */
    previous_period_start: instant.nullable(),
    terms,
  }),
  PlanChanged: z.strictObject({
    effective,
    terms: planTerms,
    /** Rise of the monthly fee, due in this period as a whole; 0 for a change that takes effect in the next one. */
    fee_difference_cents: cents,
    /** For the next period: a person of the account has chosen it, and so may take it back. The fold knows no metadata. */
    chosen_by_owner: z.literal(true).optional(),
  }),
  OverageCapSet: z.strictObject({ effective, overage_cap_cents: cents }),
  OverageCapRemoved: z.strictObject({ effective }),
  /** Takes the place of an earlier limit of the key. It counts from here on, and goes on in the periods that follow. */
  KeyLimitSet: z.strictObject({ key_id: keyId, limit: keyLimit }),
  KeyLimitRemoved: z.strictObject({ key_id: keyId }),
  /** From here on, nothing is charged. The metadata says by whom and why. */
  AccountSuspended: z.strictObject({ account_id: accountId }),
  /** A period that has begun while the account was suspended has no fee; from here on it has one, as a whole. */
  SuspensionLifted: z.strictObject({ plan: planTerms.shape.plan, fee_difference_cents: cents }),
  /** A download within the allowance. `ordinal` counts the downloads accepted in this period, credits and overage alike. */
  DownloadCreditDebited: z.strictObject({ token: jobToken, ordinal, ...ofKey }),
  /** A download beyond the allowance, at the rate that was in force. */
  OverageCharged: z.strictObject({
    token: jobToken,
    ordinal,
    cents,
    rate_cents: cents,
    rate_version: planTerms.shape.rate_version,
    ...ofKey,
  }),
  /** Always directly after the charge of the same token, in the same append. */
  DownloadQueued: z.strictObject({
    token: jobToken,
    platform: z.string().min(1).max(32),
    video_id: z.string().min(1).max(256),
    /** Canonical URL; the client's own string is not kept. */
    url: z.string().min(1).max(2048),
    format: z.enum(formats),
    quality: z.enum(qualities),
    /** Format of the file if `format` is `audio`. */
    audio_format: z.enum(audioFormats),
    /** Number of the still in an image post; 1 for anything else. */
    item: z.int().min(1).max(maxItem),
    overage: z.boolean(),
    /** SHA-256 of the Idempotency-Key and of the request's content; null for a request without a key. */
    idempotency: z.strictObject({ key_hash: sha256, fingerprint: sha256 }).nullable(),
  }),
  /** A request other than its own has told a client of the download, so it can no longer be voided. */
  DownloadConfirmed: z.strictObject({ token: jobToken }),
  /** The client was told that nothing was queued: its charge is given back, and its idempotency key is free. */
  DownloadVoided: z.strictObject({
    token: jobToken,
    charge_event_id: z.uuid(),
    credits: z.int().min(0).max(1),
    overage_downloads: z.int().min(0).max(1),
    cents,
    ...ofKey,
    promised: promised.optional(),
  }),
  MetadataCreditDebited: z.strictObject({
    lookup_id: z.uuid(),
    ordinal,
    platform: z.string().min(1).max(32),
    video_id: z.string().min(1).max(256),
    /** Reason, told to the client, for which a download would fail; null: none was known. Missing in older events. */
    download_refusal: z.enum(failureReasonNames).nullable().optional(),
  }),
  /** The client was told that the lookup failed: its credit is given back. */
  MetadataCreditVoided: z.strictObject({
    lookup_id: z.uuid(),
    charge_event_id: z.uuid(),
    promised: promised.optional(),
  }),
  /** In the append that reaches the threshold; once per pool, threshold and period. */
  UsageWarningReached: z.strictObject({ ...warning, used: count, limit: count }),
  /** The mail server has taken the warning. One mail may cover several thresholds of a pool. */
  UsageWarningMailed: z.strictObject({
    warning_event_id: z.uuid(),
    ...warning,
    message_id: z.string().min(1).max(255),
  }),
  /** In the first append after which the allowance is used up and one more charge does not fit under the overage cap. */
  OverageCapReached: z.strictObject({ overage_cents: cents, overage_cap_cents: cents }),
  /** The mail server has taken the mail about it. */
  OverageCapMailed: z.strictObject({ cap_event_id: z.uuid(), message_id: z.string().min(1).max(255) }),
  /**
   * A charge or a part of it is given back, by staff or by the service for a failure of its own. The metadata says by whom and
   * why. One reference may waive several charges, each of them once.
   */
  ChargeWaived: z.strictObject({
    reference: caseReference,
    token: jobToken,
    charge_event_id: z.uuid(),
    cents: cents.min(1),
    /** 1 if nothing is left of the charge. */
    overage_downloads: z.int().min(0).max(1),
    ...ofKey,
  }),
  /** The service has failed the download: its credit is free again. The ordinal stays used, and nothing is rated again. */
  DownloadCreditReturned: z.strictObject({ token: jobToken, charge_event_id: z.uuid(), ...ofKey }),
  /**
   * The last event that charges can precede. It carries the terms of the next period; null if the account is closed with this
   * one, which may then end before its time is over.
   */
  UsagePeriodEnded: z.strictObject({ ...period, next: z.strictObject({ ...period, terms }).nullable() }),
  /** No amount of the period changes any more, and money is given back by credit notes. The sums are charges less what was given back. */
  UsagePeriodClosed: z.strictObject({
    ...period,
    downloads: count,
    download_credits: count,
    overage_downloads: count,
    overage_cents: cents,
    metadata_credits: count,
    fee_difference_cents: cents,
  }),
};

export type UsageEvent = EventOf<typeof usageEventSchemas>;

export type UsageEventOf<Type extends UsageEvent['type']> = Extract<UsageEvent, { type: Type }>;

/** The events that charge a credit or money, and those that give it back. */
export type LedgerEvent = UsageEventOf<
  | 'DownloadCreditDebited'
  | 'OverageCharged'
  | 'MetadataCreditDebited'
  | 'DownloadVoided'
  | 'MetadataCreditVoided'
  | 'ChargeWaived'
  | 'DownloadCreditReturned'
>;

/** The cents that an event charges: 0 for a credit, negative for what gives back; undefined for any other event. */
export function centsOf({ type, data }: { type: string; data: object }): number | undefined {
  switch (type as LedgerEvent['type']) {
    case 'OverageCharged':
      return (data as { cents: number }).cents;
    case 'DownloadVoided':
    case 'ChargeWaived':
      return 0 - (data as { cents: number }).cents;
    case 'DownloadCreditDebited':
    case 'MetadataCreditDebited':
    case 'MetadataCreditVoided':
    case 'DownloadCreditReturned':
      return 0;
    default:
      return undefined;
  }
}

export type DownloadQueued = UsageEventOf<'DownloadQueued'>['data'];

/** The events that change an account's terms, close it, or stop its downloads. */
export type TermsEvent = UsageEventOf<
  | 'PlanChanged'
  | 'OverageCapSet'
  | 'OverageCapRemoved'
  | 'OverageCapReached'
  | 'KeyLimitSet'
  | 'KeyLimitRemoved'
  | 'AccountSuspended'
  | 'SuspensionLifted'
  | 'UsagePeriodEnded'
>;

const termsEvents: ReadonlySet<string> = new Set<TermsEvent['type']>([
  'PlanChanged',
  'OverageCapSet',
  'OverageCapRemoved',
  'OverageCapReached',
  'KeyLimitSet',
  'KeyLimitRemoved',
  'AccountSuspended',
  'SuspensionLifted',
  'UsagePeriodEnded',
]);

/** The end of a period is one if the account is closed with it. */
export const isTermsEvent = (event: UsageEvent): event is TermsEvent =>
  termsEvents.has(event.type) && (event.type !== 'UsagePeriodEnded' || event.data.next === null);
