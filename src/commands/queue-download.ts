import type { KeyedDownload } from '../domain/decide-usage.ts';
import type { DownloadOptions } from '../domain/download-options.ts';
import { isRefused, refuse } from '../domain/refusals.ts';
import type { UsagePeriod, UsageSnapshot } from '../domain/usage-state.ts';
import { couldNotBeRead, EventStoreClosed } from '../ports/event-store.ts';
import type { VideoReference } from '../ports/videos.ts';
import { changeCharge, readCharges } from './change-charge.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import type { Cause } from './handler/event-metadata.ts';
import { NotStored, OutcomeUnknown } from './handler/handle-command.ts';
import { fingerprintOf } from './ids/idempotency-key-hash.ts';
import type { UsageAnswer } from './usage/decide-batch.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

export interface QueueDownloadRequest {
  accountId: string;
  /** Fresh random bits with a keyed check (`RequestTokens`). */
  token: string;
  video: VideoReference;
  options: DownloadOptions;
  /** SHA-256 of the request's Idempotency-Key, if it has one. */
  keyHash?: string | undefined;
  /** The read model's download with that key, as of the same point as `snapshot`. */
  keyed?: KeyedDownload | undefined;
  snapshot: UsageSnapshot;
  cause: Cause;
  deadlineMs: number;
}

interface QueueDownloadDependencies extends CommandDependencies {
  writers: WriterRegistry;
}

export type QueueDownloadAnswer =
  /** By this request, or by an earlier one with the same idempotency key, whose token and price these are then. */
  | { outcome: 'queued'; token: string; overage: boolean; usage: UsagePeriod }
  | Exclude<UsageAnswer, { outcome: 'accepted' | 'found_earlier' }>;

/** Accepting a download is one append with its charge and its job: both are stored, or neither (`usage/account-writer.ts`). */
export async function queueDownload(
  dependencies: QueueDownloadDependencies,
  { accountId, token, video, options, keyHash, ...request }: QueueDownloadRequest,
): Promise<QueueDownloadAnswer> {
  const idempotency = keyHash === undefined ? undefined : { keyHash, fingerprint: fingerprintOf(video, options) };
  const command = { kind: 'queue_download', token, video, ...options, idempotency } as const;
  for (let voidedToken: string | undefined; ;) {
    const answer = await dependencies.writers.ask(accountId, { ...request, command, voidedToken });
    if (answer.outcome === 'accepted') {
      const overage = answer.repeated?.overage ?? answer.events.some(({ type }) => type === 'OverageCharged');
      return { outcome: 'queued', token: answer.repeated?.token ?? token, overage, usage: answer.usage };
    }
    if (answer.outcome !== 'found_earlier') return answer;
    const { prior, usage } = answer;
    const isSame = prior.fingerprint === idempotency?.fingerprint;
    const status = await statusOfPrior(dependencies, prior, isSame ? request : undefined);
    if (status === 'unknown') return { outcome: 'unknown' };
    if (status === 'stands') {
      if (!isSame) return { ...refuse('idempotency_key_reused'), outcome: 'refused', usage };
      return { outcome: 'queued', token: prior.token, overage: prior.overage, usage };
    }
    // The key of a voided download is free: the account writer decides again.
    voidedToken = prior.token;
  }
}

type PriorStatus = 'stands' | 'voided' | 'unknown';

/** @param repeat the request that asks for the same download again, which confirms it */
async function statusOfPrior(
  dependencies: QueueDownloadDependencies,
  prior: KeyedDownload,
  repeat: Pick<QueueDownloadRequest, 'cause' | 'deadlineMs'> | undefined,
): Promise<PriorStatus> {
  if (prior.confirmed) return 'stands';
  return repeat ? confirm(dependencies, prior, repeat) : readStatus(dependencies, prior);
}

/** Confirms a download in the stream of its own period: after that it cannot be voided. */
async function confirm(
  { store, now, newUuid }: QueueDownloadDependencies,
  { token, stream, revision }: KeyedDownload,
  { cause, deadlineMs }: Pick<QueueDownloadRequest, 'cause' | 'deadlineMs'>,
): Promise<PriorStatus> {
  const corrected = await changeCharge(
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
    // "Nothing is stored" would be wrong: the download's own charge is.
    const isUndecided = [NotStored, OutcomeUnknown, EventStoreClosed].some((kind) => error instanceof kind);
    if (isUndecided) return undefined;
    throw error;
  });
  if (!corrected) return 'unknown';
  if (!isRefused(corrected)) return 'stands';
  if (corrected.refusal !== 'download_voided') throw new Error(`${token} of ${stream}: ${corrected.refusal}`);
  return 'voided';
}

async function readStatus(
  { store }: QueueDownloadDependencies,
  { token, stream, revision }: KeyedDownload,
): Promise<PriorStatus> {
  try {
    const { charges } = await readCharges(store, stream, chargeRevisionOf(revision));
    return charges.get(token)?.voided ? 'voided' : 'stands';
  } catch (error) {
    if (couldNotBeRead(error)) return 'unknown';
    throw error;
  }
}

/** The charge is the event before its DownloadQueued. */
const chargeRevisionOf = (queuedRevision: number) => queuedRevision - 1;
