import { nextBillingPeriod } from './billing-period.ts';
import type { BillingPeriod } from './billing-period.ts';
import type { Format, Quality } from './download-options.ts';
import type { PlanTerms, Terms } from './plans.ts';
import { refuse } from './refusals.ts';
import type { Refused } from './refusals.ts';
import type { UsageEvent } from './usage-events.ts';

/**
 * The usage of one account in one billing period: the stream on which all money is decided.
 *
 *     absent ──UsagePeriodOpened──▶ open ──UsagePeriodEnded──▶ ended
 *
 * Charges, lookups and changes of terms are events of an open period. An ended one says what the next begins with.
 */
export interface OpenUsage {
  phase: 'open' | 'ended';
  accountId: string;
  anchorDay: number;
  period: BillingPeriod;
  terms: Terms;
  /** Downloads accepted in this period; the next ordinal is one more. */
  downloads: number;
  /** Of these, how many took a credit of the allowance. */
  downloadCredits: number;
  /** Of these, how many were charged, and for how much in all. */
  overageDownloads: number;
  overageCents: number;
  metadataCredits: number;
  /** Set by UsagePeriodEnded. */
  next: { period: BillingPeriod; terms: Terms } | null;
}

export type Usage = OpenUsage | { phase: 'absent' };

export const initialUsage: Usage = { phase: 'absent' };

export function evolveUsage(state: Usage, event: UsageEvent): Usage {
  if (event.type === 'UsagePeriodOpened') return openedUsage(event.data);
  // Anything before the opening belongs to no period; the log cannot hold it, because the opening expects no stream.
  if (state.phase === 'absent') return state;
  switch (event.type) {
    case 'PlanChanged':
      return { ...state, terms: { ...event.data.terms, overage_cap_cents: state.terms.overage_cap_cents } };
    case 'OverageCapSet':
      return { ...state, terms: { ...state.terms, overage_cap_cents: event.data.overage_cap_cents } };
    case 'OverageCapRemoved':
      return { ...state, terms: { ...state.terms, overage_cap_cents: null } };
    case 'DownloadCreditDebited':
      return { ...state, downloads: state.downloads + 1, downloadCredits: state.downloadCredits + 1 };
    case 'OverageCharged':
      return {
        ...state,
        downloads: state.downloads + 1,
        overageDownloads: state.overageDownloads + 1,
        overageCents: state.overageCents + event.data.cents,
      };
    case 'DownloadQueued':
      return state;
    case 'MetadataCreditDebited':
      return { ...state, metadataCredits: state.metadataCredits + 1 };
    case 'UsagePeriodEnded': {
      const { period_start: start, period_end: end, terms } = event.data.next;
      return { ...state, phase: 'ended', next: { period: { start, end }, terms } };
    }
    default:
      return event satisfies never;
  }
}

function openedUsage(data: Extract<UsageEvent, { type: 'UsagePeriodOpened' }>['data']): OpenUsage {
  return {
    phase: 'open',
    accountId: data.account_id,
    anchorDay: data.anchor_day,
    period: { start: data.period_start, end: data.period_end },
    terms: data.terms,
    downloads: 0,
    downloadCredits: 0,
    overageDownloads: 0,
    overageCents: 0,
    metadataCredits: 0,
    next: null,
  };
}

export interface QueueDownload {
  kind: 'queue_download';
  token: string;
  video: { platform: string; videoId: string; canonicalUrl: string };
  format: Format;
  quality: Quality;
}

export type UsageCommand =
  | QueueDownload
  | { kind: 'debit_metadata'; lookupId: string; video: { platform: string; videoId: string } }
  | { kind: 'change_plan'; terms: PlanTerms }
  | { kind: 'set_overage_cap'; overageCapCents: number }
  | { kind: 'remove_overage_cap' };

