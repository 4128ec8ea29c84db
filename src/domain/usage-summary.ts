import { type BillingPeriod, billingPeriodAt } from './billing-period.ts';
import type { Terms } from './plans.ts';
import { comingTerms, isLastEnded, isOverAt, termsAt } from './usage-periods.ts';
import type { UsagePeriod } from './usage-state.ts';

/** The content of GET /credits (contract §2.5): the pools and the overage of the period that `now` falls into. */
export interface UsageSummary {
  plan: string;
  downloads: Pool;
  metadata: Pool;
  overage: { downloads: number; cents: number };
  period: BillingPeriod;
}

export interface Pool {
  limit: number;
  used: number;
  remaining: number;
}

/** Reads never append: after the end of the newest period, this shows the current period with nothing used in it yet. */
export function summariseUsage(state: UsagePeriod, now: string): UsageSummary {
  const over = isOverAt(state, now);
  const terms = termsAt(state, now);
  return {
    plan: terms.plan,
    downloads: poolOf(terms.downloads_limit, over ? 0 : state.downloadCredits),
    metadata: poolOf(terms.metadata_limit, over ? 0 : state.metadataCredits),
    overage: over ? { downloads: 0, cents: 0 } : { downloads: state.overageDownloads, cents: state.overageCents },
    period: isLastEnded(state)
      ? state.period
      : billingPeriodAt(now, state.next?.period ?? state.period, state.anchorDay),
  };
}

/** Terms that are due with the next period; null if there are none, and for an account that is closed. */
export function comingChange(state: UsagePeriod, now: string): { from: string; terms: Terms } | null {
  if (state.due === null || isLastEnded(state) || isOverAt(state, now)) return null;
  return { from: state.period.end, terms: comingTerms(state) };
}

/** The same of the period of a state alone, such as one that has ended. */
export function summarisePeriod(state: UsagePeriod): UsageSummary {
  const { period, terms } = state;
  return {
    plan: terms.plan,
    downloads: poolOf(terms.downloads_limit, state.downloadCredits),
    metadata: poolOf(terms.metadata_limit, state.metadataCredits),
    overage: { downloads: state.overageDownloads, cents: state.overageCents },
    period,
  };
}

/** Shows at most the limit as used: after a change to a smaller plan, more credits may be debited than it has. */
export function poolOf(limit: number, debited: number): Pool {
  const used = Math.min(debited, limit);
  return { limit, used, remaining: limit - used };
}
