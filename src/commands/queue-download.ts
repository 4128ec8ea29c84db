import type { DownloadOptions } from '../domain/download-options.ts';
import { isRefused, refuse } from '../domain/refusals.ts';
import type { OpenUsage, UsageSnapshot } from '../domain/usage-state.ts';
import { NotStored, OutcomeUnknown } from './handle.ts';
import { fingerprintOf } from './idempotency.ts';
import type { KeyedDownload } from '../domain/decide-usage.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { EventStoreClosed, EventStoreUnavailable } from '../ports/event-store.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { VideoReference } from '../ports/videos.ts';
import type { Cause } from './event-metadata.ts';
import { correctCharge, readCorrections } from './correct-charge.ts';
import type { UsageAnswer } from './usage/batch.ts';
import type { UsageLanes } from './usage/writer-registry.ts';

export interface QueueDownloadRequest {
  accountId: string;
  /** Fresh random bits with a keyed check (`RequestTokens`). */
  token: string;
  video: VideoReference;
  options: DownloadOptions;
  /** SHA-256 of the request's Idempotency-Key, if it has one. */
  keyHash?: string | undefined;
  /** The download that the read model has for that key, as of the same point as `snapshot`. */
  keyed?: KeyedDownload | undefined;
  snapshot: UsageSnapshot;
  cause: Cause;
  deadlineMs: number;
}

export interface QueueDownloadDependencies {
  lanes: UsageLanes;
  store: EventStore;
  now: () => string;
  newUuid: () => string;
}

export type QueueDownloadAnswer =
  /** Now, or by an earlier request with the same idempotency key: the token and the price are that one's. */
  | { outcome: 'queued'; token: string; overage: boolean; usage: OpenUsage }
  | Exclude<UsageAnswer, { outcome: 'accepted' | 'found_earlier' }>;

/** Accepting a download is one append: its charge and the job together, or nothing (design of `usage/account-writer.ts`). */
export async function queueDownload(
  dependencies: QueueDownloadDependencies,
  { accountId, token, video, options, keyHash, ...request }: QueueDownloadRequest,
): Promise<QueueDownloadAnswer> {
  const idempotency = keyHash === undefined ? undefined : { keyHash, fingerprint: fingerprintOf(video, options) };
  const command = { kind: 'queue_download', token, video, ...options, idempotency } as const;
  for (let voidedToken: string | undefined; ;) {
    const answer = await dependencies.lanes.ask(accountId, { ...request, command, voidedToken });
    if (answer.outcome === 'accepted') {
      const overage = answer.repeated?.overage ?? answer.events.some(({ type }) => type === 'OverageCharged');
      return { outcome: 'queued', token: answer.repeated?.token ?? token, overage, usage: answer.usage };
    }
    if (answer.outcome !== 'found_earlier') return answer;
    const { prior, usage } = answer;
    const isSame = prior.fingerprint === idempotency?.fingerprint;
    const found = isSame ? confirm : look;
    // What is confirmed stays.
    switch (prior.confirmed ? 'stands' : await found(dependencies, prior, request)) {
      case 'voided':
        // The key is free.
        voidedToken = prior.token;
        continue;
      case 'stands':
        if (!isSame) return { ...refuse('idempotency_key_reused'), outcome: 'refused', usage };
        return { outcome: 'queued', token: prior.token, overage: prior.overage, usage };
      case 'unknown':
        return { outcome: 'unknown' };
    }
  }
}

/** In the stream of its own period: from then on it cannot be voided any more. */
async function confirm(
  { store, now, newUuid }: QueueDownloadDependencies,
  { token, stream, revision }: KeyedDownload,
  { cause, deadlineMs }: Pick<QueueDownloadRequest, 'cause' | 'deadlineMs'>,
): Promise<'stands' | 'voided' | 'unknown'> {
  const corrected = await correctCharge(
    { store, now },
    {
      stream,
      command: { kind: 'confirm_download', token },
      fromRevision: chargeRevisionOf(revision),
      // The request's own command may still queue a download.
      cause: { ...cause, commandId: newUuid() },
      timeoutMs: deadlineMs - performance.now(),
    },
  ).catch((error: unknown) => {
    // Not even "nothing is stored" can be said: a charge is there already.
    const isUndecided = [ClockIsWrong, NotStored, OutcomeUnknown, EventStoreClosed].some(
      (kind) => error instanceof kind,
    );
    if (isUndecided) return undefined;
    throw error;
  });
  if (!corrected) return 'unknown';
  if (!isRefused(corrected)) return 'stands';
  if (corrected.refusal !== 'download_voided') throw new Error(`${token} of ${stream}: ${corrected.refusal}`);
  return 'voided';
}

async function look(
  { store }: QueueDownloadDependencies,
  { token, stream, revision }: KeyedDownload,
): Promise<'stands' | 'voided' | 'unknown'> {
  try {
    const { charges } = await readCorrections(store, stream, chargeRevisionOf(revision));
    return charges.get(token)?.voided ? 'voided' : 'stands';
  } catch (error) {
    if (error instanceof EventStoreUnavailable) return 'unknown';
    throw error;
  }
}

/** The charge stands right before its DownloadQueued. */
const chargeRevisionOf = (queuedRevision: number) => queuedRevision - 1;
