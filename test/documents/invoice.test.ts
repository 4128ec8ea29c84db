import { describe, expect, it } from 'vitest';

import { formatDay, formatDays } from '../../src/documents/days.ts';
import { creditNoteCsv, invoiceCsv } from '../../src/documents/invoice-csv.ts';
import { creditNotePage, invoicePage } from '../../src/documents/invoice-page.ts';
import { formatRevisions } from '../../src/documents/revisions.ts';
import { exampleInvoice, exampleNote } from './example-invoice.ts';

/** Rows of a CSV text without quoted fields that hold commas, by the names of the columns. */
function rowsOf(csv: string): Record<string, string>[] {
  const [head = [], ...rows] = csv
    .trimEnd()
    .split('\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''),
    );
  return rows.map((row) => Object.fromEntries(head.map((name, column) => [name, row[column] ?? ''])));
}

const columnOf = (csv: string, name: string) => rowsOf(csv).map((row) => row[name]);
const sumOf = (csv: string) => columnOf(csv, 'cents').reduce((sum, cents) => sum + Number(cents), 0);

describe('an invoice as a document', () => {
  it('has its lines in words, what was credited, and its event', () => {
    expect(exampleInvoice()).toMatchObject({
      ...{ number: 7, issuer: 'Reeltally & Sons', billed_to: 'owner@example.com', total_cents: 310_882 },
      lines: [
        { line: 1, description: 'Downloads beyond the allowance', quantity: 4, rate_cents: 25, event_id: null },
        { line: 2, description: 'Charge waived, reference =CASE-1', quantity: 1, rate_cents: null, cents: -18 },
        { line: 3, description: 'Upgrade to plan studio_500: the rise of the monthly fee', revisions: [[41, 41, 1]] },
        { line: 4, description: 'Monthly fee, plan studio_500, 21 December 2026 to 20 January 2027' },
      ],
      credit_notes: [{ number: 2, line: 1, reference: 'CASE-2', cents: 25 }],
      credited_cents: 25,
      event: { revision: 8 },
    });
  });
});

describe('an invoice as CSV', () => {
  it('has a row for each line, in cents and in dollars, that add up to the total', () => {
    const csv = invoiceCsv(exampleInvoice());
    expect(columnOf(csv, 'cents')).toEqual(['100', '-18', '4000', '306800']);
    expect(columnOf(csv, 'dollars')).toEqual(['1.00', '-0.18', '40.00', '3068.00']);
    expect(columnOf(csv, 'revisions')).toEqual(['21 to 25 step 2, 28', '40', '41', '50']);
    expect(sumOf(csv)).toBe(310_882);
  });

  it('has a row for each charge instead where that is asked for, and adds up to the same', () => {
    const [plain, csv] = [invoiceCsv(exampleInvoice()), invoiceCsv(exampleInvoice(true))];
    expect(csv.split('\n')[0]).toBe(plain.split('\n')[0]);
    expect(columnOf(csv, 'line')).toEqual(['1', '1', '1', '1', '2', '3', '4']);
    expect(columnOf(csv, 'revisions').slice(0, 4)).toEqual(['21', '23', '25', '28']);
    expect(columnOf(csv, 'time')[0]).toBe('2026-11-30T23:59:59.999Z');
    expect(sumOf(csv)).toBe(310_882);
  });

  it('holds nothing that a spreadsheet would calculate', () => {
    const csv = invoiceCsv(exampleInvoice(true));
    expect(columnOf(csv, 'token').slice(0, 4)).toEqual(["'-token-21", "'-token-23", "'-token-25", "'-token-28"]);
    for (const field of rowsOf(csv).flatMap((row) => Object.values(row))) {
      expect(field).not.toMatch(/^[=+@\t\r]|^-(?![\d.]+$)/);
    }
  });

  it('of a credit note is one row', () => {
    expect(rowsOf(creditNoteCsv(exampleNote()))).toMatchObject([
      {
        credit_note_number: '2',
        invoice_number: '7',
        line: '1',
        cents: '25',
        dollars: '0.25',
        issued_by: 'R. Example',
      },
    ]);
  });
});

describe('an invoice as a page', () => {
  const pages = [invoicePage(exampleInvoice()), invoicePage(exampleInvoice(true)), creditNotePage(exampleNote())];

  it.each(pages)('runs nothing, loads nothing, and takes every text for text', (page) => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|https?:|\son\w+=/i);
    expect(page).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; more');
    expect(page).toContain('Reeltally &amp; Sons');
  });

  it('says who owes what to whom, for when, and where it comes from', () => {
    const text = (pages[0] ?? '').replaceAll(/<style>[^]*<\/style>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    for (const sentence of [
      'Invoice 7',
      'Billed to owner@example.com',
      'Date of issue 21 December 2026',
      'Period 21 November 2026 to 20 December 2026',
      '1 Downloads beyond the allowance price list 2026-11 4 $0.25 $1.00',
      '-$0.18',
      'Total $3,108.82 Credited -$0.25 Remaining $3,108.57',
      '2 4 January 2027 1 CASE-2',
      '1 usage-acc_aaaaaaaaaaaaaaaa-20261121 21 to 25 step 2, 28 each a charge of $0.25',
      'ledger show acc_aaaaaaaaaaaaaaaa --period 2026-11-21',
      'This invoice is event 8 of invoices-acc_aaaaaaaaaaaaaaaa',
    ]) {
      expect(text).toContain(sentence);
    }
  });
});

describe('days and revisions', () => {
  it('are those of UTC and of the log', () => {
    expect(formatDay('2026-03-01T00:00:00.000Z')).toBe('1 March 2026');
    expect(formatDays('2028-02-28T00:00:00.000Z', '2028-03-01T00:00:00.000Z')).toBe(
      '28 February 2028 to 29 February 2028',
    );
    expect(
      formatRevisions(
        [
          [1, 1, 1],
          [3, 9, 1],
          [12, 20, 4],
          [30, 30, 1],
        ],
        3,
      ),
    ).toBe('1, 3 to 9, 12 to 20 step 4, and 1 more');
  });
});
