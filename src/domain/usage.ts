import type { BillingPeriod } from './billing-period.ts';
import type { PlanTerms, Terms } from './plans.ts';
import { capIsReached, warnedAfterUpgrade, warningName } from './usage-notices.ts';
import type { UsageEvent, UsageEventOf } from './usage-events.ts';

/**
 * The usage of one account in one billing period: the stream on which all money is decided.
 *
 *     absent ──UsagePeriodOpened──▶ open ──UsagePeriodEnded──▶ ended ──UsagePeriodClosed──▶ closed
 *
 * Charges, lookups and changes of terms are events of an open period (`decide-usage.ts`). An ended one says what the next
 * begins with (`usage-periods.ts`) and still takes corrections (`settlement.ts`); in a closed one no amount changes any more.
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

interface DueChanges {
  plan?: PlanTerms;
  /** Null: no ceiling. */
  overage_cap_cents?: number | null;
}

export type Usage = OpenUsage | { phase: 'absent' };

export const initialUsage: Usage = { phase: 'absent' };

export function evolveUsage(state: Usage, event: UsageEvent): Usage {
  if (event.type === 'UsagePeriodOpened') return openedUsage(event.data);
  // Anything before the opening belongs to no period; the log cannot hold it, because the opening expects no stream.
  if (state.phase === 'absent') return state;
  switch (event.type) {
    case 'PlanChanged':
      return planChanged(state, event);
    case 'OverageCapSet':
      return capChanged(state, event.data.effective, event.data.overage_cap_cents);
    case 'OverageCapRemoved':
      return capChanged(state, event.data.effective, null);
    case 'DownloadCreditDebited':
      return { ...state, downloads: state.downloads + 1, downloadCredits: state.downloadCredits + 1 };
    case 'OverageCharged':
      return {
        ...state,
        downloads: state.downloads + 1,
        overageDownloads: state.overageDownloads + 1,
        overageCents: state.overageCents + event.data.cents,
      };
    case 'DownloadVoided':
      return withRoom({ ...givenBack(state, event.data), downloadCredits: state.downloadCredits - event.data.credits });
    case 'ChargeWaived':
      return withRoom(givenBack(state, event.data));
    case 'DownloadCreditReturned':
      return withRoom({ ...state, downloadCredits: state.downloadCredits - 1 });
    case 'MetadataCreditDebited':
      return { ...state, lookups: state.lookups + 1, metadataCredits: state.metadataCredits + 1 };
    case 'MetadataCreditVoided':
      return { ...state, metadataCredits: state.metadataCredits - 1 };
    case 'UsageWarningReached':
      return { ...state, warned: [...state.warned, warningName(event.data)] };
    case 'OverageCapReached':
      return { ...state, capReached: true };
    case 'DownloadQueued':
    case 'DownloadConfirmed':
    case 'UsageWarningMailed':
    case 'OverageCapMailed':
      return state;
    case 'UsagePeriodEnded': {
      const { period_start: start, period_end: end, terms } = event.data.next;
      return { ...state, phase: 'ended', next: { period: { start, end }, terms } };
    }
    case 'UsagePeriodClosed':
      return { ...state, phase: 'closed' };
    default:
      return event satisfies never;
  }
}

function openedUsage(data: UsageEventOf<'UsagePeriodOpened'>['data']): OpenUsage {
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
    lookups: 0,
    metadataCredits: 0,
    feeCents: data.terms.fee_cents,
    feeDifferenceCents: 0,
    planChanges: 0,
    due: null,
    warned: [],
    capReached: false,
    next: null,
  };
}

/** The newest word holds: a change that takes effect now also replaces one that was due. */
function planChanged(state: OpenUsage, { data }: UsageEventOf<'PlanChanged'>): OpenUsage {
  const planChanges = state.planChanges + 1;
  if (data.effective === 'next_period') return { ...state, planChanges, due: { ...state.due, plan: data.terms } };
  const changed: OpenUsage = {
    ...state,
    planChanges,
    terms: { ...data.terms, overage_cap_cents: state.terms.overage_cap_cents },
    feeCents: state.feeCents + data.fee_difference_cents,
    feeDifferenceCents: state.feeDifferenceCents + data.fee_difference_cents,
    due: withoutDue(state.due, 'plan'),
  };
  return withRoom({ ...changed, warned: warnedAfterUpgrade(state, changed) });
}

function capChanged(state: OpenUsage, effective: 'now' | 'next_period', capCents: number | null): OpenUsage {
  if (effective === 'next_period') return { ...state, due: { ...state.due, overage_cap_cents: capCents } };
  return withRoom({
    ...state,
    terms: { ...state.terms, overage_cap_cents: capCents },
    due: withoutDue(state.due, 'overage_cap_cents'),
  });
}

function withoutDue(due: DueChanges | null, name: keyof DueChanges): DueChanges | null {
  const { [name]: _replaced, ...others } = due ?? {};
  return Object.keys(others).length === 0 ? null : others;
}

function givenBack(state: OpenUsage, back: { overage_downloads: number; cents: number }): OpenUsage {
  return {
    ...state,
    overageDownloads: state.overageDownloads - back.overage_downloads,
    overageCents: state.overageCents - back.cents,
  };
}

/** Once there is room again, the ceiling can be reached anew. */
function withRoom(state: OpenUsage): OpenUsage {
  return state.capReached && !capIsReached(state) ? { ...state, capReached: false } : state;
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
