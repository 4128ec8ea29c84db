import { changePlan, type KeepPlan, keepPlan, type PlanChange } from './change-plan.ts';
import type { DownloadOptions } from './download-options.ts';
import { evolveUsage } from './evolve-usage.ts';
import type { FailureReason } from './failure-reasons.ts';
import { type AskingKey, isExpired, type KeyLimit, maxKeyLimits, noLimit, noUse, withKeyLimit } from './key-limits.ts';
import { isRefused, type Refusal, refuse, type Refused } from './refusals.ts';
import type { Effective, UsageEvent, UsageEventOf } from './usage-events.ts';
import { capReached, warningsReached } from './usage-notices.ts';
import { endLastPeriod, isLastEnded } from './usage-periods.ts';
import type { UsagePeriod } from './usage-state.ts';

/** Decisions on an open billing period. All charges are decided here; changes of the plan in `change-plan.ts`. */

export interface QueueDownload extends DownloadOptions {
  kind: 'queue_download';
  token: string;
  video: { platform: string; videoId: string; canonicalUrl: string };
  /** SHA-256 of the request's Idempotency-Key, and of its content. */
  idempotency?: { keyHash: string; fingerprint: string } | undefined;
}

/** The newest accepted download with a command's idempotency key. */
export interface PriorDownload {
  token: string;
  overage: boolean;
  fingerprint: string | null;
  confirmed: boolean;
  voided: boolean;
}

/** A download with an idempotency key, and the place of its DownloadQueued. */
export interface KeyedDownload extends PriorDownload {
  stream: string;
  revision: number;
}

export type UsageCommand =
  | QueueDownload
  | {
      kind: 'debit_metadata';
      lookupId: string;
      video: { platform: string; videoId: string };
      downloadRefusal: FailureReason | null;
    }
  | PlanChange
  | KeepPlan
  | { kind: 'set_overage_cap'; overageCapCents: number; effective: Effective }
  | { kind: 'remove_overage_cap'; effective: Effective }
  | ChangeKeyLimit
  | { kind: 'suspend_account' }
  | { kind: 'lift_suspension' }
  /** Ends the last period. */
  | { kind: 'close_account' };

/** Parts that are not named stay unchanged; a limit without any part is removed. */
interface ChangeKeyLimit {
  kind: 'change_key_limit';
  keyId: string;
  changes: Partial<KeyLimit>;
}

/** The refusals of all commands but requests. */
export const termsRefusals = [
  'account_closed',
  'account_suspended',
  'too_many_plan_changes',
  'plan_not_in_force',
  'change_not_of_owner',
  'too_many_key_limits',
] as const satisfies readonly Refusal[];

export type TermsRefusal = (typeof termsRefusals)[number];

interface Circumstances {
  /** The key that asks, at the time that the events will carry. */
  key?: AskingKey | undefined;
  /** The download that the command may repeat; the caller finds it, because the state has no tokens. */
  prior?: PriorDownload | undefined;
  /** A person of the account asks. */
  isByOwner?: boolean;
}

/**
 * Decides one command on an open period. The caller has rolled over to the current period before (`usage-periods.ts`).
 *
 * @returns the events of one append, warnings and OverageCapReached included; none if nothing changes
 */
export function decideUsage(
  state: UsagePeriod,
  command: UsageCommand,
  { key, prior, isByOwner = false }: Circumstances = {},
): readonly UsageEvent[] | Refused {
  if (isLastEnded(state)) return command.kind === 'close_account' ? [] : refuse('account_closed');
  if (command.kind === 'close_account') return [endLastPeriod(state)];
  const isRequest = command.kind === 'queue_download' || command.kind === 'debit_metadata';
  const refused = isRequest ? refuseRequest(state, key) : undefined;
  if (refused) return refused;
  if (command.kind === 'queue_download' && prior && !prior.voided) return repeatDownload(command, prior);
  const decided = decide(state, command, { key, isByOwner });
  if ('refusal' in decided || decided.length === 0) return decided;
  const after = decided.reduce(evolveUsage, state) as UsagePeriod;
  const cap = command.kind === 'debit_metadata' ? [] : capReached(after);
  // Notices follow the event that causes them. A change of the next period causes none; alone, it is the occasion to tell of a cap
  // that this period has begun with.
  const [later, now] = [decided.filter(isForLater), decided.filter((event) => !isForLater(event))];
  const notices = [...warningsReached(after), ...cap];
  return now.length > 0 ? [...now, ...notices, ...later] : [...later, ...notices];
}

