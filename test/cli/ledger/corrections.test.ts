import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { booksOfFile } from '../books.ts';
import { expectRefusal, expectText } from '../command-line.ts';

const books = booksOfFile();
const { run, cli, openAccount, chargedAccount } = books;

const runSql = async (text: string, values: unknown[] = []) => (await books.models.pool.query(text, values)).rowCount;
const countEvents = async (stream: string) => (await books.log.store.read(stream, 0)).length;

const day = async (accountId: string) =>
  (await cli<{ period_start: string }>('accounts', 'show', accountId)).period_start.slice(0, 10);

const waive = (...words: string[]) => ['ledger', 'waive', '--by', 'Ada', ...words];
const because = (reference: string) => ['--reason', 'the file was broken', '--reference', reference];

describe('ledger waive', () => {
  it('takes back a charge in parts, once for each reference, and never more than it was', async () => {
    const { accountId, stream, tokens } = await chargedAccount(1);
    const [, charged = ''] = tokens;
    const first = await cli(...waive(charged, '--cents', '10', ...because('case-1')));
    expect(first).toEqual({
      account_id: accountId,
      reference: 'case-1',
      cents: 10,
      charges: [{ token: charged, stream, cents: 10, credit_note: null }],
    });
    const events = await countEvents(stream);
    expect(await cli(...waive(charged, '--cents', '10', ...because('case-1')))).toEqual(first);
    expect(await countEvents(stream)).toBe(events);

    expectRefusal(
      await run(...waive(charged, '--cents', '16', ...because('case-2'))),
      /the amount exceeds the rest of the charge for /,
    );
    expectRefusal(
      await run(...waive(charged, '--cents', '11', ...because('case-1'))),
      /the reference case-1 has given something back of the charge for .* before/,
    );
    expectText(
      await run(...waive(charged, ...because('case-2'))),
      /^\$0\.15 is given back, of 1 charge\n\ntoken +stream +cents +credit_note\n/,
    );
    expectRefusal(
      await run(...waive(charged, ...because('case-3'))),
      /nothing is left to give back of the charge for /,
    );
    expectRefusal(
      await run(...waive('ATokenThatNobodyEverHadBefore0000', ...because('c'))),
      /there is no download ATok/,
    );

    // The ledger has the net sum, each correction beside what it corrects, and who decided it and why.
    const ledger = await cli<{ rows: Record<string, unknown>[] }>('ledger', 'show', accountId);
    const charge = ledger.rows[1]?.['event_id'];
    const actor = { type: 'staff', id: 'Ada', role: 'operator', reason: 'the file was broken' };
    expect(ledger).toMatchObject({ total_cents: 0, log: { total_cents: 0, charges: 2, corrections: 2 } });
    expect(ledger.rows.slice(2)).toMatchObject([
      { type: 'ChargeWaived', token: charged, cents: -10, corrects: charge, reference: 'case-1', actor },
      { type: 'ChargeWaived', token: charged, cents: -15, corrects: charge, reference: 'case-2', actor },
    ]);
    const text = await run('ledger', 'show', accountId);
    expectText(text, / charge +corrects +reference\n/);
    expectText(text, / ChargeWaived .* -\$0\.10 +[0-9a-f-]{36} +case-1\n/);
    expectText(text, /\n2 charges and 2 corrections, \$0\.00 in all, as in the log\n$/);
    expectText(await run('jobs', 'timeline', charged), / ChargeWaived .* staff Ada +-\$0\.15 /);
  });

  it('takes back every charge of a period whose download failed, once, and names each', async () => {
    const { accountId, tokens } = await chargedAccount(6);
    const [included = '', broken = '', gone = '', stays = '', other = '', taken = '', later = ''] = tokens;
    const fail = (token: string, reason: string) =>
      runSql(`update jobs set status = 'failed', failure_reason = '${reason}' where token = '${token}'`);
    // The read model may be behind.
    const failed = (token: string, reason: string) =>
      waitFor(async () => (await fail(token, reason)) === 1, { what: `the row of ${token}` });
    await failed(broken, 'internal_error');
    await failed(gone, 'internal_error');
    await failed(other, 'private_video');
    // One that took a credit, one that was taken back, and one of another period.
    await failed(included, 'internal_error');
    await failed(taken, 'voided');
    await failed(later, 'internal_error');
    const ofAnother = `usage-${accountId}-20300101`;
    await runSql(`update jobs set usage_stream = '${ofAnother}' where token = '${later}'`);
    const period = await day(accountId);
    const bulk = (...more: string[]) => [
      ...['ledger', 'waive', '--failed', '--account', accountId, '--period', period, '--by', 'Ada'],
      ...because('outage-7'),
      ...more,
    ];
    const ours = bulk('--failure-reason', 'internal_error');
    const given = await cli<{ charges: { token: string }[] }>(...ours);
    expect(given).toMatchObject({ failed_charges: 2, cents: 50, behind: false });
    expect(given.charges.map((charge) => charge.token)).toEqual([broken, gone]);
    expect(await cli(...ours)).toEqual(given);
    const { stdout, stderr, code } = await run(...bulk());
    expect(stdout).toMatch(/^\$0\.75 is given back, of 3 charges\n\ntoken /);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^given back +100 % +3 events /)]);
    const ledger = await cli<{ rows: Record<string, unknown>[] }>('ledger', 'show', accountId);
    const waived = ledger.rows.filter(({ type }) => type === 'ChargeWaived').map(({ token }) => token);
    expect(waived).toEqual([broken, gone, other]);
    expect(waived).not.toContain(stays);
  });

  it('takes back many charges at once, from the command line and from a file, and passes over those with nothing left', async () => {
    const { accountId, stream, tokens } = await chargedAccount(3);
    const [included = '', one = '', two = '', three = ''] = tokens;
    const file = join(temporaryDirectory(), 'tokens.txt');
    writeFileSync(file, `${two}\n\n  ${three}\n${one}\n`);
    const many = ['ledger', 'waive', included, one, '--file', file, '--by', 'Ada', ...because('case-9')];
    const given = await cli<{ charges: { token: string }[] }>(...many);
    expect(given).toMatchObject({ account_id: accountId, reference: 'case-9', cents: 75 });
    expect(given.charges.map(({ token }) => token)).toEqual([one, two, three]);
    expect(await cli(...many)).toEqual(given);
    expectText(await run(...many), /^\$0\.75 is given back, of 3 charges; 1 more had nothing left\n\ntoken /);
    const asked = await books.log.store.read(`corrections-${accountId}`, 0);
    expect(asked.map(({ type }) => type)).toEqual(['CorrectionAsked', 'CorrectionMade']);
    expect((await books.log.store.read(stream, 0)).filter(({ type }) => type === 'ChargeWaived')).toHaveLength(3);
    const other = await chargedAccount(1);
    expectRefusal(
      await run(...waive(one, other.tokens[1] ?? '', ...because('case-10'))),
      /the downloads are of several accounts/,
    );
    expectRefusal(
      await run(...waive(one, two, '--cents', '1', ...because('case-11'))),
      /--cents is an amount of one charge/,
    );
    expectRefusal(
      await run(...waive(one, two, ...because('case-12'))),
      /nothing is left to give back of these charges/,
    );
    expectRefusal(
      await run(...waive(one, '--file', `${file}.none`, ...because('case-13'))),
      /tokens\.txt\.none cannot be read: ENOENT/,
    );
  });

  it.concurrent.each([
    [['--failed', '--account', 'acc_aaaaaaaaaaaaaaaa'], /--failed takes --account and --period/],
    [['token', '--failed', '--period', '2026-11-01'], /--failed takes --account and --period/],
    [['token', '--period', '2026-11-01'], /give request tokens; or --failed with --account and --period/],
    [[], /give request tokens; or --failed with --account and --period/],
  ])('refuses %j', async (words, message) => {
    expectRefusal(await run('ledger', 'waive', ...words, '--by', 'Ada', ...because('case-1')), message);
  });

  it.concurrent.each([
    [['--reason', 'r', '--reference', 'two words'], /a reference is up to 100 letters/],
    [['--reason', '', '--reference', 'case-1'], /give up to 500 characters/],
    [['--reason', 'r', '--reference', 'case-1', '--cents', '0'], /give at least 1 cent/],
    [['--reason', 'r', '--reference', 'case-1', '--cents', '-5'], /-5 is not a number of cents/],
    [['--reference', 'case-1'], /required option '--reason <text>' not specified/],
    [['--reason', 'r'], /required option '--reference <reference>' not specified/],
  ])('refuses %j', async (words, message) => {
    expectRefusal(await run(...waive('token', ...words)), message);
  });
});

