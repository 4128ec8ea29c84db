import pMap from 'p-map';
import { documentNumber } from '../../src/domain/document-number.ts';
import type { InvoiceLine } from '../../src/domain/invoice-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { type Bind, bindings, onlyRow, type Queryable } from '../runner/rows.ts';
import { readParties } from './parties.ts';

/**
 * The sales book: the invoices and credit notes of all accounts, in the order of the log. Names, countries and tax IDs come from the
 * log, where they can be erased, as they were when the document was issued.
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

/** An invoice or a credit note. Amounts are in cents of a US dollar, without tax. */
export interface SalesRow {
  /** Commit position in the log, in digits; a cursor too. */
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
 * @param wanted after: a position: only later ones
 * @throws {EventStoreUnavailable}
 */
export async function* listSalesBook(
  dependencies: SalesDependencies,
  { country, ...filter }: SalesFilter,
  { after, rows = pageRows }: { after?: string | undefined; rows?: number } = {},
): AsyncGenerator<SalesRow[]> {
  let last = after;
  for (;;) {
    const read = await readRows(dependencies.pool, filter, { after: last, limit: rows });
    const named = await withNames(dependencies, read);
    const page = named.filter((row) => country === undefined || row.country === country);
    if (page.length > 0) yield page;
    if (read.length < rows) return;
    last = read.at(-1)?.position;
  }
}

/** So many of them. @param wanted after: a position: only later ones */
export async function readSalesPage(
  dependencies: SalesDependencies,
  filter: SalesFilter,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<SalesRow[]> {
  const found: SalesRow[] = [];
  for await (const page of listSalesBook(dependencies, filter, { after, rows: limit })) {
    found.push(...page);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
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
  const { rows } = await client.query<SalesSums>(
    `select count(*)::int as documents,
            coalesce(sum(b.cents) filter (where b.type = 'InvoiceIssued'), 0)::float8 as invoiced_cents,
            coalesce(-sum(b.cents) filter (where b.type = 'CreditNoteIssued'), 0)::float8 as credited_cents,
            coalesce(sum(b.cents), 0)::float8 as result_cents
     from (${bookSql(filter, bind)}) b`,
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
  kinds: InvoiceLine['kind'][];
  cents: number;
  credited: number;
  total_cents: number;
}

async function readRows(
  client: Queryable,
  filter: Omit<SalesFilter, 'country'>,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<ReadRow[]> {
  const { values, bind } = bindings();
  const { rows } = await client.query<ReadRow>(
    `select b.position::text, b.time, b.type, b.account_id, b.number, b.of_number, b.event_id, b.kinds, b.cents::float8,
            b.credited::float8, b.total_cents::float8
     from (${bookSql(filter, bind)} and i.position > ${bind(after ?? '-1')} order by i.position limit ${bind(limit)}) b
     order by b.position`,
    values,
  );
  return rows;
}

const monthSql = (column: string, month: string, bind: Bind): string => {
  const first = `${bind(`${month}-01`)}::timestamptz`;
  return `${column} >= ${first} and ${column} < ${first} + interval '1 month'`;
};

/** Each document with the kinds and the sum of its lines; a credit note has the one line that it gives back a part of. */
function bookSql({ issued, period, state }: Omit<SalesFilter, 'country'>, bind: Bind): string {
  // A fee names its own period; a document is issued when the period of its lines has begun.
  const startOf = (line: string, invoice: string) =>
    `(case ${line}->>'kind' when 'fee' then ${line}->>'period_start' else ${invoice}.data->>'period_start' end)::timestamptz`;
  const credited = 'coalesce(noted.cents, 0)';
  const states = {
    open: `i.type = 'InvoiceIssued' and ${credited} = 0`,
    partly_credited: `i.type = 'InvoiceIssued' and ${credited} > 0 and ${credited} < i.total_cents`,
    credited: `i.type = 'InvoiceIssued' and ${credited} >= i.total_cents`,
    credit_note: `i.type = 'CreditNoteIssued'`,
  };
  const where = [
    'part.kinds is not null',
    ...(issued === undefined ? [] : [monthSql('i.time', issued, bind)]),
    ...(period === undefined ? [] : [`i.time >= ${bind(`${period}-01`)}::timestamptz`]),
    ...(state === undefined ? [] : [states[state]]),
  ].join(' and ');
  return `select i.position, i.time, i.type, i.account_id, i.number, o.number as of_number, i.event_id, i.total_cents,
       part.kinds, part.cents, ${credited} as credited
     from invoices i
     left join invoices o on i.type = 'CreditNoteIssued' and o.account_id = i.account_id and o.type = 'InvoiceIssued'
       and o.number = (i.data->>'invoice_number')::int
     cross join lateral (
       select sum(l.cents) as cents, array_agg(distinct l.kind) as kinds
       from (
         select (line->>'cents')::bigint as cents, line->>'kind' as kind, ${startOf('line', 'i')} as start
         from json_array_elements(i.data->'lines') line
         union all
         select -i.total_cents, n.line->>'kind', ${startOf('n.line', 'o')}
         from (select o.data->'lines'->((i.data->>'line')::int - 1) as line where i.type = 'CreditNoteIssued') n
       ) l
       where ${period === undefined ? 'true' : monthSql('l.start', period, bind)}
     ) part
     left join lateral (
       select sum(n.total_cents) as cents from invoices n
       where i.type = 'InvoiceIssued' and n.account_id = i.account_id and n.type = 'CreditNoteIssued'
         and (n.data->>'invoice_number')::int = i.number
     ) noted on true
     where ${where}`;
}

/** With the names of then. */
async function withNames({ store }: SalesDependencies, rows: readonly ReadRow[]): Promise<SalesRow[]> {
  const accounts = [...new Set(rows.map(({ account_id: accountId }) => accountId))];
  const parties = new Map(
    await pMap(
      accounts,
      async (accountId) => [accountId, await readParties(store, { accountId, issuerName: '' })] as const,
      { concurrency: accountsAtOnce },
    ),
  );
  return rows.map((row) => {
    const { account_id, number, position, of_number: invoiceNumber, total_cents: totalCents, credited } = row;
    const isInvoice = row.type === 'InvoiceIssued';
    const type = isInvoice ? ('invoice' as const) : ('credit_note' as const);
    const billedTo = parties.get(account_id)?.(BigInt(position)).billedTo;
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
