import { accountStream } from '../../domain/account-events.ts';
import { jobStream } from '../../domain/download-job-events.ts';
import { invoicesStream } from '../../domain/invoice-events.ts';
import { isOurStream } from '../../domain/is-our-stream.ts';
import { parseUsageEvent } from '../../domain/parse-event.ts';
import type { EventStore, RecordedEvent, WholeLog } from '../../ports/event-store.ts';

/** What an interrupted start has told of the story, from the log. */

/** A download of the story that is in the log. */
export interface ToldDownload {
  token: string;
  usageStream: string;
  /** Of its DownloadQueued. Its charge is the event before. */
  usageRevision: number;
  queuedMs: number;
  /** Of what a worker does about it. */
  cause: { correlationId: string; causationId: string };
}

export interface ToldUsage {
  /** In the order of the story. */
  downloads: ToldDownload[];
  lookups: number;
  /** Of plan, terms or overage cap. */
  changes: number;
  /** Notices that no mail is recorded of, oldest first. */
  unmailed: { stream: string; eventId: string; timeMs: number }[];
  /** How many events of each stream are in here. */
  followed: Map<string, number>;
}

export const nothingTold = (): ToldUsage => ({
  downloads: [],
  lookups: 0,
  changes: 0,
  unmailed: [],
  followed: new Map(),
});

/** Follows the usage streams of an account to their ends. */
export async function followUsage(
  store: Pick<EventStore, 'read'>,
  told: ToldUsage,
  streams: readonly string[],
): Promise<void> {
  for (const stream of streams) {
    const events = await store.read(stream, told.followed.get(stream) ?? 0);
    for (const recorded of events) follow(told, recorded);
    const last = events.at(-1);
    if (last) told.followed.set(stream, last.revision + 1);
  }
}

function follow(told: ToldUsage, recorded: RecordedEvent): void {
  const { event, stream, revision, id, metadata } = parseUsageEvent(recorded);
  const timeMs = Date.parse(metadata.time);
  const { type, data } = event;
  if (type === 'DownloadQueued') {
    const cause = { correlationId: metadata.$correlationId, causationId: id };
    told.downloads.push({
      token: data.token,
      usageStream: stream,
      usageRevision: revision,
      queuedMs: timeMs,
      cause,
    });
  }
  if (type === 'MetadataCreditDebited') told.lookups += 1;
  if (type === 'PlanChanged' || type === 'OverageCapSet') told.changes += 1;
  if (type === 'UsageWarningReached' || type === 'OverageCapReached')
    told.unmailed.push({ stream, eventId: id, timeMs });
  const mailed =
    type === 'UsageWarningMailed' ? data.warning_event_id : type === 'OverageCapMailed' ? data.cap_event_id : undefined;
  told.unmailed = told.unmailed.filter(({ eventId }) => eventId !== mailed);
}

const pageEvents = 1_000;

/**
 * Counts the events of each stream of a log that holds nothing of ours but the story. An unfinished story is short, and its
 * events are the first ones, so no long log is read.
 *
 * @returns undefined if the log holds anything else
 */
export async function countEvents(
  log: WholeLog,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, number> | undefined> {
  const counts = new Map<string, number>();
  const tokens = new Set<string>();
  const isOfStory = ({ stream }: RecordedEvent) =>
    accountIds.some(
      (id) => stream === accountStream(id) || stream === invoicesStream(id) || stream.startsWith(`usage-${id}-`),
    ) || tokens.has(stream);
  let after = -1n;
  for (;;) {
    const page = await log.readAll(after, pageEvents);
    for (const recorded of page.filter(({ stream }) => isOurStream(stream))) {
      if (!isOfStory(recorded)) return undefined;
      counts.set(recorded.stream, (counts.get(recorded.stream) ?? 0) + 1);
      if (recorded.type !== 'DownloadQueued') continue;
      const { event } = parseUsageEvent(recorded);
      if (event.type === 'DownloadQueued') tokens.add(jobStream(event.data.token));
    }
    const last = page.at(-1);
    if (!last) return counts;
    after = last.position;
  }
}
