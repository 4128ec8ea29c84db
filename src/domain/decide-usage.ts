import type { DownloadOptions } from './download-options.ts';
import type { PlanTerms } from './plans.ts';
import { refuse } from './refusals.ts';
import type { Refused } from './refusals.ts';
import type { Effective, UsageEvent } from './usage-events.ts';
import { capReached, warningsReached } from './usage-notices.ts';
import { comingTerms } from './usage-periods.ts';
import { evolveUsage } from './usage.ts';
import type { UsagePeriod } from './usage-state.ts';

/** Decisions on an open billing period: charges, lookups, terms. All money is decided here. */

export interface QueueDownload extends DownloadOptions {
  kind: 'queue_download';
  token: string;
  video: { platform: string; videoId: string; canonicalUrl: string };
  /** SHA-256 of the request's Idempotency-Key, and of what it asks for. */
  idempotency?: { keyHash: string; fingerprint: string } | undefined;
}

/** A download that was accepted before: the one with the command's token, or the newest one with its idempotency key. */
export interface PriorDownload {
  token: string;
  overage: boolean;
  fingerprint: string | null;
  confirmed: boolean;
  voided: boolean;
}

/** One that was asked for with an idempotency key, and the event that says so. */
export interface KeyedDownload extends PriorDownload {
  stream: string;
  revision: number;
}

export type TermsChanges = Partial<
  Pick<PlanTerms, 'downloads_limit' | 'metadata_limit' | 'overage_cents' | 'fee_cents' | 'hourly_limit' | 'max_keys'>
>;

export type UsageCommand =
  | QueueDownload
  | { kind: 'debit_metadata'; lookupId: string; video: { platform: string; videoId: string } }
  /** Without `effective`: from the next period on where the fee becomes lower, else from now on. */
  | { kind: 'change_plan'; terms: PlanTerms; effective: Effective | undefined }
  /** Terms of the account's own: those that are not named stay as they are. `agreedAt` is an instant, UTC ISO-8601. */
  | { kind: 'change_terms'; changes: TermsChanges; effective: Effective | undefined; agreedAt: string }
  | { kind: 'set_overage_cap'; overageCapCents: number; effective: Effective }
  | { kind: 'remove_overage_cap'; effective: Effective };

/**
 * Decides one command on an open period; the caller has ended and opened periods first (`usage-periods.ts`).
 *
 * @param prior the download that the command may repeat, if there is one: known to the caller, because the state has no tokens
 * @returns the events of one append, warnings and OverageCapReached included; none where nothing changes
 */
export function decideUsage(
  state: UsagePeriod,
  command: UsageCommand,
  prior?: PriorDownload,
): readonly UsageEvent[] | Refused {
  if (command.kind === 'queue_download' && prior && !prior.voided) return repeatDownload(command, prior);
  const decided = decide(state, command);
  if ('refusal' in decided || decided.length === 0) return decided;
  const after = decided.reduce(evolveUsage, state) as UsagePeriod;
  const cap = command.kind === 'debit_metadata' ? [] : capReached(after);
  return [...decided, ...warningsReached(after), ...cap];
}

function decide(state: UsagePeriod, command: UsageCommand): UsageEvent[] | Refused {
  switch (command.kind) {
    case 'queue_download':
      return queueDownload(state, command);
    case 'debit_metadata':
      return debitMetadata(state, command);
    case 'change_plan':
    case 'change_terms':
      return changePlan(state, resultOfPlanChange(state, command));
    case 'set_overage_cap':
      return changeCap(state, command.effective, command.overageCapCents);
    case 'remove_overage_cap':
      return changeCap(state, command.effective, null);
  }
}

/** The download is there: it is not charged again, and from now on it stays. */
function repeatDownload({ token, idempotency }: QueueDownload, prior: PriorDownload): UsageEvent[] | Refused {
  if (prior.token === token) return [];
  if (prior.fingerprint !== idempotency?.fingerprint) return refuse('idempotency_key_reused');
  return prior.confirmed ? [] : [{ type: 'DownloadConfirmed', data: { token: prior.token } }];
}

function queueDownload(state: UsagePeriod, command: QueueDownload): UsageEvent[] | Refused {
  const { token, video, format, quality, audioFormat, item, idempotency } = command;
  const charge = chargeForDownload(state, token);
  if ('refusal' in charge) return charge;
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

/** Contract §8.3: a credit while there is one, then the overage rate up to the owner's cap, else a refusal. */
function chargeForDownload(state: UsagePeriod, token: string): UsageEvent | Refused {
  const ordinal = state.downloads + 1;
  const { downloads_limit, overage_cents: rateCents, overage_cap_cents: capCents, rate_version } = state.terms;
  if (state.downloadCredits < downloads_limit) return { type: 'DownloadCreditDebited', data: { token, ordinal } };
  if (rateCents === null) return refuse('download_quota_exceeded');
  if (capCents !== null && state.overageCents + rateCents > capCents) return refuse('overage_cap_reached');
  return { type: 'OverageCharged', data: { token, ordinal, cents: rateCents, rate_cents: rateCents, rate_version } };
}

function debitMetadata(
  state: UsagePeriod,
  { lookupId, video }: Extract<UsageCommand, { kind: 'debit_metadata' }>,
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
      },
    },
  ];
}

type PlanChange = Extract<UsageCommand, { kind: 'change_plan' | 'change_terms' }>;

/** From when on a change holds, and the whole terms that it comes to: those named, on top of those of that time. */
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

/** A price that stands in no price list is named by itself and the day on which it was agreed. */
const ownRateVersion = (agreedAt: string, overageCents: number | null): string =>
  `own-${agreedAt.slice(0, 10)}-${overageCents === null ? 'none' : String(overageCents)}`;

/** Each change may bring a rate of its own and lines to the invoice, whose size is bounded (`invoice-lines.ts`). */
export const maxPlanChanges = 100;

/**
 * No proration: the first rise above what the period's fee is already brings its whole difference into this period, and going
 * down and up again within a period costs nothing more.
 */
function changePlan(
  state: UsagePeriod,
  { terms, effective }: { terms: PlanTerms; effective: Effective },
): UsageEvent[] | Refused {
  const { overage_cap_cents: _cap, ...current } = state.terms;
  const isDue = sameTerms(state.due?.plan ?? current, terms);
  if (isDue && (effective === 'next_period' || sameTerms(current, terms))) return [];
  if (state.planChanges >= maxPlanChanges) return refuse('too_many_plan_changes');
  const differenceCents = effective === 'now' ? Math.max(0, terms.fee_cents - state.feeCents) : 0;
  return [{ type: 'PlanChanged', data: { effective, terms, fee_difference_cents: differenceCents } }];
}

function changeCap({ terms, due }: UsagePeriod, effective: Effective, capCents: number | null): UsageEvent[] {
  const coming = due?.overage_cap_cents === undefined ? terms.overage_cap_cents : due.overage_cap_cents;
  const changesNow = effective === 'now' && terms.overage_cap_cents !== capCents;
  if (!changesNow && coming === capCents) return [];
  if (capCents === null) return [{ type: 'OverageCapRemoved', data: { effective } }];
  return [{ type: 'OverageCapSet', data: { effective, overage_cap_cents: capCents } }];
}

function sameTerms(one: PlanTerms, other: PlanTerms): boolean {
  return (Object.keys(one) as (keyof PlanTerms)[]).every(
    (field) => JSON.stringify(one[field]) === JSON.stringify(other[field]),
  );
}
