import type { Queryable } from '../runner/rows.ts';

/** Where events stand in the log, for people who know their ids. The read models know the ids of most. */

export interface EventPlace {
  event_id: string;
  stream: string;
  /** Null where the read model does not know it: the stream is short, and is read. */
  revision: number | null;
}

const placesSql = (condition: (column: string) => string) => `
  select event_id, stream, revision::float8 from job_timeline where ${condition('event_id')}
  union select event_id, stream, revision::float8 from overage_ledger where ${condition('event_id')}
  union select event_id, stream, revision::float8 from usage_warnings where ${condition('event_id')}
  union select event_id, 'invoices-' || account_id, revision::float8 from invoices where ${condition('event_id')}
  union select event_id, 'invoices-' || account_id, revision::float8 from document_mails where ${condition('event_id')}
  union select asked_event_id, 'corrections-' || account_id, null from corrections where ${condition('asked_event_id')}
  union select decided_event_id, 'corrections-' || account_id, null from corrections where ${condition('decided_event_id')}`;

export async function findEvent(client: Queryable, eventId: string): Promise<EventPlace | undefined> {
  const { rows } = await client.query<EventPlace>(
    `select * from (${placesSql((column) => `${column} = $1`)}) places limit 1`,
    [eventId],
  );
  return rows[0];
}

const maxRelated = 12;
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What stands around an event, in one statement. @param token of its download, if it is about one */
export async function findEventsAround(
  client: Queryable,
  { causationId, correlationId, token }: { causationId: string; correlationId: string; token: string | null },
) {
  const { rows } = await client.query<EventPlace & { what: 'cause' | 'related' | 'account' }>(
    `select 'cause' as what, * from (${placesSql((column) => `${column} = $1`)}) causes
     union all (
       select 'related', event_id, stream, revision::float8 from overage_ledger l where request_id = $2
       order by l.position limit ${String(maxRelated)})
     union all (
       select 'related', event_id, stream, revision::float8 from job_timeline t where token = $3 and stream like 'usage-%'
       order by t.position limit ${String(maxRelated)})
     union all (
       select 'related', event_id, 'invoices-' || account_id, revision::float8 from invoices
       where type = 'CreditNoteIssued' and data->>'reference' =
         (select reference from corrections where correction_id = $4 limit 1) limit ${String(maxRelated)})
     union all
       select 'account', null, account_id, null from jobs where token = $3`,
    [uuidOrNone(causationId), correlationId, token, uuidOrNone(correlationId)],
  );
  const places = Map.groupBy(rows, ({ what }) => what);
  const related = places.get('related') ?? [];
  return {
    /** The event that caused it; undefined for a cause that is no event, or that the read models do not know. */
    cause: places.get('cause')?.[0],
    /** Events of the same request, and of the same download in the usage of its account; not all of these were caused by it. */
    related: [...new Map(related.map((place) => [place.event_id, place])).values()],
    /** The account of the download. */
    accountId: places.get('account')?.[0]?.stream ?? null,
  };
}

const uuidOrNone = (id: string) => (uuidPattern.test(id) ? id : null);
