import type { UsageEvent, UsageEventOf } from './usage-events.ts';
import { capIsReached, warnedAfterUpgrade, warningName } from './usage-notices.ts';
import type { DueChanges, Usage, UsagePeriod } from './usage-state.ts';

export function evolveUsage(state: Usage, event: UsageEvent): Usage {
  if (event.type === 'UsagePeriodOpened') return openedUsage(event.data);
  // The log cannot hold an event before the opening, because the opening expects no stream.
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
    // Stryker disable next-line ConditionalExpression: the compiler proves that no event comes here
    default:
      return event satisfies never;
  }
}

function openedUsage(data: UsageEventOf<'UsagePeriodOpened'>['data']): UsagePeriod {
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

/** The newest change counts: one that takes effect now also replaces one that was due. */
function planChanged(state: UsagePeriod, { data }: UsageEventOf<'PlanChanged'>): UsagePeriod {
  const planChanges = state.planChanges + 1;
  if (data.effective === 'next_period') return { ...state, planChanges, due: { ...state.due, plan: data.terms } };
  const changed: UsagePeriod = {
    ...state,
    planChanges,
    terms: { ...data.terms, overage_cap_cents: state.terms.overage_cap_cents },
    feeCents: state.feeCents + data.fee_difference_cents,
    feeDifferenceCents: state.feeDifferenceCents + data.fee_difference_cents,
    due: withoutDue(state.due, 'plan'),
  };
  return withRoom({ ...changed, warned: warnedAfterUpgrade(state, changed) });
}

function capChanged(state: UsagePeriod, effective: 'now' | 'next_period', capCents: number | null): UsagePeriod {
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

function givenBack(state: UsagePeriod, back: { overage_downloads: number; cents: number }): UsagePeriod {
  return {
    ...state,
    overageDownloads: state.overageDownloads - back.overage_downloads,
    overageCents: state.overageCents - back.cents,
  };
}

/** Once there is room again, the overage cap can be reached anew. */
function withRoom(state: UsagePeriod): UsagePeriod {
  return state.capReached && !capIsReached(state) ? { ...state, capReached: false } : state;
}
