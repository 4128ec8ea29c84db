import type { BillingPeriod } from './billing-period.ts';
import type { KeyUse } from './key-limits.ts';
import type { PlanTerms, Terms } from './plans.ts';

/**
 * The usage of one account in one billing period, open or not. All money is decided on its stream.
 *
 *     absent ──UsagePeriodOpened──▶ open ──UsagePeriodEnded──▶ ended ──UsagePeriodClosed──▶ closed
 *
 * After the last period of an account that is closed, no other opens. An open period takes charges, lookups and changes of terms (`decide-usage.ts`). An ended one names the terms of the next
 * (`usage-periods.ts`) and still takes changes of its charges (`change-charge.ts`). In a closed one (`closing-grace.ts`) no amount changes any more.
 */
export interface UsagePeriod {
  phase: 'open' | 'ended' | 'closed';
  accountId: string;
  anchorDay: number;
  period: BillingPeriod;
  terms: Terms;
  /** Downloads accepted in this period, voided ones included; the next ordinal is one more. */
  downloads: number;
  /** Used credits: downloads that hold a credit of the allowance. */
  downloadCredits: number;
  /** Downloads beyond the allowance, and their cents in all, less voids and waivers. */
  overageDownloads: number;
  overageCents: number;
  /** Lookups in this period, voided ones included; the next ordinal is one more. */
  lookups: number;
  /** Used metadata credits: lookups that hold one. */
  metadataCredits: number;
  /** The fee of this period, and how much of it upgrades have added since it was opened. */
  feeCents: number;
  feeDifferenceCents: number;
  /** Changes of the plan in this period; see `maxPlanChanges`. */
  planChanges: number;
  /** Changes of terms that take effect in the next period; null if there are none. */
  due: DueChanges | null;
  /** The warnings that were given, by `warningName`. */
  warned: readonly string[];
  /** OverageCapReached is stored, and the cap has stayed reached since. */
  capReached: boolean;
  /** What keys have used of their limits, by the key's id: counted from the limit's first setting on, and kept without one. */
  keyUse: Readonly<Record<string, KeyUse>>;
  /** Set by UsagePeriodEnded; null also in the last period of an account. */
  next: { period: BillingPeriod; terms: Terms } | null;
}

export interface DueChanges {
  plan?: PlanTerms;
  /** With `plan`: a person of the account has chosen it, and may take it back. */
  plan_of_owner?: boolean;
  /** Null: no cap. */
  overage_cap_cents?: number | null;
}

export type Usage = UsagePeriod | { phase: 'absent' };

export const initialUsage: Usage = { phase: 'absent' };

/** A usage stream folded up to a revision. A row of the read model holds one, and a decision starts from one. */
export interface UsageSnapshot {
  stream: string;
  /** -1: nothing of the stream is folded yet. */
  revision: number;
  lastHash: string;
  lastTime: string;
  usage: Usage;
  /** Of a row of the read model: it has every event of the account up to this commit position of the log. */
  coversUpTo?: bigint | undefined;
}
