import { type QueuedJob, readJobOrigin } from '../commands/record-job-progress.ts';
import { parseUsageEvent } from '../domain/parse-event.ts';
import type { EventStore } from '../ports/event-store.ts';

/** An answer about a video counts for downloads of the next hour. */
const countsForMs = 3_600_000;
const pageEvents = 500;

/**
 * Tells whether the newest metadata that the account got of the video, within the hour before it queued the download and in the same
 * billing period, named nothing against a download. Reads the usage stream backwards from the download, which a worker has claimed.
 *
 * @throws {EventStoreUnavailable}
 */
export async function wasCalledPossible(
  store: EventStore,
  { token, platform, video_id, queuedAt }: Pick<QueuedJob, 'token' | 'platform' | 'video_id' | 'queuedAt'>,
): Promise<boolean> {
  const origin = await readJobOrigin(store, token);
  if (!origin) return false;
  const { usageStream, usageRevision } = origin;
  const earliest = new Date(Date.parse(queuedAt) - countsForMs).toISOString();
  // The client was told that these look-ups failed, and nothing of the download.
  const voided = new Set<string>();
  for (let end = usageRevision; end > 0; end -= pageEvents) {
    const first = Math.max(end - pageEvents, 0);
    const events = (await store.read(usageStream, first, end - first)).map(parseUsageEvent);
    for (const { event, metadata } of events.reverse()) {
      if (metadata.time < earliest) return false;
      const { type, data } = event;
      if (type === 'MetadataCreditVoided') voided.add(data.lookup_id);
      if (type !== 'MetadataCreditDebited' || voided.has(data.lookup_id)) continue;
      if (data.platform === platform && data.video_id === video_id) return data.download_refusal === null;
    }
  }
  return false;
}
