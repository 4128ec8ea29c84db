import { planOf, type PlanTerms } from './plans.ts';
import { refuse, type Refused } from './refusals.ts';
import type { Effective, UsageEvent, UsageEventOf } from './usage-events.ts';
import { comingTerms } from './usage-periods.ts';
import type { UsagePeriod } from './usage-state.ts';

/** Changes of an account's plan or terms in an open billing period. */

export type TermsChanges = Partial<
  Pick<PlanTerms, 'downloads_limit' | 'metadata_limit' | 'overage_cents' | 'fee_cents' | 'hourly_limit' | 'max_keys'>
>;

/** Default of `effective`: the next period for a lower fee, else now. */
export type PlanChange = { kind: 'change_plan'; terms: PlanTerms; effective: Effective | undefined } | ChangeOfTerms;

/** Terms of the account's own; terms that are not named stay unchanged, now and in what is due with the next period. */
interface ChangeOfTerms {
  kind: 'change_terms';
  changes: TermsChanges;
  effective: Effective | undefined;
  /** UTC ISO-8601. */
  agreedAt: string;
}

/** Takes back the change of the plan that is due with the next period. */
export interface KeepPlan {
  kind: 'keep_plan';
  /** The plan in force, as the person has seen it. */
  plan: string;
}

/**
 * Decides when a change takes effect, and the complete terms from then on. A plan with a lower fee waits for the next period,
 * because the fee of this one is paid.
 */
export function resultOfPlanChange(state: UsagePeriod, change: PlanChange): { terms: PlanTerms; effective: Effective } {
  const feeCents = change.kind === 'change_plan' ? change.terms.fee_cents : change.changes.fee_cents;
  // Stryker disable next-line ConditionalExpression: undefined is never less than a number
  const isLower = feeCents !== undefined && feeCents < state.terms.fee_cents;
  const effective = change.effective ?? (isLower ? 'next_period' : 'now');
  if (change.kind === 'change_plan') return { terms: change.terms, effective };
  const base = effective === 'now' ? state.terms : comingTerms(state);
  return { terms: withChanges(planOf(base), change), effective };
}

function withChanges(base: PlanTerms, { changes, agreedAt }: ChangeOfTerms): PlanTerms {
  const terms = { ...base, ...changes };
  if (terms.overage_cents === base.overage_cents) return terms;
  return { ...terms, rate_version: ownRateVersion(agreedAt, terms.overage_cents) };
}

/** A price outside the price lists is named after its amount and the day on which it was agreed. */
const ownRateVersion = (agreedAt: string, overageCents: number | null): string =>
  `own-${agreedAt.slice(0, 10)}-${overageCents === null ? 'none' : String(overageCents)}`;

/** Each change may add a rate and lines to the invoice, whose size is bounded (`invoice-lines.ts`). */
export const maxPlanChanges = 100;

type PlanRefusal = 'account_suspended' | 'too_many_plan_changes' | 'change_not_of_owner';

/**
 * There is no proration. A fee above the period's fee so far adds the whole difference to this period; going down and up again
 * within a period costs nothing more.
 *
 * An owner takes back what an owner of the account has chosen for the next period; what staff have scheduled, staff alone.
 *
 * @param isByOwner true: a person of the account asks; false: staff
 */
export function changePlan(
  state: UsagePeriod,
  change: PlanChange,
  isByOwner: boolean,
): UsageEvent[] | Refused<PlanRefusal> {
  if (state.terms.suspended) return refuse('account_suspended');
  const { terms, effective } = resultOfPlanChange(state, change);
  const takesBack = isByOwner && sameTerms(planOf(state.terms), terms);
  if (takesBack && state.due?.plan_of_owner === false) return refuse('change_not_of_owner');
  const events = effective === 'now' ? changeNow(state, change, terms) : changeNext(state, terms, isByOwner);
  return state.planChanges + events.length > maxPlanChanges ? refuse('too_many_plan_changes') : events;
}

/** The terms in force stay, the account's own among them. */
export function keepPlan(
  state: UsagePeriod,
  { plan }: KeepPlan,
  isByOwner: boolean,
): UsageEvent[] | Refused<PlanRefusal | 'plan_not_in_force'> {
  if (state.terms.plan !== plan) return refuse('plan_not_in_force');
  return changePlan(state, { kind: 'change_plan', terms: planOf(state.terms), effective: 'now' }, isByOwner);
}

function changeNext(state: UsagePeriod, terms: PlanTerms, isByOwner: boolean): UsageEvent[] {
  if (sameTerms(state.due?.plan ?? planOf(state.terms), terms)) return [];
  const { type, data } = changed('next_period', terms);
  return [{ type, data: { ...data, ...(isByOwner && { chosen_by_owner: true }) } }];
}

/** Another plan takes the place of one that is due. Changed terms leave it due, and hold in it too. */
function changeNow(state: UsagePeriod, change: PlanChange, terms: PlanTerms): UsageEvent[] {
  const [current, due] = [planOf(state.terms), state.due?.plan];
  const wanted = change.kind === 'change_terms' && due ? withChanges(due, change) : terms;
  const isInForce = sameTerms(current, terms);
  if (isInForce && sameTerms(due ?? current, wanted)) return [];
  const staysDue = sameTerms(terms, wanted) ? [] : [changed('next_period', wanted)];
  if (isInForce && staysDue.length > 0) return staysDue;
  // The newest change counts, and one of now ends what is due: that is said again behind it.
  return [changed('now', terms, Math.max(0, terms.fee_cents - state.feeCents)), ...staysDue];
}

const changed = (effective: Effective, terms: PlanTerms, feeDifferenceCents = 0): UsageEventOf<'PlanChanged'> => ({
  type: 'PlanChanged',
  data: { effective, terms, fee_difference_cents: feeDifferenceCents },
});

function sameTerms(one: PlanTerms, other: PlanTerms): boolean {
  return (Object.keys({ ...one, ...other }) as (keyof PlanTerms)[]).every(
    (field) => JSON.stringify(one[field]) === JSON.stringify(other[field]),
  );
}
