import pMap from 'p-map';
import { documentNumber } from '../../src/domain/document-number.ts';
import type { InvoiceLine } from '../../src/domain/invoice-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { type Bind, bindings, onlyRow, type Queryable } from '../runner/rows.ts';
import { readBilledTo } from './parties.ts';

/**
 * The sales book: the invoices and credit notes of all accounts, in the order of their issue. Names, countries and tax IDs come from the
 * log, where they stand under keys that can be deleted, as they were when the document was issued.
 */

/** `open`: nothing of the invoice is credited; `credited`: all of it. */
export const salesStates = ['open', 'partly_credited', 'credited', 'credit_note'] as const;

export interface SalesFilter {
  /** Only documents that were issued in this month, YYYY-MM. */
  issued?: string | undefined;
  /**
   * Only amounts of billing periods that begin in this month, YYYY-MM: the sums are then those of the month's close. Documents
   * without any are left out.
   */
  period?: string | undefined;
  state?: (typeof salesStates)[number] | undefined;
  /** ISO 3166-1 alpha-2. */
  country?: string | undefined;
}

/**
 * A filter as somebody gives it. Without a month, everything of all time would be read: then it is the month of `now`, and `all` has
 * to be said.
 *
 * @param now UTC ISO-8601
 */
export function salesFilterAt({ issued, ...more }: SalesFilter, now: string): SalesFilter {
  if (issued === 'all') return more;
  return { issued: issued ?? (more.period === undefined ? now.slice(0, 7) : undefined), ...more };
}

/** An invoice or a credit note. Amounts are in cents of a US dollar, without tax. */
export interface SalesRow {
  /** Commit position in the log, in digits. */
  position: string;
  /** UTC ISO-8601. */
  issued_at: string;
  type: 'invoice' | 'credit_note';
  document_number: string;
  /** The invoice that a credit note gives back a part of. */
  invoice_document_number: string | null;
  account_id: string;
  number: number;
  event_id: string;
  /** Name of the account's owner, or the e-mail address where there is none; null if it was erased. */
  customer: string | null;
  country: string | null;
  tax_id: string | null;
  /** Of the lines that it has, or gives back. */
  kinds: InvoiceLine['kind'][];
  /** Negative for a credit note; with `period` only that month's part. */
  net_cents: number;
  /** What credit notes have given back of the whole invoice, and what is left of it; 0 for a credit note. */
  credited_cents: number;
  left_cents: number;
}

export interface SalesSums {
  documents: number;
  invoiced_cents: number;
  credited_cents: number;
  /** Invoiced less credited. */
  result_cents: number;
}

export interface SalesDependencies {
  store: Pick<EventStore, 'read'>;
  pool: Queryable;
}

const pageRows = 500;
const accountsAtOnce = 8;

/**
 * The documents page by page, in constant memory.
 *
 * @throws {EventStoreUnavailable}
 */
export async function* listSalesBook(dependencies: SalesDependencies, filter: SalesFilter): AsyncGenerator<SalesRow[]> {
  for (let after: SalesPlace | undefined, isAtEnd = false; !isAtEnd;) {
    const read = await readSalesPage(dependencies, filter, { after, limit: pageRows });
    if (read.rows.length > 0) yield read.rows;
    after = read.next;
    isAtEnd = after === undefined;
  }
}

/** A document, behind which a page begins. */
export type SalesPlace = Pick<SalesRow, 'issued_at' | 'position'>;

/** Documents that a page looks through for those of a country, which the log alone knows. */
const mostLooked = 250;

/**
 * So many documents at most: fewer where a country, or lines of a period, leave some of them out.
 *
 * @returns next: where the next page begins; undefined at the end
 * @throws {EventStoreUnavailable}
 */
export async function readSalesPage(
  dependencies: SalesDependencies,
  { country, ...filter }: SalesFilter,
  { after, limit }: { after?: SalesPlace | undefined; limit: number },
): Promise<{ rows: SalesRow[]; next: SalesPlace | undefined }> {
  const looked = country === undefined ? limit : Math.max(limit, mostLooked);
  const found = await readRows(dependencies.pool, filter, { after, limit: looked + 1 });
  const read = found.slice(0, looked);
  const named = await withNames(dependencies, read.filter(hasLines));
  const rows = named.filter((row) => country === undefined || row.country === country);
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1] };
  const last = found.length > looked ? read.at(-1) : undefined;
  return { rows, next: last && { issued_at: last.time, position: last.position } };
}

/**
 * The same as `readSalesSums` for a page, which has no time to read every document.
 *
 * @returns undefined if lines or names of more documents than `mostRead` would have to be read
 * @throws {EventStoreUnavailable}
 */
