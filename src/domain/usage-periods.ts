import { nextBillingPeriod } from './billing-period.ts';
import type { KeyUse } from './key-limits.ts';
import { feeOf, type Terms } from './plans.ts';
import type { UsageEvent, UsageEventOf } from './usage-events.ts';
import type { UsagePeriod } from './usage-state.ts';

/** The steps from one billing period to the next. Each step is an event of its own, and none is taken twice. */

/** Ends an open period whose time is over, and carries the terms of the next one. */
export function endPeriod(state: UsagePeriod): UsageEvent {
  const next = nextBillingPeriod(state.period, state.anchorDay);
  return {
    type: 'UsagePeriodEnded',
    data: {
      period_start: state.period.start,
      period_end: state.period.end,
      next: { period_start: next.start, period_end: next.end, terms: comingTerms(state) },
    },
  };
}

/** Ends an account's last period, at any time: before or after the day on which it would have ended. */
export function endLastPeriod({ period }: UsagePeriod): UsageEvent {
  return { type: 'UsagePeriodEnded', data: { period_start: period.start, period_end: period.end, next: null } };
}

/** True once the account's last period has ended: the account is closed. */
export const isLastEnded = ({ phase, next }: Pick<UsagePeriod, 'phase' | 'next'>): boolean =>
  phase !== 'open' && next === null;

/** The terms of the next period, as far as they are known. */
export function comingTerms({ terms, due, next }: UsagePeriod): Terms {
  if (next) return next.terms;
  const { plan, overage_cap_cents: capCents } = due ?? {};
  return { ...terms, ...plan, overage_cap_cents: capCents === undefined ? terms.overage_cap_cents : capCents };
}

/** The terms at this instant: after the end of the newest period, those of the next one. */
export function termsAt(state: UsagePeriod, now: string): Terms {
  return isOverAt(state, now) ? comingTerms(state) : state.terms;
}

/** The use of keys' limits at this instant: none yet after the end of the newest period. */
export const keyUseAt = (state: UsagePeriod, now: string): Readonly<Record<string, KeyUse>> =>
  isOverAt(state, now) ? {} : state.keyUse;

/** True if the newest period is over and another follows; UsagePeriodEnded need not be stored yet. */
export const isOverAt = (state: UsagePeriod, now: string): boolean =>
  !isLastEnded(state) && (state.phase !== 'open' || now >= state.period.end);

/** A closed period owes an invoice if anything is to be paid: its overage, fee differences, or the fee of the next period. */
export function owesInvoice(state: UsagePeriod): boolean {
  const nextFeeCents = state.next ? feeOf(state.next.terms) : 0;
  return state.phase === 'closed' && state.overageCents + state.feeDifferenceCents + nextFeeCents > 0;
}

/** The first period of an account owes its fee when it opens. */
export const owesOpeningInvoice = ({
  previous_period_start: previous,
  terms,
}: UsageEventOf<'UsagePeriodOpened'>['data']): boolean => previous === null && terms.fee_cents > 0;

/** First event of the stream that follows an ended period. */
export function openNextPeriod(state: UsagePeriod): UsageEvent {
  if (!state.next) throw new Error(`the period from ${state.period.start} has not ended`);
  const { period, terms } = state.next;
  return {
    type: 'UsagePeriodOpened',
    data: {
      account_id: state.accountId,
      anchor_day: state.anchorDay,
      period_start: period.start,
      period_end: period.end,
      previous_period_start: state.period.start,
      terms,
    },
  };
}

/** Closes an ended period, with its sums for the invoice. */
export function periodClosed(state: UsagePeriod): UsageEvent {
  return {
    type: 'UsagePeriodClosed',
    data: {
      period_start: state.period.start,
      period_end: state.period.end,
      downloads: state.downloads,
      download_credits: state.downloadCredits,
      overage_downloads: state.overageDownloads,
      overage_cents: state.overageCents,
      metadata_credits: state.metadataCredits,
      fee_difference_cents: state.feeDifferenceCents,
    },
  };
}
