import { describe, expect, it } from 'vitest';
import { formatDay, formatDays } from '../../src/documents/days.ts';
import { creditNoteCsv, invoiceCsv } from '../../src/documents/invoice-csv.ts';
import { creditNotePage, invoicePage } from '../../src/documents/invoice-page.ts';
import { creditNoteText } from '../../src/documents/invoice-text.ts';
import { renderDocument } from '../../src/documents/render-document.ts';
import { formatRevisions } from '../../src/documents/revisions.ts';
import { sum } from '../support/sum.ts';
import { exampleInvoice, exampleNote, longInvoice } from './example-invoice.ts';

/** Rows of a CSV text without quoted fields that hold commas, by the names of the columns. */
function rowsOf(csv: string): Record<string, string>[] {
  const [head = [], ...rows] = csv
    .replace(/^\ufeff/, '')
    .trimEnd()
    .split('\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''),
    );
  return rows.map((row) => Object.fromEntries(head.map((name, column) => [name, row[column] ?? ''])));
}

const columnOf = (csv: string, name: string) => rowsOf(csv).map((row) => row[name]);
const sumOf = (csv: string) => sum(columnOf(csv, 'cents').map((cents) => Number(cents)));

describe('an invoice as a document', () => {
  it('has its lines in words, what was credited, and its event', () => {
    expect(exampleInvoice()).toMatchObject({
      number: 7,
      document_number: 'INV-AAAA-AAAA-AAAA-AAAA-7',
      total_cents: 310_867,
      issuer: { name: 'Reeltally & Sons', country: 'IE' },
      billed_to: { name: 'Ada Ltd', email: 'owner@example.com' },
      lines: [
        { line: 1, description: 'Downloads beyond the allowance', quantity: 4, rate_cents: 25, event_id: null },
        { line: 2, description: 'Charge waived, reference =CASE-1', quantity: 1, rate_cents: null, cents: -18 },
        { line: 3, description: 'Charges waived', quantity: 2, rate_cents: 25, cents: -15 },
        { line: 4, description: 'Upgrade to plan studio_500: the rise of the monthly fee', revisions: [[41, 41, 1]] },
        { line: 5, description: 'Monthly fee, plan studio_500, 21 December 2026 to 20 January 2027' },
      ],
      credit_notes: [
        { number: 2, document_number: 'CN-AAAA-AAAA-AAAA-AAAA-2', line: 1, reference: 'CASE-2', cents: 25 },
      ],
      credited_cents: 25,
      event: { revision: 8 },
    });
  });
});

describe('an invoice as CSV', () => {
  it('has a row for each line or waiver, in cents and in dollars, that add up to the total', () => {
    const csv = invoiceCsv(exampleInvoice());
    expect(columnOf(csv, 'cents')).toEqual(['100', '-18', '-10', '-5', '4000', '306800']);
    expect(columnOf(csv, 'dollars')).toEqual(['1.00', '-0.18', '-0.10', '-0.05', '40.00', '3068.00']);
    expect(columnOf(csv, 'revisions')).toEqual(['21 to 25 step 2, 28', '40', '42', '43', '41', '50']);
    expect(sumOf(csv)).toBe(310_867);
  });

  it('has a row for each charge instead where that is asked for, and adds up to the same', () => {
    const [plain, csv] = [invoiceCsv(exampleInvoice()), invoiceCsv(exampleInvoice(true))];
    expect(csv.split('\n')[0]).toBe(plain.split('\n')[0]);
    expect(columnOf(csv, 'line')).toEqual(['1', '1', '1', '1', '2', '3', '3', '4', '5']);
    expect(columnOf(csv, 'revisions').slice(0, 4)).toEqual(['21', '23', '25', '28']);
    expect(columnOf(csv, 'time')[0]).toBe('2026-11-30T23:59:59.999Z');
    expect(sumOf(csv)).toBe(310_867);
  });

  it('says of each waiver what was downloaded, and why it was waived', () => {
    expect(rowsOf(invoiceCsv(exampleInvoice()))[2]).toMatchObject({
      document_number: 'INV-AAAA-AAAA-AAAA-AAAA-7',
      billed_to: 'Ada Ltd',
      issuer_tax_id: 'IE1234567T',
      token: "'-token-42",
      platform: 'youtube',
      video_id: 'dQw4w9WgXcQ',
      reference: "'=CASE-1",
      reason: "'@the file <was> broken",
      cents: '-10',
    });
  });

  it('holds nothing that a spreadsheet would calculate', () => {
    const csv = invoiceCsv(exampleInvoice(true));
    expect(columnOf(csv, 'token').slice(0, 4)).toEqual(["'-token-21", "'-token-23", "'-token-25", "'-token-28"]);
    for (const field of rowsOf(csv).flatMap((row) => Object.values(row))) {
      expect(field).not.toMatch(/^[=+@\t\r]|^-(?![\d.]+$)/);
    }
  });

  it('of a credit note has a row for each charge, and their cents add up to its own', () => {
    expect(rowsOf(creditNoteCsv(exampleNote()))).toMatchObject([
      {
        credit_note_number: '2',
        document_number: 'CN-AAAA-AAAA-AAAA-AAAA-2',
        invoice_document_number: 'INV-AAAA-AAAA-AAAA-AAAA-7',
        invoice_number: '7',
        line: '1',
        token: "'-token-23",
        cents: '20',
        dollars: '0.20',
        issued_by: 'R. Example',
      },
      { credit_note_number: '2', token: "'-token-24", cents: '5', dollars: '0.05' },
    ]);
    const wholeLine = { ...exampleNote(), charges: [] };
    expect(rowsOf(creditNoteCsv(wholeLine))).toMatchObject([{ token: '', charge_event_id: '', cents: '25' }]);
  });

  it('of a credit note names its charges as text and as a page, where it has some', () => {
    expect(creditNoteText(exampleNote(), { columns: undefined })).toMatch(
      /token +charge +amount\n.*-token-23 .*\$0\.20\n.*\$0\.05\n\nAmounts are without tax\.\n$/,
    );
    expect(creditNoteText({ ...exampleNote(), charges: [] }, { columns: undefined })).not.toContain('token');
    expect(textOf(creditNotePage(exampleNote()))).toMatch(/2 charges.*Charges given back.*-token-24/);
    expect(textOf(creditNotePage({ ...exampleNote(), charges: [] }))).not.toContain('Charges given back');
  });
});

