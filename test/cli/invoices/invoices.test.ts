import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { booksOfFile } from '../books.ts';
import { expectRefusal, expectText } from '../command-line.ts';

const { run, cli, laterBy, chargedAccount } = booksOfFile({ feeCents: 1900, INVOICE_ISSUER: 'Tally & Co' });
const fiveWeeks = 35 * 24;
/** The hour of grace is over too. */
const later = laterBy(fiveWeeks + 2);

interface Shown {
  period_start: string;
  lines: { kind: string; cents: number; items?: { event_id: string; cents: number }[] }[];
}

interface Ledger {
  rows: { type: string; event_id: string }[];
}

let account: string;
let tokens: readonly string[];

// An account with one download included and two charged, whose first period is over, closed and invoiced.
beforeAll(async () => {
  ({ accountId: account, tokens } = await chargedAccount(2));
  await laterBy(fiveWeeks)('invoices', 'issue-due');
  const issued = await later('invoices', 'issue-due', '--json');
  expect(issued.code).toBe(0);
  const { issued: invoices } = JSON.parse(issued.stdout) as { issued: { account_id: string; total_cents: number }[] };
  expect(invoices.filter(({ account_id: id }) => id === account)).toMatchObject([
    { number: 2, covers: 'period', total_cents: 1950 },
  ]);
});

const show = <Answer>(...words: string[]) => cli<Answer>('invoices', 'show', account, ...words);
const credit = (...words: string[]) => run('invoices', 'credit', account, '2', '--reason', 'it failed', ...words);