/** Decides one command on an open period; the caller has ended and opened periods first (`endPeriod`, `openNextPeriod`). */
export function decideUsage(state: OpenUsage, command: UsageCommand): UsageEvent[] | Refused {
  switch (command.kind) {
    case 'queue_download':
      return queueDownload(state, command);
    case 'debit_metadata':
      return debitMetadata(state, command);
    case 'change_plan': {
      const { overage_cap_cents: _cap, ...current } = state.terms;
      if (sameTerms(current, command.terms)) return [];
      return [{ type: 'PlanChanged', data: { effective: 'now', terms: command.terms } }];
    }
    case 'set_overage_cap':
      if (state.terms.overage_cap_cents === command.overageCapCents) return [];
      return [{ type: 'OverageCapSet', data: { effective: 'now', overage_cap_cents: command.overageCapCents } }];
    case 'remove_overage_cap':
      if (state.terms.overage_cap_cents === null) return [];
      return [{ type: 'OverageCapRemoved', data: { effective: 'now' } }];
  }
}

function queueDownload(state: OpenUsage, { token, video, format, quality }: QueueDownload): UsageEvent[] | Refused {
  const charge = chargeForDownload(state, token);
  if ('refusal' in charge) return charge;
  const queued: UsageEvent = {
    type: 'DownloadQueued',
    data: {
      token,
      platform: video.platform,
      video_id: video.videoId,
      url: video.canonicalUrl,
      format,
      quality,
      overage: charge.type === 'OverageCharged',
    },
  };
  return [charge, queued];
}

/** The contract's §8.3: a credit while there is one, then the overage rate up to the owner's ceiling, else no. */
function chargeForDownload(state: OpenUsage, token: string): UsageEvent | Refused {
  const ordinal = state.downloads + 1;
  const { downloads_limit, overage_cents: rateCents, overage_cap_cents: capCents, rate_version } = state.terms;
  if (state.downloadCredits < downloads_limit) return { type: 'DownloadCreditDebited', data: { token, ordinal } };
  if (rateCents === null) return refuse('download_quota_exceeded');
  if (capCents !== null && state.overageCents + rateCents > capCents) return refuse('overage_cap_reached');
  return { type: 'OverageCharged', data: { token, ordinal, cents: rateCents, rate_cents: rateCents, rate_version } };
}

function debitMetadata(
  state: OpenUsage,
  { lookupId, video }: Extract<UsageCommand, { kind: 'debit_metadata' }>,
): UsageEvent[] | Refused {
  if (state.metadataCredits >= state.terms.metadata_limit) return refuse('metadata_quota_exceeded');
  return [
    {
      type: 'MetadataCreditDebited',
      data: {
        lookup_id: lookupId,
        ordinal: state.metadataCredits + 1,
        platform: video.platform,
        video_id: video.videoId,
      },
    },
  ];
}

/** Ends an open period whose time is over. */
export function endPeriod(state: OpenUsage): UsageEvent {
  const next = nextBillingPeriod(state.period, state.anchorDay);
  return {
    type: 'UsagePeriodEnded',
    data: {
      period_start: state.period.start,
      period_end: state.period.end,
      next: { period_start: next.start, period_end: next.end, terms: state.terms },
    },
  };
}

/** First event of the stream that follows an ended period. */
export function openNextPeriod(state: OpenUsage): UsageEvent {
  if (!state.next) throw new Error(`the period from ${state.period.start} has not ended`);
  const { period, terms } = state.next;
  return {
    type: 'UsagePeriodOpened',
    data: {
      account_id: state.accountId,
      anchor_day: state.anchorDay,
      period_start: period.start,
      period_end: period.end,
      terms,
    },
  };
}

function sameTerms(one: PlanTerms, other: PlanTerms): boolean {
  return (Object.keys(one) as (keyof PlanTerms)[]).every((field) => one[field] === other[field]);
}

/** A usage stream folded up to a revision: what a read model row holds, and where a decision starts from. */
export interface UsageSnapshot {
  stream: string;
  /** -1: nothing of the stream is folded yet. */
  revision: number;
  lastHash: string;
  lastTime: string;
  usage: Usage;
}
