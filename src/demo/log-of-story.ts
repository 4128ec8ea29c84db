import { accountStream } from '../domain/account-events.ts';
import { type BillingPeriod, usageStream } from '../domain/billing-period.ts';
import { correctionsStream } from '../domain/correction-events.ts';
import { jobStream } from '../domain/download-job-events.ts';
import { invoicesStream } from '../domain/invoice-events.ts';
import { isOurStream } from '../domain/is-our-stream.ts';
import { eventMetadata, parseUsageEvent } from '../domain/parse-event.ts';
import type { DownloadQueued } from '../domain/usage-events.ts';
import type { EventStore, RecordedEvent, WholeLog } from '../ports/event-store.ts';

/** What the log has of the story: all of it, or what an interrupted start has told. */

/** A download of the story that is in the log. */
export interface LoggedDownload {
  token: string;
  usageStream: string;
  /** Of its DownloadQueued. Its charge is the event before. */
  usageRevision: number;
  queuedMs: number;
  /** Of what a worker does about it. */
  cause: { correlationId: string; causationId: string };
}

export interface LoggedUsage {
  /** In the order of the story. */
  downloads: LoggedDownload[];
  /** Warnings and reached caps, oldest first. */
  notices: { stream: string; eventId: string; timeMs: number }[];
}

/** Reads the usage streams of an account. */
export async function readUsage(
  log: Pick<EventStore, 'read'>,
  accountId: string,
  periods: readonly BillingPeriod[],
): Promise<LoggedUsage> {
  const usage: LoggedUsage = { downloads: [], notices: [] };
  for (const period of periods)
    for (const recorded of await log.read(usageStream(accountId, period), 0)) follow(usage, recorded);
  return usage;
}

function follow(usage: LoggedUsage, recorded: RecordedEvent): void {
  const { event, stream, revision, id, metadata } = parseUsageEvent(recorded);
  const timeMs = Date.parse(metadata.time);
  const { type, data } = event;
  if (type === 'DownloadQueued') {
    const cause = { correlationId: metadata.$correlationId, causationId: id };
    const { token } = data;
    usage.downloads.push({ token, usageStream: stream, usageRevision: revision, queuedMs: timeMs, cause });
  }
  if (type === 'UsageWarningReached' || type === 'OverageCapReached')
    usage.notices.push({ stream, eventId: id, timeMs });
}

const pageEvents = 1_000;

/**
 * Reads a log that holds nothing of ours but the story. An unfinished story is short, and its events are the first ones, so no long
 * log is read.
 *
 * @returns the time of each account's newest event, in milliseconds. Events of jobs do not count, because their order is not the
 *   story's, nor do those of mails, which follow a step that may not be over. Undefined if the log holds anything else.
 */
export async function readTimes(
  log: WholeLog,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, number> | undefined> {
  const newestMs = new Map<string, number>();
  const jobs = new Set<string>();
  const accountOf = (stream: string) =>
    accountIds.find(
      (id) =>
        [accountStream(id), invoicesStream(id), correctionsStream(id)].includes(stream) ||
        stream.startsWith(`usage-${id}-`),
    );
  let after = -1n;
  for (;;) {
    const page = await log.readAll(after, pageEvents);
    for (const recorded of page.filter(({ stream }) => isOurStream(stream))) {
      const { stream, type, metadata } = recorded;
      const accountId = accountOf(stream);
      if (accountId === undefined && !jobs.has(stream)) return undefined;
      if (accountId !== undefined && !type.endsWith('Mailed'))
        newestMs.set(accountId, Date.parse(eventMetadata.parse(metadata).time));
      if (type === 'DownloadQueued') jobs.add(jobStream((recorded.data as DownloadQueued).token));
    }
    const last = page.at(-1);
    if (!last) return newestMs;
    after = last.position;
  }
}