describe('invoices', () => {
  it('issue-due has nothing to do when it is asked again, and says so to people', async () => {
    const { stdout, stderr } = await later('invoices', 'issue-due');
    expect(stdout).toMatch(/\n\n0 periods ended, 0 closed, 0 invoices issued\n$/);
    expect(stderr).toBe('reeltally: nothing is due: no period is past its end, and everything closed is invoiced\n');
  });

  it('issue-due says until when a period takes corrections that is not closed yet', async () => {
    const { code, stdout, stderr } = await laterBy(2 * fiveWeeks)('invoices', 'issue-due', '--json');
    expect(code).toBe(0);
    const { closed, in_grace: inGrace } = JSON.parse(stdout) as { closed: string[]; in_grace: Record<string, string> };
    const [stream = '', until = ''] = Object.entries(inGrace).find(([name]) => name.includes(account)) ?? [];
    expect(closed).toEqual([]);
    expect(stderr).toContain(`${stream} is not closed: it takes corrections until ${until}, or a little longer\n`);
  });

  it('mails lists whom an invoice was mailed to, and mail-again asks for another mail', async () => {
    const mails = () =>
      cli<{ mails: { email: string; state: string; asked_by: object | null }[] }>('invoices', 'mails', account, '2');
    const [first] = (await mails()).mails;
    const email = first?.email ?? '';
    expect(first).toMatchObject({ state: 'waits', asked_by: null });
    const again = (...words: string[]) =>
      run('invoices', 'mail-again', account, '2', '--reason', 'never got it', ...words);
    expectRefusal(await again('--to', email), /waits already/);
    expectRefusal(await again('--to', 'nobody@example.com'), /people list/);
    expectRefusal(await run('invoices', 'mails', account, '77'), /has no invoice 77/);
    expectRefusal(await run('invoices', 'mails', account, '77', '--credit-note'), /has no credit note 77/);
    const joined = await cli<{ person_id: string }>('people', 'invite', account, 'joined@example.com');
    expect(
      await cli(
        'invoices',
        'mail-again',
        account,
        '2',
        '--to',
        'joined@example.com',
        joined.person_id,
        '--reason',
        'new here',
      ),
    ).toEqual({
      account_id: account,
      type: 'InvoiceIssued',
      number: 2,
      mail_to: [joined.person_id],
    });
    expect((await mails()).mails).toMatchObject([
      { email: 'joined@example.com', state: 'waits', asked_by: { role: 'operator', reason: 'new here' } },
      { email, state: 'waits' },
    ]);
    expectText(await run('invoices', 'mails', account, '2'), /joined@example\.com/);
  });

  it('list shows every invoice of an account', async () => {
    const { invoices } = await cli<{ invoices: { document_number: string }[] }>('invoices', 'list', account);
    // Somebody who reads it out names the account too.
    const [first] = invoices;
    const { accounts } = await cli<{ accounts: object[] }>('accounts', 'find', first?.document_number ?? '');
    expect(accounts).toMatchObject([{ account_id: account }]);
    expect(invoices).toMatchObject([
      { number: 1, covers: 'opening', total_cents: 1900 },
      { number: 2, covers: 'period', total_cents: 1950 },
    ]);
    const text = await run('invoices', 'list', account);
    expectText(
      text,
      /^invoice +document_number +issued +covers +from +to +total +credited\n1 +INV-.* opening .* \$19\.00 +\$0\.00\n2 /,
    );
  });

  it('show gives one as JSON, text, CSV and a page, and each overage line with its charges', async () => {
    const shown = await show<Shown>('2', '--charges');
    expect(shown).toMatchObject({ number: 2, issuer: { name: 'Tally & Co' }, total_cents: 1950 });
    const [overage] = shown.lines;
    expect(overage).toMatchObject({ kind: 'overage', cents: 50, items: [{ cents: 25 }, { cents: 25 }] });
    const period = shown.period_start.slice(0, 10);
    const { rows } = await cli<Ledger>('ledger', 'show', account, '--period', period);
    const charged = rows.filter(({ type }) => type === 'OverageCharged').map((row) => row.event_id);
    expect(overage?.items?.map((charge) => charge.event_id)).toEqual(charged);

    expectText(
      await run('invoices', 'show', account, '2'),
      /^1 +Downloads beyond the allowance +2 +\$0\.25 \(test\) +\$0\.50/m,
    );
    expectText(await run('invoices', 'show', account, '2'), /^total +\$19\.50$/m);
    expectText(
      await run('invoices', 'show', account, '2', '--format', 'csv'),
      /^\ufeffinvoice_number,document_number,account_id,/,
    );
    const file = join(temporaryDirectory(), 'invoice.html');
    expectText(await later('invoices', 'show', account, '2', '--format', 'html', '--output', file), /^written to /);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(
      /^<!doctype html>[^]*Tally &amp; Co[^]*<h1>Invoice<\/h1>[^]*INV-[A-Z2-7-]+-2</,
    );
  });

  it('credit gives back a part once for each reference, and never more than there is', async () => {
    const asked = ['--line', '1', '--cents', '25', '--reference', 'CASE-1', '--by', 'R. Example'];
    expectText(await credit(...asked), /^cents +\$0\.25$[^]*credit note 1 is issued\n$/m);
    expectText(await credit(...asked), /was issued before with this reference; nothing was written\n$/);
    expect(await show('1', '--credit-note')).toMatchObject({
      type: 'credit_note',
      number: 1,
      invoice_number: 2,
      cents: 25,
      issued_by: 'R. Example',
      reason: 'it failed',
    });
    expect(await show('2')).toMatchObject({ total_cents: 1950, credited_cents: 25 });
    for (const [words, message] of [
      ['--line 1 --cents 26 --reference CASE-1 --by R', /another credit note has the reference CASE-1: nothing was/],
      ['--line 1 --cents 26 --reference CASE-2 --by R', /\$0\.26 is more than is left of line 1 of invoice 2/],
      ['--line 9 --cents 1 --reference CASE-2 --by R', /there is no line 9 of invoice 2/],
    ] as const)
      expectRefusal(await credit(...words.split(' ')), message);
    const nobody = await credit('--line', '1', '--cents', '1', '--reference', 'CASE-2', '--by', ' ');
    expectRefusal(nobody, /say who gives this back \(--by\) and why \(--reason\)/);
    const { credit_notes: notes } = await cli<{ credit_notes: object[] }>('invoices', 'list', account);
    expect(notes).toMatchObject([{ number: 1, reference: 'CASE-1', cents: 25 }]);
  });

  it('name the charges that ledger waive gives back once the books are closed', async () => {
    const [, one = '', two = ''] = tokens;
    const waive = (...words: string[]) => cli('ledger', 'waive', '--by', 'Ada', '--reason', 'it failed', ...words);
    const part = await waive(one, '--cents', '5', '--reference', 'CASE-8');
    expect(part).toMatchObject({ account_id: account, cents: 5, charges: [{ token: one, cents: 5, credit_note: 2 }] });
    expect(await waive(one, '--cents', '5', '--reference', 'CASE-8')).toEqual(part);
    // 25 cents of the line were credited as a whole before.
    expect(await waive(one, two, '--reference', 'CASE-9')).toMatchObject({
      cents: 20,
      charges: [{ token: one, cents: 20, credit_note: 3 }],
    });
    expect(await show('3', '--credit-note')).toMatchObject({ cents: 20, charges: [{ token: one, cents: 20 }] });
    expectText(await run('invoices', 'show', account, '3', '--credit-note'), /\n\ntoken +charge +amount\n/);
    expect(await show('2')).toMatchObject({ credited_cents: 50 });
  });

  it('sales-book lists the documents of all accounts, with sums', async () => {
    interface Book {
      sums: { documents: number; invoiced_cents: number; result_cents: number };
      rows: { account_id: string; net_cents: number; type: string }[];
    }
    const book = await cli<Book>('invoices', 'sales-book', '--issued', 'all', '--state', 'partly_credited');
    expect(book.rows).toMatchObject([{ account_id: account, type: 'invoice', net_cents: 1950, left_cents: 1900 }]);
    expect(book.sums).toMatchObject({ documents: 1, invoiced_cents: 1950, result_cents: 1950 });
    const all = await run('invoices', 'sales-book', '--issued', 'all');
    expectText(all, /^issued +document +customer +country +tax_id +lines +net +credited +left\n[^]* CN-.* -\$0\.25 /);
    expectText(all, /\n\n\d+ documents: \$[\d.]+ invoiced, \$0\.50 credited, \$[\d.]+ in all\n$/);
    const csv = await run('invoices', 'sales-book', '--csv', '--issued', 'all', '--state', 'credit_note');
    // Without a month, those of this one: invoices of the first fees.
    const of = (...words: string[]) => cli<Book & { issued?: string }>('invoices', 'sales-book', ...words);
    const month = new Date().toISOString().slice(0, 7);
    expect(await of()).toEqual(await of('--issued', month));
    expect(await of()).toMatchObject({ issued: month });
    expect(await of('--period', '2019-01')).toMatchObject({ period: '2019-01', rows: [] });
    expectText(csv, /^\ufeffissued_at,type,document_number,[^]*,credit_note,CN-.*,overage,-25,0,0,[0-9a-f-]{36}\n/);
    for (const words of [
      ['--issued', '2026-13'],
      ['--period', 'x'],
      ['--country', 'de'],
      ['--state', 'x'],
    ])
      expect((await run('invoices', 'sales-book', ...words)).code).toBe(1);
  });

  it('refuse what there is not', async () => {
    const nobody = 'acc_aaaaaaaaaaaaaaaaaaaa';
    for (const [words, message] of [
      [['list', nobody], /there is no account acc_a/],
      [['show', account, '9'], /has no invoice 9; see "invoices list"/],
      [['show', account, 'first'], /give a whole number from 1 to/],
      [['show', account, '9', '--credit-note'], /has no credit note 9;/],
      [['show', account, '2', '--output', temporaryDirectory()], / is a folder: name a file in it/],
      [['show', account, '2', '--output', '/nowhere/at/all'], /\/nowhere\/at\/all cannot be written/],
    ] as const)
      expectRefusal(await run('invoices', ...words), message);
  });
});
