import { describe, expect, it } from 'vitest';
import { sum } from '../support/sum.ts';
import { booksOfFile } from './books.ts';
import { expectRefusal, expectText } from './command-line.ts';

const { run, cli, openAccount, chargedAccount } = booksOfFile();

interface Close {
  account_id: string;
  period_start: string;
  due_cents: number;
  not_invoiced: { cents: number; why: string }[];
}

interface MonthReport {
  month: string;
  totals: { periods: number; charged_cents: number; due_cents: number };
  verification: { verdict: string; text: string };
  behind: boolean;
  accounts: Close[];
}

describe('reports month', () => {
  it('has every account with what is not invoiced and why, and one with its events', async () => {
    const { accountId } = await chargedAccount(2);
    const { period_start: start } = await cli<{ period_start: string }>('ledger', 'show', accountId);
    const month = start.slice(0, 7);
    const report = await cli<MonthReport>('reports', 'month', '--period', month);
    expect(report).toMatchObject({
      month,
      behind: false,
      totals: { periods: report.accounts.length },
      verification: { verdict: expect.stringMatching(/^(?:none|partial|verified)$/) as string },
    });
    expect(report.totals.due_cents).toBe(sum(report.accounts.map(({ due_cents: cents }) => cents)));
    const close = report.accounts.find(({ account_id: id }) => id === accountId);
    expect(close).toMatchObject({ period_start: start, charges: 2, charged_cents: 50, phase: 'open' });
    expect(close?.not_invoiced).toContainEqual({ cents: 50, why: 'period_open' });

    const one = ['reports', 'month', '--period', month, '--account', accountId] as const;
    const { account, events } = await cli<{ account: Close; events: { name: string; amount: number }[] }>(...one);
    expect(account).toEqual(close);
    const charged = events.filter(({ name }) => name === 'charged_cents');
    expect(charged).toMatchObject([
      { amount: 25, type: 'OverageCharged', revision: 3 },
      { amount: 25, type: 'OverageCharged', revision: 5 },
    ]);
    const text = await run('reports', 'month', '--period', month);
    expectText(
      text,
      /^account +from +plan +fee +difference +overage +voided +waived +due +invoiced +credited +not invoiced\n/,
    );
    expectText(text, /\$0\.50: the period is open/);
    expectText(text, /\nnot invoiced +\$\d+\.\d\d\n/);
    expectText(text, /\n +\$\d+\.\d\d: the period is open\n/);
    expectText(text, /\nresult +\$\d+\.\d\d\nverification: (?:All of the log|Not(?:hing| all))/);
    expectText(await run(...one), /\ncharged {2}\$0\.25 {2}OverageCharged {2}usage-acc_\S+ 3 {2}/);
  });

  it('of a month or an account without a period says so', async () => {
    const empty = await cli<MonthReport>('reports', 'month', '--period', '2019-02');
    expect(empty).toMatchObject({ totals: { periods: 0, due_cents: 0 }, accounts: [] });
    const { accountId } = await openAccount();
    expectRefusal(
      await run('reports', 'month', '--period', '2019-02', '--account', accountId),
      /has no billing period that starts in 2019-02/,
    );
    expectRefusal(await run('reports', 'month', '--period', '2026-13'), /write a month like 2026-11/);
  });
});
