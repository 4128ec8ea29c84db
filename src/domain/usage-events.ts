import { z } from 'zod';
import { accountId } from './account-events.ts';
import { formats, qualities } from './download-options.ts';
import { instant } from './instant.ts';
import { cents } from './money.ts';
import { planTerms, terms } from './plans.ts';

/** Streams `usage-{accountId}-{yyyymmdd}`, one per account and billing period (see `usageStream`). */
const period = { period_start: instant, period_end: instant };
const ordinal = z.int().min(1);
export const jobToken = z.string().regex(/^[A-Za-z0-9_-]{20,64}$/);

/** Only `now` exists yet; a change for the next period will be another value of the same field. */
const effective = z.literal('now');

export const usageEventSchemas = {
  /** First event of each stream. */
  UsagePeriodOpened: z.strictObject({
    account_id: accountId,
    anchor_day: z.int().min(1).max(31),
    ...period,
    terms,
  }),
  PlanChanged: z.strictObject({ effective, terms: planTerms }),
  OverageCapSet: z.strictObject({ effective, overage_cap_cents: cents }),
  OverageCapRemoved: z.strictObject({ effective }),
  /** A download within the allowance. `ordinal` counts the downloads accepted in this period, credits and overage alike. */
  DownloadCreditDebited: z.strictObject({ token: jobToken, ordinal }),
  /** A download beyond the allowance, at the rate that was in force. */
  OverageCharged: z.strictObject({
    token: jobToken,
    ordinal,
    cents,
    rate_cents: cents,
    rate_version: planTerms.shape.rate_version,
  }),
  /** Always right behind the charge of the same token, in the same append. */
  DownloadQueued: z.strictObject({
    token: jobToken,
    platform: z.string().min(1).max(32),
    video_id: z.string().min(1).max(256),
    /** Canonical URL; what the client sent is not kept. */
    url: z.string().min(1).max(2048),
    format: z.enum(formats),
    quality: z.enum(qualities),
    overage: z.boolean(),
  }),
  MetadataCreditDebited: z.strictObject({
    lookup_id: z.uuid(),
    ordinal,
    platform: z.string().min(1).max(32),
    video_id: z.string().min(1).max(256),
  }),
  /** No charges after this one; it carries what the next period begins with. */
  UsagePeriodEnded: z.strictObject({ ...period, next: z.strictObject({ ...period, terms }) }),
};

export type UsageEvent = {
  [Type in keyof typeof usageEventSchemas]: { type: Type; data: z.infer<(typeof usageEventSchemas)[Type]> };
}[keyof typeof usageEventSchemas];

/** The events that take something: a credit, or money. */
export type ChargeEvent = Extract<
  UsageEvent,
  { type: 'DownloadCreditDebited' | 'OverageCharged' | 'MetadataCreditDebited' }
>;

/** What an event charges, in cents: 0 for a credit; undefined for one that charges nothing. */
export function centsOf({ type, data }: { type: string; data: object }): number | undefined {
  if (type === 'OverageCharged') return (data as { cents: number }).cents;
  return type === 'DownloadCreditDebited' || type === 'MetadataCreditDebited' ? 0 : undefined;
}

export type DownloadQueued = Extract<UsageEvent, { type: 'DownloadQueued' }>['data'];