const textOf = (page: string) => page.replaceAll(/<style>[^]*<\/style>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

it.each([
  [{}, 'Amounts are without tax.'],
  [{ tax_id: null }, "Amounts are without tax. This is no tax document: it lacks the issuer's tax ID."],
  [
    { address_lines: [], country: null, tax_id: null },
    "Amounts are without tax. This is no tax document: it lacks the issuer's address, country and tax ID.",
  ],
])('a document says what its issuer lacks of a tax document: %j', (changed, says) => {
  const lacking = exampleInvoice(false, changed);
  expect(renderDocument(lacking, 'text')).toContain(`\n${says}\n`);
  expect(textOf(renderDocument(lacking, 'html')).replaceAll('&#39;', "'")).toContain(says);
  expect(JSON.parse(renderDocument(lacking, 'json'))).toMatchObject({
    amounts: 'without tax',
    issuer_lacks: Object.keys(changed).map((name) => name.replace('_lines', '')),
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
    const text = textOf(pages[0] ?? '');
    for (const sentence of [
      'Reeltally &amp; Sons 1 Film Row &lt;b&gt;Dublin&lt;/b&gt; IE Tax ID IE1234567T billing@reeltally.test Invoice ',
      'Invoice number INV-AAAA-AAAA-AAAA-AAAA-7',
      'Billed to Ada Ltd London GB owner@example.com',
      'Questions about it: billing@reeltally.test',
      'Date of issue 21 December 2026',
      'Period 21 November 2026 to 20 December 2026',
      '1 Downloads beyond the allowance price list 2026-11 4 $0.25 $1.00',
      '-$0.18',
      'Total $3,108.67 Credited -$0.25 Remaining $3,108.42',
      'CN-AAAA-AAAA-AAAA-AAAA-2 4 January 2027 1 CASE-2',
      'Line 3: Charges waived 2 in all.',
      'youtube dQw4w9WgXcQ -token-42 =CASE-1 @the file &lt;was&gt; broken revision 42',
      '1 usage-acc_aaaaaaaaaaaaaaaa-20261121 21 to 25 step 2, 28 each a charge of $0.25',
      '42 to 43 each a waiver of a charge of $0.25',
      'ledger show acc_aaaaaaaaaaaaaaaa --period 2026-11-21',
      'This invoice is event 8 of invoices-acc_aaaaaaaaaaaaaaaa',
    ]) {
      expect(text).toContain(sentence);
    }
  });
});

describe('a line with very many charges', () => {
  it('is listed in part on a page, which says so, and in whole elsewhere', () => {
    const page = invoicePage(longInvoice(501));
    expect(textOf(page)).toContain('500 of 501 are listed here');
    expect(page).toContain('-token-599<');
    expect(page).not.toContain('-token-600');
    for (const other of [invoiceCsv(longInvoice(501)), renderDocument(longInvoice(501), 'text')])
      expect(other).toContain('-token-600');
    expect(textOf(invoicePage(longInvoice(500)))).toContain('500 in all.');
  });
});

describe('an invoice as text', () => {
  it('has numbers, names, waivers and credit notes', () => {
    const text = renderDocument(exampleInvoice(), 'text');
    expect(text).toMatch(/^document_number +INV-AAAA-AAAA-AAAA-AAAA-7$/m);
    expect(text).toMatch(/^billed_to +Ada Ltd, London, GB, owner@example\.com$/m);
    expect(text).toMatch(/^3 .* -token-42 +youtube dQw4w9WgXcQ +-\$0\.10 +=CASE-1 +@the file <was> broken /m);
    const note = renderDocument(exampleNote(), 'text');
    expect(note).toMatch(/^document_number +CN-AAAA-AAAA-AAAA-AAAA-2$/m);
    expect(note).toMatch(/^issuer +Reeltally & Sons, 1 Film Row, <b>Dublin<\/b>, IE, IE1234567T, billing@reeltally/m);
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
