import { LRUCache } from 'lru-cache';
import type { NatsConnection } from 'nats';
import { z } from 'zod';
import type { ProgressChannel } from '../../ports/job-queue.ts';
import type { DownloadProgress } from '../../ports/videos.ts';

const prefix = 'progress.';

const progressMessage = z.object({
  percent: z.number().min(0).max(100).nullable(),
  bytesPerSecond: z.number().min(0).nullable(),
  etaSeconds: z.number().min(0).nullable(),
});

/** The worker's side. Core NATS suffices, since missed progress does no harm. */
export function createProgressReporter(connection: NatsConnection): ProgressChannel {
  return {
    report: (token, progress) => {
      if (!connection.isClosed()) connection.publish(prefix + token, JSON.stringify(progress));
    },
  };
}

/** The API's side: the newest progress of each running download, kept for a while. */
export function followProgress(connection: NatsConnection): (token: string) => DownloadProgress | undefined {
  const latest = new LRUCache<string, DownloadProgress>({ max: 10_000, ttl: 60_000 });
  connection.subscribe(`${prefix}*`, {
    callback: (error, message) => {
      if (error) return;
      try {
        latest.set(message.subject.slice(prefix.length), progressMessage.parse(message.json()));
      } catch {
        // Not a message of ours.
      }
    },
  });
  return (token) => latest.get(token);
}
