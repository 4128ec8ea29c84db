import { accountStream } from '../domain/account-events.ts';
import { type BillingPeriod, usageStream } from '../domain/billing-period.ts';
import { correctionsStream } from '../domain/correction-events.ts';
import { jobStream } from '../domain/download-job-events.ts';
import { invoicesStream } from '../domain/invoice-events.ts';
import { isOurStream } from '../domain/is-our-stream.ts';
import { eventMetadata, parseUsageEvent } from '../domain/parse-event.ts';
import type { DownloadQueued } from '../domain/usage-events.ts';
import type { EventStore, WholeLog } from '../ports/event-store.ts';

/** What the log has of the story: all of it, or what an interrupted start has told. */

/** A download of the story that is in the log. */
export type LoggedDownload = ReturnType<typeof downloadOf>;

/** @returns a function that reads the usage streams of an account: each time only the events that are new */
export function usageReader(log: Pick<EventStore, 'read'>, accountId: string, periods: readonly BillingPeriod[]) {
  const streams = periods.map((period) => ({
    name: usageStream(accountId, period),
    events: [] as ReturnType<typeof parseUsageEvent>[],
  }));
  return async () => {
    for (const { name, events } of streams)
      events.push(...(await log.read(name, events.length)).map((recorded) => parseUsageEvent(recorded)));
    const events = streams.flatMap((stream) => stream.events);
    return {
      /** In the order of the story. */
      downloads: events.flatMap((each) =>
        each.event.type === 'DownloadQueued' ? downloadOf(each.event.data.token, each) : [],
      ),
      /** Warnings and reached caps, oldest first. */
      notices: events
        .filter(({ event: { type } }) => type === 'UsageWarningReached' || type === 'OverageCapReached')
        .map(({ stream, id, metadata }) => ({ stream, eventId: id, timeMs: Date.parse(metadata.time) })),
    };
  };
}

const downloadOf = (token: string, { stream, revision, id, metadata }: ReturnType<typeof parseUsageEvent>) => ({
  token,
  usageStream: stream,
  /** Of its DownloadQueued. Its charge is the event before. */
  usageRevision: revision,
  queuedMs: Date.parse(metadata.time),
  /** Of what a worker does about it. */
  cause: { correlationId: metadata.$correlationId, causationId: id },
});

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
