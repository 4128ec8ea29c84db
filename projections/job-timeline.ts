import {
  type Actor,
  type DomainEvent,
  type ParsedEvent,
  parseJobEvent,
  parseUsageEvent,
} from '../src/domain/parse-event.ts';
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
      rowsOf(event.stream.startsWith('usage-') ? parseUsageEvent(event) : parseJobEvent(event), event.data),
    );
    await insertRows(client, 'job_timeline', rows);
  },
};

/** An event of a download; `time` is UTC ISO-8601. */
export interface TimelineRow {
  /** Commit position in the log, in digits. */
  position: string;
  time: string;
  type: DomainEvent['type'];
  stream: string;
  revision: number;
  event_id: string;
  actor: Actor;
  /** Cents of a charge: 0 for a credit; null for an event that charges nothing. */
  cents: number | null;
  data: object;
}

/**
 * Events that name no download belong to no timeline.
 *
 * @param data as stored: fields that an older event lacks are not added
 */
function rowsOf({ event, metadata, stream, revision, id, position }: ParsedEvent, data: unknown): object[] {
  if (!('token' in event.data)) return [];
  const row: TimelineRow = {
    position: position.toString(),
    time: metadata.time,
    type: event.type,
    stream,
    revision,
    event_id: id,
    actor: metadata.actor,
    cents: centsOf(event) ?? null,
    data: data as object,
  };
  return [{ token: event.data.token, ...row }];
}

/** The events of a download in the order of the log; empty if the read model does not know the download. */
export async function readTimeline(client: Queryable, token: string): Promise<TimelineRow[]> {
  const { rows } = await client.query<TimelineRow>(
    `select position::text, time, type, stream, revision::float8, event_id, actor, cents::float8, data
     from job_timeline t where token = $1 order by t.position`,
    [token],
  );
  return rows;
}
