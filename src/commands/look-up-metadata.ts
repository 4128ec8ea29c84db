import type { FailureReason } from '../domain/failure-reasons.ts';
import { later } from '../domain/instant.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import type { MetadataProbe, VideoMetadata, VideoReference } from '../ports/videos.ts';
import type { Cause } from './handler/event-metadata.ts';
import type { UsageAnswer, WriterCommand } from './usage/decide-batch.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

export type LookUpAnswer =
  | { outcome: 'found'; metadata: VideoMetadata }
  | { outcome: 'probe_failed'; reason: FailureReason; detail: string; nobodyAnswered: boolean }
  | Exclude<UsageAnswer, { outcome: 'accepted' | 'found_earlier' }>;

export interface LookUpRequest {
  accountId: string;
  lookupId: string;
  video: VideoReference;
  snapshot: UsageSnapshot;
  cause: Cause;
  /** Time for each of the two decisions on the log; the probe has its own limit. */
  decisionBudgetMs: number;
  now: string;
}

/**
 * Queries whether the pool has a credit left, asks a worker for the metadata, then debits the credit: only a lookup that
 * succeeds is charged, and an empty pool costs no request to a platform. If the pool has become empty meanwhile, the debit is
 * refused and the result is discarded.
 */
export async function lookUpMetadata(
  { writers, probe }: { writers: WriterRegistry; probe: MetadataProbe },
  { accountId, lookupId, video, snapshot, cause, decisionBudgetMs, now }: LookUpRequest,
): Promise<LookUpAnswer> {
  const ask = (command: WriterCommand) =>
    writers.ask(accountId, { snapshot, cause, command, deadlineMs: performance.now() + decisionBudgetMs });
  const current = await ask({ kind: 'query' });
  if (current.outcome !== 'accepted') return notCharged(current);
  if (summariseUsage(current.usage, later(now, current.time)).metadata.remaining === 0) {
    return { outcome: 'refused', refusal: 'metadata_quota_exceeded', usage: current.usage };
  }
  const found = await probe.probe(video);
  if (!found.ok) {
    const { reason, detail, nobodyAnswered = false } = found;
    return { outcome: 'probe_failed', reason, detail, nobodyAnswered };
  }
  const { downloadRefusal } = found.metadata;
  const answer = await ask({ kind: 'debit_metadata', lookupId, video, downloadRefusal });
  if (answer.outcome !== 'accepted') return notCharged(answer);
  return { outcome: 'found', metadata: found.metadata };
}

type NotCharged = Exclude<UsageAnswer, { outcome: 'accepted' }>;

/** Only downloads have idempotency keys. */
function notCharged(answer: NotCharged): Exclude<NotCharged, { outcome: 'found_earlier' }> {
  if (answer.outcome === 'found_earlier') throw new Error('a lookup was taken for a download');
  return answer;
}
