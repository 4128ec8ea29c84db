import type { BillingPeriod } from '../../src/domain/billing-period.ts';
import type { UsageCommand } from '../../src/domain/decide-usage.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import type { EventMetadata, ParsedEvent } from '../../src/domain/parse-event.ts';
import type { PlanTerms, Terms } from '../../src/domain/plans.ts';
import type { Effective, UsageEvent, UsageEventOf } from '../../src/domain/usage-events.ts';
import { initialUsage, type UsagePeriod } from '../../src/domain/usage-state.ts';

/** An account whose first period runs through November 2026, on a plan small enough to be used up in an example. */

export const accountId = 'acc_aaaaaaaaaaaaaaaa';

export const plan: PlanTerms = {
  plan: 'dev_100',
  downloads_limit: 2,
  metadata_limit: 1,
  overage_cents: 25,
  rate_version: '2026-11',
  fee_cents: 1900,
  hourly_limit: 30,
  warning_percents: [],
  service_failures_returned: true,
};

export const sandbox: PlanTerms = { ...plan, plan: 'sandbox', downloads_limit: 0, overage_cents: null, fee_cents: 0 };

export const video = { platform: 'youtube', videoId: 'jNQXAC9IVRw', canonicalUrl: 'https://www.youtube.com/watch?v=1' };

export const token = (number: number) => `TokenOfDownload-${String(number).padStart(4, '0')}`;

