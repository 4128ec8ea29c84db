import type { BillingPeriod } from './billing-period.ts';
import type { PlanTerms, Terms } from './plans.ts';

/**
 * The usage of one account in one billing period: the stream on which all money is decided.
 *
 *     absent ──UsagePeriodOpened──▶ open ──UsagePeriodEnded──▶ ended ──UsagePeriodClosed──▶ closed
 *
 * Charges, lookups and changes of terms are events of an open period (`decide-usage.ts`). An ended one says what the next
 * begins with (`usage-periods.ts`) and still takes corrections (`corrections.ts`); in a closed one no amount changes any more.
 */
export interface OpenUsage {
  phase: 'open' | 'ended' | 'closed';
  accountId: string;
  anchorDay: number;
  period: BillingPeriod;
  terms: Terms;
  /** Downloads accepted in this period, voided ones included; the next ordinal is one more. */
  downloads: number;
  /** Of these, how many hold a credit of the allowance. */
  downloadCredits: number;
  /** Of these, how many are charged, and for how much in all: less what was voided or waived. */
  overageDownloads: number;
  overageCents: number;
  /** Lookups in this period, voided ones included; the next ordinal is one more. */
  lookups: number;
  /** Of these, how many hold a credit. */
  metadataCredits: number;
  /** The fee of this period, and how much of it upgrades have added since it was opened. */
  feeCents: number;
  feeDifferenceCents: number;
  /** How often the plan was changed in this period; see `maxPlanChanges`. */
  planChanges: number;
  /** Changes that the next period begins with; null where there are none. */
  due: DueChanges | null;
  /** The warnings that were given, as `warningName` writes them. */
  warned: readonly string[];
  /** That the ceiling is reached has been said, and has been so since. */
  capReached: boolean;
  /** Set by UsagePeriodEnded. */
  next: { period: BillingPeriod; terms: Terms } | null;
}

export interface DueChanges {
  plan?: PlanTerms;
  /** Null: no ceiling. */
  overage_cap_cents?: number | null;
}

export type Usage = OpenUsage | { phase: 'absent' };

export const initialUsage: Usage = { phase: 'absent' };

/** A usage stream folded up to a revision: what a read model row holds, and where a decision starts from. */
export interface UsageSnapshot {
  stream: string;
  /** -1: nothing of the stream is folded yet. */
  revision: number;
  lastHash: string;
  lastTime: string;
  usage: Usage;
}
