import { type KeyLimit, noUse, withKeyLimit } from './key-limits.ts';
import { feeOf } from './plans.ts';
import type { UsageEvent, UsageEventOf } from './usage-events.ts';
import { capIsReached, warnedAfterKeyLimit, warnedAfterUpgrade, warningName } from './usage-notices.ts';
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
    case 'KeyLimitSet':
      return keyLimitChanged(state, event.data.key_id, event.data.limit);
    case 'KeyLimitRemoved':
      return keyLimitChanged(state, event.data.key_id, null);
    case 'AccountSuspended':
      return { ...state, terms: { ...state.terms, suspended: true } };
    case 'SuspensionLifted':
      return suspensionLifted(state, event.data.fee_difference_cents);
    case 'DownloadCreditDebited':
      return {
        ...usedByKey(state, event.data, { downloads: 1, cents: 0 }),
        downloads: state.downloads + 1,
        downloadCredits: state.downloadCredits + 1,
      };
    case 'OverageCharged':
      return {
        ...usedByKey(state, event.data, { downloads: 1, cents: event.data.cents }),
        downloads: state.downloads + 1,
        overageDownloads: state.overageDownloads + 1,
        overageCents: state.overageCents + event.data.cents,
      };
    case 'DownloadVoided':
      return withRoom({ ...givenBack(state, event.data), downloadCredits: state.downloadCredits - event.data.credits });
    case 'ChargeWaived':
      return withRoom(givenBack(state, event.data));
    case 'DownloadCreditReturned':
      return withRoom({
        ...usedByKey(state, event.data, { downloads: -1, cents: 0 }),
        downloadCredits: state.downloadCredits - 1,
      });
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
      const { next } = event.data;
      const following = next && { period: { start: next.period_start, end: next.period_end }, terms: next.terms };
      return { ...state, phase: 'ended', next: following };
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
    feeCents: feeOf(data.terms),
    feeDifferenceCents: 0,
    planChanges: 0,
    due: null,
    warned: [],
    capReached: false,
    keyUse: {},
    next: null,
  };
}

/** The newest change counts: one that takes effect now also replaces one that was due. */
function planChanged(state: UsagePeriod, { data }: UsageEventOf<'PlanChanged'>): UsagePeriod {
  const planChanges = state.planChanges + 1;
  if (data.effective === 'next_period') {
    const chosen = { plan: data.terms, plan_of_owner: data.chosen_by_owner === true };
    return { ...state, planChanges, due: { ...state.due, ...chosen } };
  }
  const changed: UsagePeriod = {
    ...state,
    planChanges,
    terms: { ...ownTermsOf(state), ...data.terms },
    feeCents: state.feeCents + data.fee_difference_cents,
    feeDifferenceCents: state.feeDifferenceCents + data.fee_difference_cents,
    due: withoutDue(state.due, 'plan', 'plan_of_owner'),
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

function withoutDue(due: DueChanges | null, ...replaced: (keyof DueChanges)[]): DueChanges | null {
  const others = Object.entries(due ?? {}).filter(([name]) => !(replaced as string[]).includes(name));
  return others.length === 0 ? null : Object.fromEntries(others);
}

/** What stays when the plan changes. */
function ownTermsOf({
  terms: { overage_cap_cents, key_limits },
}: UsagePeriod): Pick<UsagePeriod['terms'], 'overage_cap_cents' | 'key_limits'> {
  return { overage_cap_cents, ...(key_limits && { key_limits }) };
}

function keyLimitChanged(state: UsagePeriod, keyId: string, limit: KeyLimit | null): UsagePeriod {
  const { key_limits: before, ...others } = state.terms;
  const limits = withKeyLimit(before, keyId, limit);
  const changed = { ...state, terms: { ...others, ...(limits && { key_limits: limits }) } };
  return { ...changed, warned: warnedAfterKeyLimit(changed, keyId) };
}

function suspensionLifted(state: UsagePeriod, feeDifferenceCents: number): UsagePeriod {
  const { suspended: _suspended, ...terms } = state.terms;
  return {
    ...state,
    terms,
    feeCents: state.feeCents + feeDifferenceCents,
    feeDifferenceCents: state.feeDifferenceCents + feeDifferenceCents,
  };
}

/** @param used less than 0: given back */
function usedByKey(
  state: UsagePeriod,
  { limited_key_id: keyId }: { limited_key_id?: string | undefined },
  used: { downloads: number; cents: number },
): UsagePeriod {
  if (keyId === undefined) return state;
  const { downloads, overage_cents } = state.keyUse[keyId] ?? noUse;
  const use = { downloads: downloads + used.downloads, overage_cents: overage_cents + used.cents };
  return { ...state, keyUse: { ...state.keyUse, [keyId]: use } };
}

interface GivenBack {
  credits?: number;
  overage_downloads: number;
  cents: number;
  limited_key_id?: string | undefined;
}

function givenBack(state: UsagePeriod, back: GivenBack): UsagePeriod {
  return {
    ...usedByKey(state, back, { downloads: -((back.credits ?? 0) + back.overage_downloads), cents: -back.cents }),
    overageDownloads: state.overageDownloads - back.overage_downloads,
    overageCents: state.overageCents - back.cents,
  };
}

/** Once there is room again, the overage cap can be reached anew. */
function withRoom(state: UsagePeriod): UsagePeriod {
  return state.capReached && !capIsReached(state) ? { ...state, capReached: false } : state;
}
