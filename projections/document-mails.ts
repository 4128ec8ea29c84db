import type { Pool, PoolClient } from 'pg';
import type { InvoiceEvent } from '../src/domain/invoice-events.ts';
import { type ParsedEvent, parseInvoiceEvent } from '../src/domain/parse-event.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import { upsertRows } from './write-rows.ts';

/**
 * The read model that invoices and credit notes are mailed from: table `document_mails`, one row per event that names people (the
 * document's own, or `DocumentMailAsked`), with those whose mail is not recorded yet. A row is only a hint: the log decides whether
 * a mail is sent.
 */
export const documentMails: RebuildableProjection = {
  name: 'document_mails',
  tables: ['document_mails'],
  streamPrefixes: ['invoices-'],
  start: () => (events, client) => apply(events.map(parseInvoiceEvent), client),
};

async function apply(events: readonly ParsedEvent<InvoiceEvent>[], client: PoolClient): Promise<void> {
  const named = events.flatMap(({ event, id, revision, metadata }) => {
    if (event.type === 'DocumentMailed') return [];
    const { account_id, mail_to: waiting = [] } = event.data;
    return waiting.length === 0 ? [] : [{ event_id: id, account_id, revision, time: metadata.time, waiting }];
  });
  // Versions in which another read model wrote this table have left rows.
  await upsertRows(client, 'document_mails', { key: ['event_id'], rows: named });
  const mailed = events.flatMap(({ event: { type, data } }) => (type === 'DocumentMailed' ? [data] : []));
  if (mailed.length > 0) {
    await client.query(
      `update document_mails d set waiting = d.waiting - m.people
       from (select event_id, array_agg(person_id) as people from unnest($1::uuid[], $2::text[]) t (event_id, person_id)
             group by event_id) m
       where d.event_id = m.event_id`,
      [mailed.map((one) => one.document_event_id), mailed.map((one) => one.person_id)],
    );
  }
}

/** A mail to one person that the read model shows as waiting. */
export interface WaitingDocumentMail {
  mail_id: string;
  event_id: string;
  account_id: string;
  person_id: string;
  /** Of the event that names the person, in the account's stream of invoices. */
  revision: number;
}

/** Those that have waited longest, oldest first. @param except mails to leave out for now, by their ids */
export async function listWaitingDocumentMails(
  pool: Pool,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<WaitingDocumentMail[]> {
  const { rows } = await pool.query<WaitingDocumentMail>(
    `select mail_id, event_id, account_id, person_id, revision::float8
     from document_mails, jsonb_array_elements_text(waiting) person_id, concat(event_id, '-', person_id) mail_id
     where waiting <> '[]' and mail_id <> all($1::text[])
     order by time, event_id, person_id limit $2`,
    [except, limit],
  );
  return rows;
}

/** Number of mails that wait, and the age of the oldest. @param now business time, UTC ISO-8601 */
export async function measureWaitingDocumentMails(
  pool: Pool,
  now: string,
): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await pool.query<{ count: number; seconds: number | null }>(
    `select coalesce(sum(jsonb_array_length(waiting)), 0)::int as count,
            extract(epoch from $1::timestamptz - min(time))::float8 as seconds
     from document_mails where waiting <> '[]'`,
    [now],
  );
  const { count = 0, seconds = null } = rows[0] ?? {};
  return { count, oldestSeconds: Math.max(0, seconds ?? 0) };
}
