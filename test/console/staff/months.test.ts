import { beforeAll, describe, expect, it } from 'vitest';
import type { Browser } from '../browser.ts';
import { addPeriods, madeUpAccount } from './made-up-periods.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();
let support: Browser;
let bearer: string;

const accounts = 450;
const chargedCents = (accounts * (accounts + 1) * 25) / 2;
const pageText = async (path: string) => (await support.get(path)).text.replaceAll(/\s+/g, ' ');

/** Every third account's overage is not invoiced. */
const openCents = Array.from({ length: accounts / 3 }, (_, at) => (at + 1) * 3 * 25).reduce(
  (sum, cents) => sum + cents,
  0,
);
const feesCents = accounts * 1_900;

interface Shown {
  month: string;
  totals: Record<string, number>;
  phases: Record<string, number>;
  verification: unknown;
  accounts: { account_id: string; due_cents: number; not_invoiced: { cents: number; why: string }[] }[];
  next: string | null;
}

async function json(query = ''): Promise<Shown> {
  const address = `${service.staffUrl}/staff/v1/months/2020-03${query}`;
  const answer = await fetch(address, { headers: { authorization: `Bearer ${bearer}` } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: Shown }).data;
}

beforeAll(async () => {
  const { staffId } = await service.invite('support');
  bearer = (await service.issueToken(staffId, ['money'])).token;
  support = await service.signedInAs('support');
  expect((await support.get('/staff/months')).text).toContain('No billing period has begun yet');
  await addPeriods((...given) => service.sql(...given), '2020-03', accounts);
});

describe('the close of a month', () => {
  it('adds up what its accounts have', async () => {
    const close = await json();
    expect(close).toMatchObject({
      month: '2020-03',
      totals: {
        ...{
          periods: accounts,
          fee_cents: feesCents,
          charged_cents: chargedCents,
          due_cents: feesCents + chargedCents,
        },
        ...{ invoiced_cents: feesCents + chargedCents - openCents, not_invoiced_cents: openCents, credited_cents: 0 },
      },
      phases: { open: 0, ended: 0, closed: accounts },
      verification: null,
    });
    expect(close.accounts[2]).toMatchObject({
      account_id: madeUpAccount(3),
      not_invoiced: [{ cents: 75, why: 'invoice_due' }],
    });
  });

  it('leads from every total to the rows that it sums, and says why something is not invoiced', async () => {
    const { status, text } = await support.get('/staff/months/2020-03');
    expect(status).toBe(200);
    expect(text).toContain('<strong>$33,918.75</strong>');
    for (const sort of ['charged', 'voided', 'waived', 'invoiced', 'credited'])
      expect(text).toContain(`href="/staff/overage?month=2020-03&amp;sort=${sort}&amp;order=desc"`);
    expect(text).toContain(`href="/staff/overage/${madeUpAccount(3)}/2020-03-03?only=charges"`);
    expect(text).toContain('invoice due');
    expect(text).toContain('The verification has said nothing yet.');
    const { text: all } = await support.get('/staff/months');
    expect(all).toContain('<a data-row href="/staff/months/2020-03">2020-03</a>');
  });

  it('lists 200 accounts a page, or one', async () => {
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const page: Shown = await json(after === null ? '' : `?after=${after}`);
      seen.push(...page.accounts.map(({ account_id: id }) => id));
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(Array.from({ length: accounts }, (_, at) => madeUpAccount(at + 1)));
    const one = await json(`?account=${madeUpAccount(7)}`);
    expect(one.accounts.map(({ account_id: id, due_cents: due }) => [id, due])).toEqual([[madeUpAccount(7), 2_075]]);
    expect(one.totals).toMatchObject({ periods: accounts });
  });

  it('is a file with every account', async () => {
    const lines = (await support.get('/staff/months/2020-03.csv')).text.trimEnd().split('\n');
    const at = (lines[0] ?? '').split(',').indexOf('due_cents');
    expect(lines).toHaveLength(1 + accounts);
    const sum = lines.slice(1).reduce((total, line) => total + Number(line.split(',')[at]), 0);
    expect(sum).toBe(feesCents + chargedCents);
    const file = JSON.parse((await support.get('/staff/months/2020-03.json')).text) as { count: number };
    expect(file).toMatchObject({ of: 'month', month: '2020-03', count: accounts });
  });

  it('says what the verification says', async () => {
    const insert = `insert into audit_state (events, position, unknown, known, divergences, caught_up_at)
      values (1234, 99, $1, 1, '[]', '2026-11-24T10:00:00Z') on conflict (only_row) do update set unknown = excluded.unknown`;
    await service.sql(insert, [0]);
    expect(await pageText('/staff/months/2020-03')).toContain('1,234 events of the log and all read models agree');
    await service.sql(insert, [2]);
    expect(await pageText('/staff/months/2020-03')).toContain('2 divergences that nobody has acknowledged');
  });

  it('does not exist for a month without billing periods', async () => {
    expect((await support.get('/staff/months/2020-05')).status).toBe(404);
    expect((await support.get('/staff/months/2020-13')).status).toBe(400);
    expect((await support.get('/staff/months/may')).status).toBe(400);
  });
});