export async function readSumsOfPage(
  dependencies: SalesDependencies,
  filter: SalesFilter,
  mostRead = 100,
): Promise<SalesSums | undefined> {
  const { country, ...inPostgres } = filter;
  if (country !== undefined || filter.period !== undefined) {
    const { values, bind } = bindings();
    const first = `select from (${documentsSql(inPostgres, bind)}) i limit ${bind(mostRead + 1)}`;
    const { rows } = await dependencies.pool.query(first, values);
    if (rows.length > mostRead) return undefined;
  }
  return await readSalesSums(dependencies, filter);
}

/** Of all documents of a filter. A country is read from the log, document by document. @throws {EventStoreUnavailable} */
export async function readSalesSums(dependencies: SalesDependencies, filter: SalesFilter): Promise<SalesSums> {
  if (filter.country === undefined) return sumsInPostgres(dependencies.pool, filter);
  const sums = { documents: 0, invoiced_cents: 0, credited_cents: 0, result_cents: 0 };
  for await (const page of listSalesBook(dependencies, filter)) {
    for (const { type, net_cents: cents } of page) {
      sums.documents += 1;
      sums.result_cents += cents;
      if (type === 'invoice') sums.invoiced_cents += cents;
      else sums.credited_cents -= cents;
    }
  }
  return sums;
}

async function sumsInPostgres(client: Queryable, filter: Omit<SalesFilter, 'country'>): Promise<SalesSums> {
  const { values, bind } = bindings();
  const { period } = filter;
  const { rows } = await client.query<SalesSums>(
    `select count(*)::int as documents,
            coalesce(sum(b.cents) filter (where b.type = 'InvoiceIssued'), 0)::float8 as invoiced_cents,
            coalesce(-sum(b.cents) filter (where b.type = 'CreditNoteIssued'), 0)::float8 as credited_cents,
            coalesce(sum(b.cents), 0)::float8 as result_cents
     from (
       select d.type, ${period === undefined ? wholeCents : 'part.cents'} as cents
       from (${documentsSql(filter, bind)}) d ${
         period === undefined
           ? ''
           : `join invoices i using (account_id, type, number) ${partSql(period, bind)} where part.kinds is not null`
       }
     ) b`,
    values,
  );
  return onlyRow(rows);
}

interface ReadRow {
  position: string;
  time: string;
  type: 'InvoiceIssued' | 'CreditNoteIssued';
  account_id: string;
  number: number;
  of_number: number | null;
  event_id: string;
  /** Null: no line of the period that is asked for. */
  kinds: InvoiceLine['kind'][] | null;
  cents: number;
  credited: number;
  total_cents: number;
}

type RowWithLines = ReadRow & { kinds: InvoiceLine['kind'][] };
const hasLines = (row: ReadRow): row is RowWithLines => row.kinds !== null;

async function readRows(
  client: Queryable,
  filter: Omit<SalesFilter, 'country'>,
  { after, limit }: { after: SalesPlace | undefined; limit: number },
): Promise<ReadRow[]> {
  const { values, bind } = bindings();
  const { period } = filter;
  const first = `order by i.time, i.position limit ${bind(limit)}`;
  const behind = after
    ? `and (i.time, i.position) > (${bind(after.issued_at)}::timestamptz, ${bind(after.position)})`
    : '';
  const { rows } = await client.query<ReadRow>(
    // Lines are read of the documents of the page alone.
    `select i.position::text, i.time, i.type, i.account_id, i.number, o.number as of_number, i.event_id, part.kinds,
            part.cents::float8, (${creditedSql})::float8 as credited, i.total_cents::float8
     from (${documentsSql(filter, bind)} ${behind} ${first}) d
     join invoices i using (account_id, type, number) ${partSql(period, bind)}
     order by i.time, i.position`,
    values,
  );
  return rows;
}

const monthSql = (column: string, month: string, bind: Bind): string => {
  const first = `${bind(`${month}-01`)}::timestamptz`;
  return `${column} >= ${first} and ${column} < ${first} + interval '1 month'`;
};

const wholeCents = "case d.type when 'InvoiceIssued' then d.total_cents else -d.total_cents end";

/** Cents that credit notes have given back of an invoice. */
const creditedSql = `select coalesce(sum(n.total_cents), 0) from invoices n
  where i.type = 'InvoiceIssued' and n.account_id = i.account_id and n.type = 'CreditNoteIssued'
    and (n.data->>'invoice_number')::int = i.number`;

