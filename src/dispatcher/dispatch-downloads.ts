import pMap from 'p-map';
import type { Pool } from 'pg';
import {
  type Checkpoint,
  checkpointAfter,
  dispatchCheckpoint,
  writeCheckpoint,
} from '../../projections/runner/checkpoints.ts';
import { resume } from '../../projections/runner/resume.ts';
import { noteServiceFailures } from '../../projections/work-lists/service-failures.ts';
import { readJobOrigin } from '../commands/record-job-progress.ts';
import { isServiceFailure } from '../domain/failed-job-keeps-charge.ts';
import { parseJobEvent, parseUsageEvent } from '../domain/parse-event.ts';
import type { EventStore, RecordedEvent, Subscription } from '../ports/event-store.ts';
import { type JobQueue, messageId } from '../ports/job-queue.ts';

export interface DispatchDependencies {
  store: EventStore;
  queue: JobQueue;
  pool: Pool;
}

const publishesUnderWay = 64;

/**
 * From the log to the work queue: a message for each download that becomes queued. At least once; a message too many does
 * no harm, and one lost is published again by the sweeper. On the way, downloads that failed by the service's fault are
 * noted for `return-service-failures.ts`: before the checkpoint, so that none is missed.
 */
export function dispatchDownloads({ store, queue, pool }: DispatchDependencies): Subscription {
  let checkpoint: Checkpoint | undefined;
  return store.subscribe({
    name: dispatchCheckpoint,
    streamPrefixes: ['usage-', 'job-'],
    from: async () => {
      const resumed = await resume({ pool, store }, dispatchCheckpoint);
      ({ checkpoint } = resumed);
      return resumed.position;
    },
    apply: async (batch) => {
      const { events } = batch;
      await pMap(events, (event) => dispatch(event, { store, queue }), { concurrency: publishesUnderWay });
      await noteServiceFailures(pool, events.flatMap(serviceFailure));
      checkpoint = checkpointAfter(checkpoint, batch);
      await writeCheckpoint(pool, dispatchCheckpoint, checkpoint);
    },
  });
}

async function dispatch(
  recorded: RecordedEvent,
  { store, queue }: Pick<DispatchDependencies, 'store' | 'queue'>,
): Promise<void> {
  if (recorded.type === 'DownloadQueued') {
    const { event, stream, revision, metadata } = parseUsageEvent(recorded);
    if (event.type !== 'DownloadQueued') return;
    const { token } = event.data;
    const message = { token, usageStream: stream, usageRevision: revision };
    await queue.publish(message, messageId(token, -1, 0), metadata.$traceparent);
  } else if (recorded.type === 'JobReleased') {
    const { event, revision, metadata } = parseJobEvent(recorded);
    const origin = await readJobOrigin(store, event.data.token);
    if (origin) await queue.publish(origin, messageId(origin.token, revision, 0), metadata.$traceparent);
  }
}

/** @returns the download, where it failed by the service's fault */
function serviceFailure(recorded: RecordedEvent): string[] {
  if (recorded.type !== 'JobFailed') return [];
  const { event } = parseJobEvent(recorded);
  return isServiceFailure(event) ? [event.data.token] : [];
}
