import { changePlan, type PlanChange } from './change-plan.ts';
import type { DownloadOptions } from './download-options.ts';
import { evolveUsage } from './evolve-usage.ts';
import type { FailureReason } from './failure-reasons.ts';
import { refuse, type Refused } from './refusals.ts';
import type { Effective, UsageEvent } from './usage-events.ts';
import { capReached, warningsReached } from './usage-notices.ts';
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
  | { kind: 'set_overage_cap'; overageCapCents: number; effective: Effective }
  | { kind: 'remove_overage_cap'; effective: Effective };

/**
 * Decides one command on an open period. The caller has rolled over to the current period before (`usage-periods.ts`).
 *
 * @param prior the download that the command may repeat; the caller finds it, because the state has no tokens
 * @returns the events of one append, warnings and OverageCapReached included; none if nothing changes
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
  // Notices follow the event that causes them. A change of the next period causes none; alone, it is the occasion to tell of a cap
  // that this period has begun with.
  const [later, now] = [decided.filter(isForLater), decided.filter((event) => !isForLater(event))];
  const notices = [...warningsReached(after), ...cap];
  return now.length > 0 ? [...now, ...notices, ...later] : [...later, ...notices];
}

// Stryker disable next-line ConditionalExpression: a change of the cap is decided alone, and has its place either way
const isForLater = ({ type, data }: UsageEvent): boolean => type === 'PlanChanged' && data.effective === 'next_period';

function decide(state: UsagePeriod, command: UsageCommand): UsageEvent[] | Refused {
  switch (command.kind) {
    case 'queue_download':
      return queueDownload(state, command);
    case 'debit_metadata':
      return debitMetadata(state, command);
    case 'change_plan':
    case 'change_terms':
      return changePlan(state, command);
    case 'set_overage_cap':
      return changeCap(state, command.effective, command.overageCapCents);
    case 'remove_overage_cap':
      return changeCap(state, command.effective, null);
  }
}

/** The download exists: it is not charged again, and from now on it cannot be voided. */
function repeatDownload({ idempotency }: QueueDownload, prior: PriorDownload): UsageEvent[] | Refused {
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