const stateSql: Readonly<Record<(typeof salesStates)[number], string>> = {
  open: `i.type = 'InvoiceIssued' and (${creditedSql}) = 0`,
  partly_credited: `i.type = 'InvoiceIssued' and (${creditedSql}) > 0 and (${creditedSql}) < i.total_cents`,
  credited: `i.type = 'InvoiceIssued' and (${creditedSql}) >= i.total_cents`,
  credit_note: `i.type = 'CreditNoteIssued'`,
};

/** Those that the indexes of months have. */
const documentColumns = (of: string): string =>
  ['account_id', 'type', 'number', 'time', 'position', 'total_cents'].map((name) => `${of}.${name}`).join(', ');

/** The documents that a filter leaves, by the indexes of months. With a `period`, not every one has a line of it. */
function documentsSql({ issued, period, state }: Omit<SalesFilter, 'country'>, bind: Bind): string {
  const where = [
    'true',
    ...(issued === undefined ? [] : [monthSql('i.time', issued, bind)]),
    ...(state === undefined ? [] : [stateSql[state]]),
  ].join(' and ');
  const from = period === undefined ? 'invoices' : `(${ofPeriodSql(period, bind)})`;
  return `select ${documentColumns('i')} from ${from} i where ${where}`;
}

/** An invoice has lines of its period and the fee of the next one, which begins a month later; a credit note is about one of them. */
function ofPeriodSql(period: string, bind: Bind): string {
  const first = `${bind(`${period}-01`)}::timestamptz`;
  const invoices = `v.type = 'InvoiceIssued' and v.period_start >= ${first} - interval '1 month'
    and v.period_start < ${first} + interval '1 month'`;
  return `select ${documentColumns('v')} from invoices v where ${invoices}
    union all
    select ${documentColumns('n')} from invoices v join invoices n on n.account_id = v.account_id and n.type = 'CreditNoteIssued'
      and (n.data->>'invoice_number')::int = v.number
    where ${invoices}`;
}

/**
 * The kinds and the sum of the lines of a document `i`; a credit note has the one line that it gives back a part of.
 *
 * @param period only lines of billing periods that begin in this month; a document without any has no kinds
 */
function partSql(period: string | undefined, bind: Bind): string {
  // A fee names its own period.
  const startOf = (line: string, invoice: string) =>
    `case ${line}.kind when 'fee' then ${line}.period_start else ${invoice}.period_start end`;
  return `left join invoices o on i.type = 'CreditNoteIssued' and o.account_id = i.account_id and o.type = 'InvoiceIssued'
       and o.number = (i.data->>'invoice_number')::int
     cross join lateral (
       select sum(l.cents) as cents, array_agg(distinct l.kind) as kinds
       from (
         select line.cents, line.kind, ${startOf('line', 'i')} as start
         from json_to_recordset(i.data->'lines') as line (cents bigint, kind text, period_start timestamptz)
         union all
         select -i.total_cents, line.kind, ${startOf('line', 'o')}
         from json_to_record(o.data->'lines'->((i.data->>'line')::int - 1)) as line (kind text, period_start timestamptz)
         where i.type = 'CreditNoteIssued'
       ) l
       where ${period === undefined ? 'true' : monthSql('l.start', period, bind)}
     ) part`;
}

/** With the names of then. */
async function withNames({ store }: SalesDependencies, rows: readonly RowWithLines[]): Promise<SalesRow[]> {
  const accounts = [...new Set(rows.map(({ account_id: accountId }) => accountId))];
  const owners = new Map(
    await pMap(accounts, async (accountId) => [accountId, await readBilledTo(store, accountId)] as const, {
      concurrency: accountsAtOnce,
    }),
  );
  return rows.map((row) => {
    const { account_id, number, position, of_number: invoiceNumber, total_cents: totalCents, credited } = row;
    const isInvoice = row.type === 'InvoiceIssued';
    const type = isInvoice ? ('invoice' as const) : ('credit_note' as const);
    const billedTo = owners.get(account_id)?.(BigInt(position));
    return {
      position,
      issued_at: row.time,
      type,
      document_number: documentNumber(type, { account_id, number }),
      invoice_document_number:
        invoiceNumber === null ? null : documentNumber('invoice', { account_id, number: invoiceNumber }),
      account_id,
      number,
      event_id: row.event_id,
      customer: billedTo?.name ?? billedTo?.email ?? null,
      country: billedTo?.country ?? null,
      tax_id: billedTo?.tax_id ?? null,
      kinds: row.kinds,
      net_cents: row.cents,
      credited_cents: isInvoice ? credited : 0,
      left_cents: isInvoice ? totalCents - credited : 0,
    };
  });
}
