import { z } from 'zod';
import {
  listSalesBook,
  readSalesPage,
  readSumsOfPage,
  salesFilterAt,
  type SalesRow,
  salesStates,
} from '../../../../projections/queries/sales-book.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { type AccessRecord, eachShown, type JsonView, pick } from '../view.ts';

/** The invoices and credit notes of all accounts, with sums that tie to the closes of months. */

const rowsPerPage = 25;

const month = z.string().regex(/^2\d{3}-(?:0[1-9]|1[0-2])$/, 'is not a month such as 2026-11');

const salesInput = z.object({
  issued: month
    .optional()
    .describe('Only documents that were issued in this month, in UTC. Default: the current one, without `period`.'),
  period: month
    .optional()
    .describe('Only amounts of billing periods that begin in this month: the sums are those of its close.'),
  state: z.enum(salesStates).optional().describe('Only documents in this state.'),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'is not a country code of two capital letters, such as DE')
    .optional()
    .describe('Only documents of customers in this country.'),
  after: z
    .string()
    .regex(/^2\d{3}-[\dT:.-]+Z~\d{1,20}$/, 'is not the end of a page')
    .refine((text) => z.iso.datetime().safeParse(text.split('~')[0]).success, 'is not the end of a page')
    .optional()
    .describe('`next` of the page before.'),
});
export type SalesInput = z.infer<typeof salesInput>;

export const salesRow = z.strictObject({
  issued_at: z.iso.datetime(),
  type: z.enum(['invoice', 'credit_note']),
  document_number: z.string().describe('Unique among all documents of the issuer.'),
  invoice_document_number: z.string().nullable().describe('The invoice that a credit note gives back a part of.'),
  account_id: z.string(),
  number: z.int().describe('In the account.'),
  customer: z.string().nullable().describe("Name of the account's owner, or the e-mail address; null: erased."),
  country: z.string().nullable(),
  tax_id: z.string().nullable(),
  kinds: z.array(z.string()).describe('Kinds of its lines.'),
  net_cents: z.int().describe('Without tax; negative for a credit note. With `period`, the part of that month.'),
  credited_cents: z.int().describe('What credit notes have given back of the whole invoice.'),
  left_cents: z.int().describe('What is left of the whole invoice.'),
  event_id: z.string(),
});
export type ShownSale = z.infer<typeof salesRow>;

const shown = z.strictObject({
  issued: month.nullable().describe('The month of issue that is listed; null with `period` alone.'),
  sums: z
    .strictObject({
      documents: z.int(),
      invoiced_cents: z.int(),
      credited_cents: z.int(),
      result_cents: z.int().describe('Invoiced less credited.'),
    })
    .nullable()
    .describe(
      'Of all documents that match, on all pages; null if names or lines of more than 100 documents would have to be read for them: then the close of the month has those of `period`, and the command `invoices sales-book` all.',
    ),
  rows: z
    .array(salesRow)
    .describe(
      'By the time of their issue. A page has fewer where `country` or `period` leave some of its documents out.',
    ),
  next: z.string().nullable().describe('Where the next page begins; null at the end.'),
});
export type SalesBook = z.infer<typeof shown>;

export const salesBook: JsonView<SalesInput, SalesBook> = {
  operationId: 'getSalesBook',
  summary: 'The invoices and credit notes of all accounts',
  input: salesInput,
  shown,
  read: async (dependencies, { after, ...filter }) => {
    const wanted = salesFilterAt(filter, dependencies.now());
    const [issued_at = '', position = ''] = after?.split('~') ?? [];
    const behind = after === undefined ? undefined : { issued_at, position };
    const { rows, next } = await readSalesPage(dependencies, wanted, { after: behind, limit: rowsPerPage });
    return {
      issued: wanted.issued ?? null,
      sums: (await readSumsOfPage(dependencies, wanted)) ?? null,
      rows: rows.map(saleOf),
      next: next ? `${next.issued_at}~${next.position}` : null,
    };
  },
  accessRecords: ({ rows }) => accessRecordsOf(rows),
};

const saleOf = (row: SalesRow): ShownSale => pick(row, salesRow.shape);

export const accessRecordsOf = (rows: readonly Pick<ShownSale, 'account_id'>[]): AccessRecord[] =>
  [...new Set(rows.map(({ account_id: accountId }) => accountId))].map((accountId) => ({
    accountId,
    token: null,
    page: 'account',
  }));

/** A file may have all months. */
export const salesFileInput = salesInput
  .omit({ after: true })
  .extend({ issued: z.union([month, z.literal('all')], 'is a month such as 2026-11, or `all`').optional() });
export type SalesFileInput = z.infer<typeof salesFileInput>;

/** All rows that the view shows page by page; those of all months if they are asked for. */
export function exportedSales({ store, exportPool, now }: StaffDependencies, given: SalesFileInput) {
  const filter = salesFilterAt(given, now());
  return { filter, rows: eachShown(listSalesBook({ store, pool: exportPool }, filter), saleOf) };
}
