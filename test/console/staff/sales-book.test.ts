import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { noDownloads } from '../../http/shared-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, textOf } from '../browser.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfRun } from './staff-of-run.ts';

const service = staffOfRun(noDownloads);

let fay: StaffMember;
let finance: Browser;
let accountId: string;
const month = new Date().toISOString().slice(0, 7);
/** A country that no other file's account has. */
const country = 'AQ';
const book = `/staff/sales-book?issued=${month}&country=${country}`;

interface Book {
  issued: string | null;
  sums: { documents: number; invoiced_cents: number; credited_cents: number; result_cents: number };
  rows: { document_number: string; customer: string; net_cents: number; credited_cents: number; kinds: string }[];
}

beforeAll(async () => {
  fay = await service.invite('finance');
  finance = await service.newStaffSession(fay);
  accountId = await service.openAccount('books@example.com', 'dev_100');
  const { cli } = service.installation;
  const details = ['--name', '=1+1 & "Sons"', '--country', country, '--tax-id', '007'];
  await cli(['accounts', 'billing', accountId, ...details]);
  const credit = ['--line', '1', '--cents', '150', '--reference', 'BOOK-1', '--reason', 'a test', '--by', 'Ada'];
  await cli(['invoices', 'credit', accountId, '1', ...credit]);
  const known = async () => (await service.sql('select from invoices where account_id = $1', [accountId])).length === 2;
  await waitFor(known, { what: 'the documents in the read model' });
});

describe('the sales book', () => {
  it('lists documents with customer, country and tax id as of their date, and their sums', async () => {
    // The invoice is older than the billing details, the credit note is not.
    const page = textOf(await finance.get(book));
    expect(page).toMatch(/Documents 1 Invoiced \$0\.00 Credited \$1\.50 Result -\$1\.50/);
    expect(page).toMatch(/CN-[A-Z0-9-]+-1 of INV-[A-Z0-9-]+-1 =1\+1 &amp; "Sons" AQ 007 fee -\$1\.50/);
    const open = textOf(await finance.get(`/staff/sales-book?issued=${month}&state=partly_credited`));
    expect(open).toMatch(/books@example\.com .*fee \$19\.00 \$1\.50 \$17\.50/);
    expect((await finance.get('/staff/months')).text).toContain('href="/staff/sales-book"');
    const ofPeriod = await finance.get(`/staff/sales-book?period=${month}`);
    expect(ofPeriod.text).toContain(`href="/staff/months/${month}"`);
  });

  it('is a file in which a spreadsheet finds no formula, and numbers as they are', async () => {
    const csv = await finance.get(`/staff/sales-book.csv?issued=${month}&country=${country}`);
    expect(csv.headers['content-disposition']).toBe(`attachment; filename="sales-book-${month}.csv"`);
    const [head, row, ...more] = csv.text.trimEnd().split('\n');
    expect(more).toEqual([]);
    expect(head).toBe(
      'issued_at,type,document_number,invoice_document_number,account_id,number,customer,country,tax_id,kinds,net_cents,credited_cents,left_cents,event_id',
    );
    expect(row).toMatch(/,credit_note,CN-.*,1,"'=1\+1 & ""Sons""",AQ,'007,fee,-150,0,0,[0-9a-f-]{36}$/);
    const file = JSON.parse(
      (await finance.get(`/staff/sales-book.json?issued=${month}&country=${country}`)).text,
    ) as Book;
    expect(file.rows).toMatchObject([{ net_cents: -150, customer: '=1+1 & "Sons"', kinds: 'fee' }]);
  });

  it('is the same for programs', async () => {
    const { token } = await service.issueToken(fay.staffId, ['money']);
    const address = `${service.staffUrl}${book.replace('/staff/', '/staff/v1/')}`;
    const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
    const { data } = (await answer.json()) as { data: Book };
    expect(data.sums).toEqual({ documents: 1, invoiced_cents: 0, credited_cents: 150, result_cents: -150 });
    expect(data.rows).toMatchObject([{ kinds: ['fee'], net_cents: -150 }]);
  });

  it('has the documents of this month unless another is asked for, and all months in a file alone', async () => {
    expect((await finance.get('/staff/sales-book')).text).toContain(`name="issued" value="${month}"`);
    const { token } = await service.issueToken(fay.staffId, ['money']);
    const answer = async (query: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await (await fetch(`${service.staffUrl}/staff/v1/sales-book${query}`, { headers })).json()) as {
        data: Book;
      };
    };
    expect((await answer('')).data).toMatchObject({ issued: month });
    expect((await answer('?period=2019-01')).data).toMatchObject({ issued: null, rows: [] });
    expect((await answer('?issued=2019-01')).data).toMatchObject({ issued: '2019-01', rows: [], next: null });
    const file = await finance.get('/staff/sales-book.csv');
    expect(file.headers['content-disposition']).toBe(`attachment; filename="sales-book-${month}.csv"`);
    const all = await finance.get('/staff/sales-book.csv?issued=all');
    expect(all.headers['content-disposition']).toBe('attachment; filename="sales-book.csv"');
    expect(all.text).toContain(',credit_note,CN-');
    expect((await finance.get('/staff/sales-book?issued=all')).status).toBe(400);
  });

  it('records whose names were looked at, of a file too', async () => {
    for (const path of [book, `/staff/sales-book.csv?issued=${month}&country=${country}`]) {
      const person = await service.invite('finance');
      await (await service.newStaffSession(person)).get(path);
      const looks = 'select from staff_looks where staff_id = $1 and account_id = $2';
      const isRecorded = async () => (await service.sql(looks, [person.staffId, accountId])).length === 1;
      await waitFor(isRecorded, { what: `the look at ${path}` });
    }
  });

  it.each(['issued=2026-13', 'period=x', 'country=aq', 'state=x', 'after=-1', 'after=2026-99-01T00:00:00.000Z~1'])(
    'is refused for %s',
    async (query) => {
      expect((await finance.get(`/staff/sales-book?${query}`)).status).toBe(400);
      if (!query.startsWith('after')) expect((await finance.get(`/staff/sales-book.csv?${query}`)).status).toBe(400);
    },
  );
});

describe('a document', () => {
  it('is printed and saved by staff as its owner can', async () => {
    const path = `/staff/accounts/${accountId}/invoices/1`;
    const page = await finance.get(path);
    for (const as of ['print', 'csv', 'json']) expect(page.text).toContain(`href="?as=${as}"`);
    const owner = await service.newSession({ accountId, personId: openerOf(accountId) });
    for (const as of ['print', 'csv', 'json']) {
      const [ofStaff, ofOwner] = [
        await finance.get(`${path}?as=${as}`),
        await owner.get(`/console/invoices/1?as=${as}`),
      ];
      expect([ofStaff.status, ofStaff.text]).toEqual([200, ofOwner.text]);
      expect(ofStaff.headers['content-disposition']).toBe(ofOwner.headers['content-disposition']);
    }
    expect((await finance.get(`/staff/accounts/${accountId}/credit-notes/1?as=csv`)).text).toContain('BOOK-1');
    expect((await finance.get(`/staff/accounts/${accountId}/invoices/9?as=csv`)).status).toBe(404);
  });

  it('says that its amounts are without tax, and what its issuer has not stated', async () => {
    const page = textOf(await finance.get(`/staff/accounts/${accountId}/invoices/1`));
    expect(page).toContain(
      "Amounts are without tax. This is no tax document: it lacks the issuer's address, country and tax ID.",
    );
    expect(page).toContain('reeltally issuer set');
  });
});