const november = { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' };

/** The first period of an account. */
export const opened = (
  terms: Partial<Terms> = {},
  { start, end }: BillingPeriod = november,
  anchorDay = 1,
): UsageEventOf<'UsagePeriodOpened'> => ({
  type: 'UsagePeriodOpened',
  data: {
    account_id: accountId,
    anchor_day: anchorDay,
    period_start: start,
    period_end: end,
    previous_period_start: null,
    terms: { ...plan, overage_cap_cents: null, ...terms },
  },
});

export function given(...events: UsageEvent[]): UsagePeriod {
  const usage = events.reduce(evolveUsage, initialUsage);
  if (usage.phase === 'absent') throw new Error('the history does not open a period');
  return usage;
}

export const queueDownload = (number: number): UsageCommand => ({
  kind: 'queue_download',
  token: token(number),
  video,
  ...defaultOptions,
});

export const lookUp = (lookupId: string): UsageCommand => ({
  kind: 'debit_metadata',
  lookupId,
  video,
  downloadRefusal: null,
});

export const credit = (ordinal: number): UsageEvent => ({
  type: 'DownloadCreditDebited',
  data: { token: token(ordinal), ordinal },
});

export const charge = (ordinal: number, rateCents = 25, rateVersion = '2026-11'): UsageEvent => ({
  type: 'OverageCharged',
  data: { token: token(ordinal), ordinal, cents: rateCents, rate_cents: rateCents, rate_version: rateVersion },
});

export const queued = (number: number, overage: boolean): UsageEvent => ({
  type: 'DownloadQueued',
  data: {
    token: token(number),
    platform: video.platform,
    video_id: video.videoId,
    url: video.canonicalUrl,
    format: 'video',
    quality: 'best',
    audio_format: 'mp3',
    item: 1,
    overage,
    idempotency: null,
  },
});

export const planChanged = (terms: Partial<PlanTerms>, feeDifferenceCents = 0): UsageEvent => ({
  type: 'PlanChanged',
  data: { effective: 'now', terms: { ...plan, ...terms }, fee_difference_cents: feeDifferenceCents },
});

export const changePlan = (terms: PlanTerms, effective: Effective = 'now'): UsageCommand => ({
  kind: 'change_plan',
  terms,
  effective,
});

export const setCap = (overageCapCents: number, effective: Effective = 'now'): UsageCommand => ({
  kind: 'set_overage_cap',
  overageCapCents,
  effective,
});

export const removeCap: UsageCommand = { kind: 'remove_overage_cap', effective: 'now' };

export const capSet = (overageCapCents: number): UsageEvent => ({
  type: 'OverageCapSet',
  data: { effective: 'now', overage_cap_cents: overageCapCents },
});

export const capReached = (overageCents: number, overageCapCents: number): UsageEvent => ({
  type: 'OverageCapReached',
  data: { overage_cents: overageCents, overage_cap_cents: overageCapCents },
});

export const warned = (pool: 'downloads' | 'metadata', percent: number, used: number, limit: number): UsageEvent => ({
  type: 'UsageWarningReached',
  data: { pool, threshold_percent: percent, used, limit },
});

/** Events that are recorded beside the charges, and change none of them. */
export const mails: UsageEvent[] = [
  {
    type: 'UsageWarningMailed',
    data: {
      warning_event_id: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a12',
      pool: 'downloads',
      threshold_percent: 80,
      message_id: '<1@example.com>',
    },
  },
  {
    type: 'OverageCapMailed',
    data: { cap_event_id: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a13', message_id: '<2@example.com>' },
  },
];

/** Ids of events, by their revisions. */
export const idOf = (revision: number) => `00000000-0000-5000-8000-${String(revision).padStart(12, '0')}`;
export const hashOf = (revision: number) => String(revision).padStart(64, '0');

/** A charge, or with 0 cents a credit, that is given back. @param revision of the charge */
export const voidOf = (ordinal: number, cents: number, revision = 1): UsageEvent => ({
  type: 'DownloadVoided',
  data: {
    token: token(ordinal),
    charge_event_id: idOf(revision),
    credits: cents === 0 ? 1 : 0,
    overage_downloads: cents === 0 ? 0 : 1,
    cents,
  },
});

export const capRemoved: UsageEvent = { type: 'OverageCapRemoved', data: { effective: 'now' } };

export const lookedUp = (ordinal: number, lookupId: string): UsageEvent => ({
  type: 'MetadataCreditDebited',
  data: {
    lookup_id: lookupId,
    ordinal,
    platform: video.platform,
    video_id: video.videoId,
    download_refusal: null,
  },
});

export const ended = (next: Partial<Terms> = {}): UsageEvent => ({
  type: 'UsagePeriodEnded',
  data: {
    period_start: '2026-11-01T00:00:00.000Z',
    period_end: '2026-12-01T00:00:00.000Z',
    next: {
      period_start: '2026-12-01T00:00:00.000Z',
      period_end: '2027-01-01T00:00:00.000Z',
      terms: { ...plan, overage_cap_cents: null, ...next },
    },
  },
});

/** A credit or a charge, and the download that it pays for. */
export const credited = (...ordinals: number[]): UsageEvent[] =>
  ordinals.flatMap((ordinal) => [credit(ordinal), queued(ordinal, false)]);
export const charged = (...ordinals: number[]): UsageEvent[] =>
  ordinals.flatMap((ordinal) => [charge(ordinal), queued(ordinal, true)]);

/** Waives a part of a charge, or all that is left of it. */
export const waiveCommand = (of: string, reference: string, cents = 1_000_000) =>
  ({ kind: 'waive_charges', charges: [{ token: of, cents }], reference }) as const;

/** A part of a charge that is given back. @param revision of the charge */
export const waiverOf = (
  ordinal: number,
  revision: number,
  waived: { cents: number; overage_downloads?: number; reference?: string },
): UsageEvent => ({
  type: 'ChargeWaived',
  data: {
    reference: 'CASE-1',
    token: token(ordinal),
    charge_event_id: idOf(revision),
    overage_downloads: 0,
    ...waived,
  },
});

/** An event as a reader gets it. */
export const parsed = <Event extends UsageEvent>(
  event: Event,
  revision: number,
  stream = `usage-${accountId}-20261101`,
): ParsedEvent<Event> => ({
  event,
  revision,
  id: idOf(revision),
  stream,
  position: 0n,
  metadata: { hash: hashOf(revision) } as EventMetadata,
});

export const lookupId = '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11';

/** Revision 0 opens; a credit at 1, a charge of 25 cents at 3, a lookup at 5. */
export const used = [opened(), credit(1), queued(1, false), charge(2), queued(2, true), lookedUp(1, lookupId)];
export const closed: UsageEvent = {
  type: 'UsagePeriodClosed',
  data: {
    period_start: '2026-11-01T00:00:00.000Z',
    period_end: '2026-12-01T00:00:00.000Z',
    downloads: 2,
    download_credits: 1,
    overage_downloads: 1,
    overage_cents: 25,
    metadata_credits: 1,
    fee_difference_cents: 0,
  },
};