describe('ledger export', () => {
  it('gives every row as CSV and as JSON, to standard output or into a file', async () => {
    const { accountId, tokens } = await chargedAccount(2);
    await cli(...waive(tokens[1] ?? '', '--cents', '5', '--reason', '=HYPERLINK("x")', '--reference', 'case,"1"'));
    const period = await day(accountId);
    const exported = ['ledger', 'export', '--account', accountId, '--period', period];
    const { rows } = await cli<{ rows: Record<string, unknown>[] }>('ledger', 'show', accountId);

    expect(await cli(...exported)).toEqual({
      account_id: accountId,
      period_start: `${period}T00:00:00.000Z`,
      stream: `usage-${accountId}-${period.replaceAll('-', '')}`,
      rows,
      total_cents: 45,
      charges: 3,
      corrections: 1,
    });

    const csv = await run(...exported);
    expect({ code: csv.code, stderr: csv.stderr }).toEqual({ code: 0, stderr: '' });
    const lines = csv.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(
      /^\ufeffevent_id,stream,revision,position,time,type,token,.*,rate_cents,rate_version,cents,corrects,/,
    );
    expect(lines[2]).toContain(`,OverageCharged,${tokens[1] ?? ''},,2,25,test,25,,,`);
    // Amounts stay numbers, and what a spreadsheet would run is text.
    expect(lines[4]).toContain(
      `,ChargeWaived,${tokens[1] ?? ''},,,,,-5,${String(rows[1]?.['event_id'])},"case,""1""",`,
    );
    expect(lines[4]).toContain(`,staff,Ada,operator,"'=HYPERLINK(""x"")",${accountId},`);

    const directory = temporaryDirectory();
    const file = join(directory, 'ledger.csv');
    writeFileSync(file, 'an older one');
    expect(await cli(...exported, '--format', 'csv', '--output', file)).toEqual({
      account_id: accountId,
      period_start: `${period}T00:00:00.000Z`,
      file,
      format: 'csv',
      total_cents: 45,
      charges: 3,
      corrections: 1,
      behind: false,
    });
    expect(readFileSync(file, 'utf8')).toBe(csv.stdout);
    expect(readdirSync(directory)).toEqual(['ledger.csv']);
    expectText(
      await run(...exported, '--output', file),
      /^3 charges and 1 correction, \$0\.45 in all, as in the log, are in /,
    );
  });

  it('refuses what there is not, and what it cannot write', async () => {
    const { accountId } = await openAccount();
    const period = await day(accountId);
    const exported = (start: string, ...more: string[]) =>
      run('ledger', 'export', '--account', accountId, '--period', start, ...more);
    const [unknown, both, nowhere, folder, format] = await Promise.all([
      exported('2020-02-29'),
      exported(period, '--json', '--format', 'csv'),
      exported(period, '--output', '/no/such/folder/ledger.csv'),
      exported(period, '--output', temporaryDirectory()),
      exported(period, '--format', 'xml'),
    ]);
    expectRefusal(unknown, /has no billing period that starts on 2020-02-29/);
    expectRefusal(both, /--json prints one JSON document, but the format is CSV: name a file/);
    expectRefusal(nowhere, /\/no\/such\/folder\/ledger\.csv cannot be written: ENOENT/);
    expectRefusal(folder, / is a folder: name a file in it\n$/);
    expectRefusal(format, /Allowed choices are csv, json/);
  });

  it('fails, and leaves no file, where the ledger differs from the log', async () => {
    const { accountId } = await chargedAccount(1);
    const period = await day(accountId);
    await cli('ledger', 'show', accountId);
    await runSql('update overage_ledger set cents = 24 where account_id = $1 and cents = 25', [accountId]);
    const file = join(temporaryDirectory(), 'ledger.json');
    const exported = ['ledger', 'export', '--account', accountId, '--period', period];
    expectRefusal(await run(...exported, '--output', file), /nothing was written.*event \d+ of usage-.* differs/);
    expect(existsSync(file)).toBe(false);
    const ran = await run(...exported);
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the exported rows differ from the log') as unknown,
    });
  });
});

