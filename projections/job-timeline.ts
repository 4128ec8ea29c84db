import { type ParsedEvent, parseJobEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import { centsOf } from '../src/domain/usage-events.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { insertRows } from './write-rows.ts';

/** The read model behind `jobs timeline`: table `job_timeline`, the events of a download from both of its streams. */
export const jobTimeline: RebuildableProjection = {
  name: 'job_timeline',
  tables: ['job_timeline'],
  onlyAdds: true,
  streamPrefixes: ['usage-', 'job-'],
  start: () => async (events, client) => {
    const rows = events.flatMap((event) =>
      timelineRows(event.stream.startsWith('usage-') ? parseUsageEvent(event) : parseJobEvent(event), event.data),
    );
    await insertRows(client, 'job_timeline', rows);
  },
};

export type TimelineRow = Omit<ReturnType<typeof timelineRows>[number], 'token'>;

/**
 * The row of an event of a download; `time` is UTC ISO-8601. Events that name no download belong to no timeline.
 *
 * @param data as stored: fields that an older event lacks are not added
 */
function timelineRows({ event, metadata, stream, revision, id, position }: ParsedEvent, data: unknown) {
  if (!('token' in event.data)) return [];
  const row = {
    token: event.data.token,
    /** Commit position in the log, in digits. */
    position: position.toString(),
    time: metadata.time,
    type: event.type,
    stream,
    revision,
    event_id: id,
    actor: metadata.actor,
    /** Cents of a charge: 0 for a credit; null for an event that charges nothing. */
    cents: centsOf(event) ?? null,
    data: data as object,
  };
  return [row];
}

/**
 * Whether the request of a download came with an API key and an Idempotency-Key; undefined while the event of the request is not
 * known. The form of the console, which has no key, sends one of its own.
 */
export function hasIdempotencyKey(timeline: readonly TimelineRow[]): boolean | undefined {
  const queued = timeline.find(({ type }) => type === 'DownloadQueued');
  if (!queued) return undefined;
  const { idempotency } = queued.data as { idempotency?: object | null };
  return idempotency !== null && idempotency !== undefined && queued.actor.type === 'api_key';
}

/** When the request was first sent again with its Idempotency-Key, and answered with this download; null if it was not. */
export const repeatedAt = (timeline: readonly TimelineRow[]): string | null =>
  timeline.find(({ type }) => type === 'DownloadConfirmed')?.time ?? null;

/** The events of a download in the order of the log; empty if the read model does not know the download. */
export async function readTimeline(client: Queryable, token: string): Promise<TimelineRow[]> {
  const { rows } = await client.query<TimelineRow>(
    `select position::text, time, type, stream, revision::float8, event_id, actor, cents::float8, data
     from job_timeline t where token = $1 order by t.position`,
    [token],
  );
  return rows;
}
