import {
  type CreditNoteIssued,
  type InvoiceEvent,
  type InvoiceIssued,
  isDocument,
} from '../src/domain/invoice-events.ts';
import { type Actor, type ParsedEvent, parseInvoiceEvent } from '../src/domain/parse-event.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { insertRows } from './write-rows.ts';

/** The read model behind `invoices list` and `invoices show`: table `invoices`, one row per invoice or credit note. */
export const invoices: RebuildableProjection = {
  name: 'invoices',
  tables: ['invoices'],
  onlyAdds: true,
  streamPrefixes: ['invoices-'],
  start: () => async (events, client) => {
    const rows = events.flatMap((event) => {
      const row = invoiceRow(parseInvoiceEvent(event));
      return row ? [{ ...row, data: event.data }] : [];
    });
    await insertRows(client, 'invoices', rows);
  },
};

/** @returns undefined for an event that is no document */
function invoiceRow({ event, metadata, id, revision, position }: ParsedEvent<InvoiceEvent>) {
  if (!isDocument(event)) return undefined;
  const { type, data } = event;
  return {
    account_id: data.account_id,
    type,
    number: data.number,
    event_id: id,
    revision,
    last_hash: metadata.hash,
    position: position.toString(),
    time: metadata.time,
    covers: type === 'InvoiceIssued' ? data.covers : null,
    period_start: type === 'InvoiceIssued' ? data.period_start : null,
    total_cents: type === 'InvoiceIssued' ? data.total_cents : data.cents,
    actor: metadata.actor,
  };
}

/** An invoice or a credit note, with its place in the log. */
export interface IssuedDocument<Data> {
  data: Data;
  eventId: string;
  /** Revision in the account's stream of invoices. */
  revision: number;
  /** Commit position in the log. */
  position: bigint;
  /** UTC ISO-8601. */
  issuedAt: string;
  actor: Actor;
}

export type AccountInvoices = Awaited<ReturnType<typeof readInvoices>>;

/** All invoices and credit notes of an account, in the order of their numbers. */
export async function readInvoices(client: Queryable, accountId: string) {
  const { rows } = await client.query<{
    type: InvoiceEvent['type'];
    data: unknown;
    event_id: string;
    revision: number;
    position: string;
    time: string;
    actor: Actor;
  }>(
    `select type, data, event_id, revision::float8, position::text, time, actor from invoices i
     where account_id = $1 order by type, number`,
    [accountId],
  );
  const of = <Data>(wanted: InvoiceEvent['type']): IssuedDocument<Data>[] =>
    rows
      .filter(({ type }) => type === wanted)
      .map(({ data, event_id: eventId, revision, position, time, actor }) => ({
        data: data as Data,
        eventId,
        revision,
        position: BigInt(position),
        actor,
        issuedAt: time,
      }));
  return { invoices: of<InvoiceIssued>('InvoiceIssued'), creditNotes: of<CreditNoteIssued>('CreditNoteIssued') };
}
