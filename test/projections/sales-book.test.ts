import { beforeAll, describe, expect, it } from 'vitest';
import { invoices } from '../../projections/invoices.ts';
import { periodMoney } from '../../projections/period-money.ts';
import { readMonthClose } from '../../projections/queries/month-close.ts';
import { listMonthMoney } from '../../projections/queries/overage-table.ts';
import {
  listSalesBook,
  readSalesPage,
  readSalesSums,
  readSumsOfPage,
  type SalesFilter,
  type SalesPlace,
  type SalesRow,
  salesStates,
} from '../../projections/queries/sales-book.ts';
import { readDocumentNumber } from '../../src/domain/document-number.ts';
import type { CreditNoteIssued, InvoiceIssued } from '../../src/domain/invoice-events.ts';
import { Random } from '../audit/random.ts';
import { RichHistory } from '../audit/rich-history.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { scaled } from '../support/proof-scale.ts';
import { sum } from '../support/sum.ts';
import { readModelsOfFile } from './read-models-under-test.ts';

/** The sales book against the close of each month and against the log: to the cent. */
const log = logUnderTest();
const models = readModelsOfFile(log, periodMoney, invoices);
const accounts = scaled(8, 1_000);
const seed = Number(process.env['PROOF_SEED'] ?? 20_261_129);

const dependencies = () => ({ store: log.store, pool: models.pool });
const allOf = async (filter: SalesFilter = {}) => (await Array.fromAsync(listSalesBook(dependencies(), filter))).flat();
const invoiced = (rows: readonly SalesRow[]) => rows.filter(({ type }) => type === 'invoice');

beforeAll(async () => {
  const random = new Random(seed);
  for (let account = 0; account < accounts; account += 1) {
    const day = String(1 + random.below(31)).padStart(2, '0');
    const history = new RichHistory(log.store, random, `2024-01-${day}T10:00:00.000Z`);
    await history.live(3, 25, { closes: account % 5 === 4 });
  }
  await models.caughtUp();
});

describe('the sales book', () => {
  it('has every document of the log once, with its amount, and no two have one number', async () => {
    const rows = await allOf();
    const documents = (await log.store.readAll(-1n, 1_000_000)).filter(
      ({ type }) => type === 'InvoiceIssued' || type === 'CreditNoteIssued',
    );
    const cents = documents.map(({ id, type, data }) => [
      id,
      type === 'InvoiceIssued' ? (data as InvoiceIssued).total_cents : -(data as CreditNoteIssued).cents,
    ]);
    expect(rows.map((row) => [row.event_id, row.net_cents]).sort()).toEqual(cents.sort());
    expect(new Set(rows.map((row) => row.document_number)).size).toBe(rows.length);
    for (const row of rows) expect(readDocumentNumber(row.document_number)?.accountId).toBe(row.account_id);
    expect(new Set(rows.map((row) => row.account_id)).size).toBe(accounts);
    expect(rows.every(({ type, invoice_document_number: of }) => (type === 'credit_note') === (of !== null))).toBe(
      true,
    );
  });

  it('comes to the close of each month for the periods that begin in it', async () => {
    const months = [...new Set((await listMonthMoney(models.pool, { months: 100 })).map(({ month }) => month))];
    expect(months.length).toBeGreaterThan(2);
    for (const period of months) {
      const { totals } = await readMonthClose(models.pool, period);
      const { documents: _documents, ...sums } = await readSalesSums(dependencies(), { period });
      const { invoiced_cents, credited_cents, result_cents } = totals;
      expect([period, sums]).toEqual([period, { invoiced_cents, credited_cents, result_cents }]);
      const rows = await allOf({ period });
      expect(sum(rows.map((row) => row.net_cents))).toBe(result_cents);
    }
  });

  it('has each document in one month of issue and in one state, and its sums are those of its rows', async () => {
    const rows = await allOf();
    const months = [...new Set(rows.map((row) => row.issued_at.slice(0, 7)))];
    const filters: SalesFilter[][] = [
      months.map((issued) => ({ issued })),
      salesStates.map((state) => ({ state })),
      ['GB', 'DE'].map((country) => ({ country })),
    ];
    for (const parts of filters) {
      const found = await Promise.all(parts.map(allOf));
      const isAll = parts[0]?.country === undefined;
      if (isAll)
        expect(
          found
            .flat()
            .map((row) => row.event_id)
            .sort(),
        ).toEqual(rows.map((row) => row.event_id).sort());
      for (const [index, filter] of parts.entries()) {
        const ofPart = found[index] ?? [];
        const credits = ofPart.filter(({ type }) => type === 'credit_note').map((row) => 0 - row.net_cents);
        expect(await readSalesSums(dependencies(), filter)).toEqual({
          documents: ofPart.length,
          invoiced_cents: sum(invoiced(ofPart).map((row) => row.net_cents)),
          credited_cents: sum(credits),
          result_cents: sum(ofPart.map((row) => row.net_cents)),
        });
      }
    }
    expect((await allOf({ country: 'GB' })).every((row) => row.customer === 'Ada Lovelace')).toBe(true);
    expect(await allOf({ country: 'DE' })).toEqual([]);
  });

  it('says of each invoice what is credited and what is left, and names who was billed then', async () => {
    const rows = await allOf();
    for (const invoice of invoiced(rows)) {
      const notes = rows.filter((row) => row.invoice_document_number === invoice.document_number);
      const credited = sum(notes.map((row) => 0 - row.net_cents));
      expect([invoice.credited_cents, invoice.left_cents]).toEqual([credited, invoice.net_cents - credited]);
    }
    // The first invoice is issued before the account has billing details.
    const [first] = rows;
    expect(first).toMatchObject({ type: 'invoice', number: 1, customer: 'owner@example.com', country: null });
    const later = rows.filter((row) => row.account_id === first?.account_id).at(-1);
    expect(later).toMatchObject({ customer: 'Ada Lovelace', country: 'GB' });
  });

  it('is read page by page, in the order of issue, and a page has fewer where documents are left out', async () => {
    const times = (await allOf()).map((row) => row.issued_at);
    expect(times).toEqual(times.toSorted());
    const period = times.at(-1)?.slice(0, 7);
    for (const filter of [{}, { country: 'GB' }, { period }, { state: 'partly_credited' as const }]) {
      const pages: SalesRow[][] = [];
      for (let after: SalesPlace | undefined, isAtEnd = false; !isAtEnd;) {
        const { rows, next } = await readSalesPage(dependencies(), filter, { after, limit: 7 });
        expect(rows.length).toBeLessThanOrEqual(7);
        pages.push(rows);
        after = next;
        isAtEnd = after === undefined;
      }
      expect(pages.flat()).toEqual(await allOf(filter));
    }
  });

  it('has sums on a page unless names or lines of many documents would have to be read', async () => {
    const [first] = await allOf();
    const month = first?.issued_at.slice(0, 7);
    for (const filter of [{ issued: month }, { country: 'GB' }, { period: month }]) {
      expect(await readSumsOfPage(dependencies(), filter, 10_000)).toEqual(await readSalesSums(dependencies(), filter));
    }
    expect(await readSumsOfPage(dependencies(), { issued: month }, 1)).toBeDefined();
    expect(await readSumsOfPage(dependencies(), { country: 'GB' }, 1)).toBeUndefined();
    expect(await readSumsOfPage(dependencies(), { period: month }, 1)).toBeUndefined();
  });
});
