import type { PlanTerms } from './plans.ts';
import { refuse } from './refusals.ts';
import type { Refused } from './refusals.ts';
import type { Effective, UsageEvent } from './usage-events.ts';
import { comingTerms } from './usage-periods.ts';
import type { UsagePeriod } from './usage-state.ts';

/** Changes of an account's plan or terms in an open billing period. */

export type TermsChanges = Partial<
  Pick<PlanTerms, 'downloads_limit' | 'metadata_limit' | 'overage_cents' | 'fee_cents' | 'hourly_limit' | 'max_keys'>
>;

/** Default of `effective`: the next period for a lower fee, else now. */
export type PlanChange =
  | { kind: 'change_plan'; terms: PlanTerms; effective: Effective | undefined }
  /** Terms of the account's own; terms that are not named stay unchanged. `agreedAt` is UTC ISO-8601. */
  | { kind: 'change_terms'; changes: TermsChanges; effective: Effective | undefined; agreedAt: string };

/**
 * Decides when a change takes effect, and the complete terms from then on. A plan with a lower fee waits for the next period,
 * because the fee of this one is paid.
 */
export function resultOfPlanChange(state: UsagePeriod, change: PlanChange): { terms: PlanTerms; effective: Effective } {
  const feeCents = change.kind === 'change_plan' ? change.terms.fee_cents : change.changes.fee_cents;
  const isLower = feeCents !== undefined && feeCents < state.terms.fee_cents;
  const effective = change.effective ?? (isLower ? 'next_period' : 'now');
  if (change.kind === 'change_plan') return { terms: change.terms, effective };
  const { overage_cap_cents: _cap, ...base } = effective === 'now' ? state.terms : comingTerms(state);
  const terms = { ...base, ...change.changes };
  if (terms.overage_cents === base.overage_cents) return { terms, effective };
  return { terms: { ...terms, rate_version: ownRateVersion(change.agreedAt, terms.overage_cents) }, effective };
}

/** A price outside the price lists is named after its amount and the day on which it was agreed. */
const ownRateVersion = (agreedAt: string, overageCents: number | null): string =>
  `own-${agreedAt.slice(0, 10)}-${overageCents === null ? 'none' : String(overageCents)}`;

/** Each change may add a rate and lines to the invoice, whose size is bounded (`invoice-lines.ts`). */
export const maxPlanChanges = 100;

/**
 * There is no proration. A fee above the period's fee so far adds the whole difference to this period; going down and up again
 * within a period costs nothing more.
 */
export function changePlan(state: UsagePeriod, change: PlanChange): UsageEvent[] | Refused {
  const { terms, effective } = resultOfPlanChange(state, change);
  const { overage_cap_cents: _cap, ...current } = state.terms;
  const isDue = sameTerms(state.due?.plan ?? current, terms);
  if (isDue && (effective === 'next_period' || sameTerms(current, terms))) return [];
  if (state.planChanges >= maxPlanChanges) return refuse('too_many_plan_changes');
  const differenceCents = effective === 'now' ? Math.max(0, terms.fee_cents - state.feeCents) : 0;
  return [{ type: 'PlanChanged', data: { effective, terms, fee_difference_cents: differenceCents } }];
}

function sameTerms(one: PlanTerms, other: PlanTerms): boolean {
  return (Object.keys(one) as (keyof PlanTerms)[]).every(
    (field) => JSON.stringify(one[field]) === JSON.stringify(other[field]),
  );
}
