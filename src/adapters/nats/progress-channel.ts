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

/** The worker's side. Plain NATS: whoever is not listening misses it, and nothing is lost. */
export function createProgressReporter(connection: NatsConnection): ProgressChannel {
  return {
    report: (token, progress) => {
      if (!connection.isClosed()) connection.publish(prefix + token, JSON.stringify(progress));
    },
  };
}

/** The API's side: the last word about each running download, for a while. */
export function followProgress(connection: NatsConnection): (token: string) => DownloadProgress | undefined {
  const latest = new LRUCache<string, DownloadProgress>({ max: 10_000, ttl: 60_000 });
  connection.subscribe(`${prefix}*`, {
    callback: (error, message) => {
      if (error) return;
      try {
        latest.set(message.subject.slice(prefix.length), progressMessage.parse(message.json()));
      } catch {
        // Not one of ours.
      }
    },
  });
  return (token) => latest.get(token);
}