// Stryker disable next-line ConditionalExpression: a change of the cap is decided alone, and has its place either way
const isForLater = ({ type, data }: UsageEvent): boolean => type === 'PlanChanged' && data.effective === 'next_period';

/**
 * Refuses what an account that is closed or suspended asks for, or a key whose time is over.
 *
 * @param key undefined for a person's session
 */
export function refuseRequest(state: UsagePeriod, key: AskingKey | undefined): Refused | undefined {
  if (isLastEnded(state)) return refuse('account_closed');
  if (state.terms.suspended) return refuse('account_suspended');
  return key && isExpired(state.terms, key) ? refuse('key_expired') : undefined;
}

function decide(
  state: UsagePeriod,
  command: Exclude<UsageCommand, { kind: 'close_account' }>,
  { key, isByOwner = false }: Circumstances,
): UsageEvent[] | Refused {
  if (command.kind === 'queue_download') return queueDownload(state, command, key);
  if (command.kind === 'debit_metadata') return debitMetadata(state, command);
  return changeTerms(state, command, isByOwner);
}

type ChangeOfAccount = Exclude<UsageCommand, { kind: 'queue_download' | 'debit_metadata' | 'close_account' }>;

function changeTerms(
  state: UsagePeriod,
  command: ChangeOfAccount,
  isByOwner: boolean,
): UsageEvent[] | Refused<TermsRefusal> {
  switch (command.kind) {
    case 'change_plan':
    case 'change_terms':
      return changePlan(state, command, isByOwner);
    case 'keep_plan':
      return keepPlan(state, command, isByOwner);
    case 'set_overage_cap':
      return changeCap(state, command.effective, command.overageCapCents);
    case 'remove_overage_cap':
      return changeCap(state, command.effective, null);
    case 'change_key_limit':
      return changeKeyLimit(state, command);
    case 'suspend_account':
      return state.terms.suspended ? [] : [{ type: 'AccountSuspended', data: { account_id: state.accountId } }];
    case 'lift_suspension':
      return liftSuspension(state);
  }
}

/** The download exists: it is not charged again, and from now on it cannot be voided. */
function repeatDownload({ idempotency }: QueueDownload, prior: PriorDownload): UsageEvent[] | Refused {
  if (prior.fingerprint !== idempotency?.fingerprint) return refuse('idempotency_key_reused');
  return prior.confirmed ? [] : [{ type: 'DownloadConfirmed', data: { token: prior.token } }];
}

function queueDownload(state: UsagePeriod, command: QueueDownload, key: AskingKey | undefined): UsageEvent[] | Refused {
  const { token, video, format, quality, audioFormat, item, idempotency } = command;
  const charge = chargeOfKey(state, token, key);
  if (isRefused(charge)) return charge;
  const queued: UsageEvent = {
    type: 'DownloadQueued',
    data: {
      token,
      platform: video.platform,
      video_id: video.videoId,
      url: video.canonicalUrl,
      format,
      quality,
      audio_format: audioFormat,
      item,
      overage: charge.type === 'OverageCharged',
      idempotency: idempotency ? { key_hash: idempotency.keyHash, fingerprint: idempotency.fingerprint } : null,
    },
  };
  return [charge, queued];
}

type DownloadCharge = UsageEventOf<'DownloadCreditDebited' | 'OverageCharged'>;