describe('accounts usage', () => {
  it('shows every period, or one', async () => {
    const { accountId } = await chargedAccount(2);
    await cli('accounts', 'cap', accountId, '500');
    const period = await day(accountId);
    const usage = await cli<{ periods: object[] }>('accounts', 'usage', accountId);
    expect(usage).toMatchObject({
      account_id: accountId,
      behind: false,
      periods: [
        {
          period_start: `${period}T00:00:00.000Z`,
          phase: 'open',
          plan: 'test',
          downloads: { accepted: 3, credits: { used: 1, limit: 1 }, overage: { count: 2, cents: 50 } },
          metadata: { accepted: 0, credits: { used: 0, limit: 10_000 } },
          fee_cents: 0,
          fee_difference_cents: 0,
          overage_cap_cents: 500,
          next_fee_cents: 0,
          invoices: [],
        },
      ],
    });
    await runSql(
      `insert into invoices values ($1, 'InvoiceIssued', 1, gen_random_uuid(), 0, '', 0, now(), 'opening', $2, 1900, '{}', '{}')`,
      [accountId, `${period}T00:00:00.000Z`],
    );
    const invoices = [{ number: 1, covers: 'opening', total_cents: 1900 }];
    expect(await cli('accounts', 'usage', accountId, '--period', period)).toMatchObject({
      periods: [{ ...usage.periods[0]!, invoices }],
    });
    expectText(
      await run('accounts', 'usage', accountId),
      new RegExp(
        `^from +to +phase .*\n${period} .* open +test +3 +1 of 1 +2 for \\$0\\.50 +0 of 10000 +\\$0\\.00 +\\$5\\.00 +1 \\(\\$19\\.00\\)\n$`,
      ),
    );
    expectRefusal(
      await run('accounts', 'usage', accountId, '--period', '2020-02-29'),
      /no billing period that starts on/,
    );
  });

  it('--as-of answers what GET /credits would have answered then', async () => {
    const { accountId, stream } = await chargedAccount(2);
    const overage = (await books.log.store.read(stream, 0)).find(({ type }) => type === 'OverageCharged');
    const at = String(overage?.position);
    const start = `${await day(accountId)} 00:00:00.000`;
    expect(await cli('accounts', 'usage', accountId, '--as-of', at)).toEqual({
      plan: 'test',
      downloads: { limit: 1, used: 1, remaining: 0 },
      metadata: { limit: 10_000, used: 0, remaining: 10_000 },
      overage: { downloads: 1, cents: 25 },
      period_start: start,
      period_end: expect.stringMatching(/ 00:00:00\.000$/) as string,
    });
    expectText(await run('accounts', 'usage', accountId, '--as-of', at), /\noverage +1 downloads, \$0\.25\n/);
    expectRefusal(
      await run('accounts', 'usage', accountId, '--as-of', '2020-02-29'),
      /was not opened yet at 2020-02-29T/,
    );
    expectRefusal(await run('accounts', 'usage', accountId, '--as-of', '2999-01-01'), /is in the future: it is /);
    expectRefusal(
      await run('accounts', 'usage', accountId, '--as-of', '9'.repeat(19)),
      /the newest event of the log is at/,
    );
  });

  it('shows the next fee, which is 0 while the account is suspended, and none once it is closed', async () => {
    const { accountId } = await chargedAccount(1);
    const nextFee = async () =>
      (await cli<{ periods: { next_fee_cents: number | null }[] }>('accounts', 'usage', accountId)).periods.map(
        (period) => period.next_fee_cents,
      );
    await cli('accounts', 'terms', accountId, '--fee-cents', '1900');
    await cli('accounts', 'cap', accountId, '500', '--effective', 'next');
    expect(await nextFee()).toEqual([1900]);
    expect(await cli('accounts', 'show', accountId)).toMatchObject({
      coming: { terms: { overage_cap_cents: 500 } },
    });
    await cli('accounts', 'suspend', accountId, '--reason', 'a test');
    expect(await nextFee()).toEqual([0]);
    await cli('accounts', 'close', accountId, '--reason', 'a test');
    expect(await nextFee()).toEqual([null]);
    expect(await cli('accounts', 'show', accountId)).toMatchObject({ closed: true, coming: null });
  });

  it('shows no more used than there is, after a change to less', async () => {
    const { accountId } = await chargedAccount(1);
    await cli('accounts', 'terms', accountId, '--downloads', '0');
    expect(await cli('accounts', 'usage', accountId)).toMatchObject({
      periods: [{ downloads: { accepted: 2, credits: { used: 0, limit: 0 } } }],
    });
  });
});