/** The charge within the limit of its key, if the key has one. */
function chargeOfKey(state: UsagePeriod, token: string, key: AskingKey | undefined): DownloadCharge | Refused {
  const charge = chargeForDownload(state, token);
  const limit = key && state.terms.key_limits?.[key.id];
  if (isRefused(charge) || !limit) return charge;
  const use = state.keyUse[key.id] ?? noUse;
  if (limit.downloads !== null && use.downloads >= limit.downloads) return refuse('key_downloads_reached');
  // Stryker disable next-line ConditionalExpression: a credit has no cents that could exceed it; the compiler needs to be told
  const isOverage = charge.type === 'OverageCharged';
  if (isOverage && limit.overage_cents !== null && use.overage_cents + charge.data.cents > limit.overage_cents)
    return refuse('key_overage_reached');
  return { ...charge, data: { ...charge.data, limited_key_id: key.id } } as DownloadCharge;
}

/** Contract §8.3: a credit while there is one, then the overage rate up to the owner's cap, else a refusal. */
function chargeForDownload(state: UsagePeriod, token: string): DownloadCharge | Refused {
  const ordinal = state.downloads + 1;
  const { downloads_limit, overage_cents: rateCents, overage_cap_cents: capCents, rate_version } = state.terms;
  if (state.downloadCredits < downloads_limit) return { type: 'DownloadCreditDebited', data: { token, ordinal } };
  if (rateCents === null) return refuse('download_quota_exceeded');
  if (capCents !== null && state.overageCents + rateCents > capCents) return refuse('overage_cap_reached');
  return { type: 'OverageCharged', data: { token, ordinal, cents: rateCents, rate_cents: rateCents, rate_version } };
}

function debitMetadata(
  state: UsagePeriod,
  { lookupId, video, downloadRefusal }: Extract<UsageCommand, { kind: 'debit_metadata' }>,
): UsageEvent[] | Refused {
  if (state.metadataCredits >= state.terms.metadata_limit) return refuse('metadata_quota_exceeded');
  return [
    {
      type: 'MetadataCreditDebited',
      data: {
        lookup_id: lookupId,
        ordinal: state.lookups + 1,
        platform: video.platform,
        video_id: video.videoId,
        download_refusal: downloadRefusal,
      },
    },
  ];
}

function changeCap({ terms, due }: UsagePeriod, effective: Effective, capCents: number | null): UsageEvent[] {
  const coming = due?.overage_cap_cents === undefined ? terms.overage_cap_cents : due.overage_cap_cents;
  const changesNow = effective === 'now' && terms.overage_cap_cents !== capCents;
  if (!changesNow && coming === capCents) return [];
  if (capCents === null) return [{ type: 'OverageCapRemoved', data: { effective } }];
  return [{ type: 'OverageCapSet', data: { effective, overage_cap_cents: capCents } }];
}

function changeKeyLimit(
  { terms: { key_limits: limits } }: UsagePeriod,
  { keyId, changes }: ChangeKeyLimit,
): UsageEvent[] | Refused<'too_many_key_limits'> {
  const before = limits?.[keyId] ?? noLimit;
  const limit = { ...before, ...changes };
  if (isSameLimit(before, limit)) return [];
  if (isSameLimit(limit, noLimit)) return [{ type: 'KeyLimitRemoved', data: { key_id: keyId } }];
  const count = Object.keys(withKeyLimit(limits, keyId, limit) ?? {}).length;
  if (count > maxKeyLimits) return refuse('too_many_key_limits');
  return [{ type: 'KeyLimitSet', data: { key_id: keyId, limit } }];
}

const isSameLimit = (one: KeyLimit, other: KeyLimit): boolean =>
  (['downloads', 'overage_cents', 'until'] as const).every((part) => one[part] === other[part]);

function liftSuspension({ terms, feeCents }: UsagePeriod): UsageEvent[] {
  if (!terms.suspended) return [];
  const data = { plan: terms.plan, fee_difference_cents: Math.max(0, terms.fee_cents - feeCents) };
  return [{ type: 'SuspensionLifted', data }];
}
