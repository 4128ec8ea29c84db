import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeAuditState } from '../../../projections/queries/audit-state.ts';
import { connectClient, openTestPool } from '../../support/postgres.ts';
import { sum } from '../../support/sum.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Browser } from '../browser.ts';
import { addPeriods, madeUpAccount } from './made-up-periods.ts';
import type { StaffOfFile } from './staff-of-file.ts';

const accounts = 450;
const chargedCents = (accounts * (accounts + 1) * 25) / 2;

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
  verification: Record<string, unknown>;
  is_behind: boolean | null;
  accounts: { account_id: string; due_cents: number; not_invoiced: { cents: number; why: string }[] }[];
  next: string | null;
}

/** Tests of the months, on a service without billing periods. */
export function testMonths(service: StaffOfFile): void {
  let support: Browser;
  let bearer: string;
  let pool: pg.Pool;
  const pageText = async (path: string) => (await support.get(path)).text.replaceAll(/\s+/g, ' ');

  const json = async (query = ''): Promise<Shown> => {
    const address = `${service.staffUrl}/staff/v1/months/2020-03${query}`;
    const answer = await fetch(address, { headers: { authorization: `Bearer ${bearer}` } });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { data: Shown }).data;
  };

  beforeAll(async () => {
    pool = openTestPool(service.installation.environment.DATABASE_URL);
    const { staffId } = await service.invite('support');
    bearer = (await service.issueToken(staffId, ['money'])).token;
    support = await service.signedInAs('support');
    expect((await support.get('/staff/months')).text).toContain('No billing period has begun yet');
    await addPeriods((...given) => service.sql(...given), '2020-03', accounts);
  });

  afterAll(() => {
    service.projector.resume();
    return pool.end();
  });

  describe('the close of a month', () => {
    it('adds up what its accounts have', async () => {
      const close = await json();
      expect(close).toMatchObject({
        month: '2020-03',
        totals: {
          periods: accounts,
          fee_cents: feesCents,
          charged_cents: chargedCents,
          due_cents: feesCents + chargedCents,
          invoiced_cents: feesCents + chargedCents - openCents,
          not_invoiced_cents: openCents,
          credited_cents: 0,
        },
        not_invoiced: [{ cents: openCents, why: 'invoice_due' }],
        phases: { open: 0, ended: 0, closed: accounts },
        verification: { verdict: 'none' },
        is_behind: false,
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
      expect(text).toContain('Nothing was verified yet');
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

    it('lists those of which something is on no invoice, a page and a file of them', async () => {
      const { accounts: listed, totals } = await json('?not_invoiced=yes');
      expect(listed.map(({ account_id: id }) => id)).toEqual(
        Array.from({ length: accounts / 3 }, (_, at) => madeUpAccount((at + 1) * 3)),
      );
      expect(totals).toMatchObject({ periods: accounts });
      const text = await pageText('/staff/months/2020-03?not_invoiced=yes');
      expect(text).toContain(`All ${String(accounts / 3)}</th>`);
      expect(text).toContain(': the period is closed and its invoice is not issued yet');
      expect(text).toContain('href="/staff/months/2020-03.csv?not_invoiced=yes"');
      const csv = (await support.get('/staff/months/2020-03.csv?not_invoiced=yes')).text.trimEnd().split('\n');
      expect(csv).toHaveLength(1 + accounts / 3);
      const one = `account=${madeUpAccount(6)}`;
      const file = JSON.parse((await support.get(`/staff/months/2020-03.json?${one}`)).text) as { rows: unknown[] };
      expect(file).toMatchObject({ account: madeUpAccount(6), count: 1 });
    });

    it('leads from each amount of an account to its event, its charges and its documents', async () => {
      const { text } = await support.get('/staff/months/2020-03');
      const account = madeUpAccount(3);
      expect(text).toContain(`href="/staff/events/0@usage-${account}-20200303"`);
      expect(text).toContain(`href="/staff/overage/${account}/2020-03-03"`);
      expect(text).toContain(`href="/staff/accounts/${account}#documents"`);
      expect(text).toContain('This page: 200</th>');
      expect(text).toContain('Result: invoiced less credited');
    });

    it('has sums and rows of one instant, and the table of overage too', async () => {
      await addPeriods((...given) => service.sql(...given), '2020-06', 3);
      const writer = await connectClient(service.installation.environment.DATABASE_URL);
      let isOver = false;
      const writing = (async () => {
        while (!isOver) {
          const more = 'charged_cents = charged_cents + 25';
          await writer.query(
            `begin; update period_money set ${more} where month = '2020-06' and charges = 1;
           update month_money set ${more} where month = '2020-06'; commit`,
          );
        }
        await writer.end();
      })();
      const sumOf = (rows: { charged_cents: number }[]) => sum(rows.map((row) => row.charged_cents));
      const read = async <Data>(path: string) => {
        const answer = await fetch(`${service.staffUrl}/staff/v1${path}`, {
          headers: { authorization: `Bearer ${bearer}` },
        });
        return ((await answer.json()) as { data: Data }).data;
      };
      try {
        for (let look = 0; look < 15; look += 1) {
          const month = await read<{ totals: { charged_cents: number }; accounts: { charged_cents: number }[] }>(
            '/months/2020-06',
          );
          expect(month.totals.charged_cents).toBe(sumOf(month.accounts));
          const overage = await read<{
            rows: { charged_cents: number }[];
            months: { month: string; charged_cents: number }[];
          }>('/overage?month=2020-06');
          expect(overage.months.find((each) => each.month === '2020-06')?.charged_cents).toBe(sumOf(overage.rows));
        }
      } finally {
        isOver = true;
        await writing;
      }
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

    it('says what the verification says now: what is old or partial is not "verified"', async () => {
      const look = { events: 1_234, position: '99', unknown: 0, known: 1, divergences: [], notices: [] };
      const now = new Date().toISOString();
      const said = async () => [await pageText('/staff/months/2020-03'), (await json()).verification] as const;
      await writeAuditState(pool, { ...look, isWhole: false, caughtUpAt: null });
      expect(await said()).toEqual([
        expect.stringMatching(/class="note warn".*Not all of the log was verified yet\. It has come to position 99/),
        expect.objectContaining({ verdict: 'partial', events: 1_234 }),
      ]);
      await writeAuditState(pool, { ...look, isWhole: true, caughtUpAt: now });
      expect(await said()).toEqual([
        expect.stringMatching(
          /class="note good".*up to position 99 was verified at .* \d+ s ago.*1 divergence is acknowledged/,
        ),
        expect.objectContaining({ verdict: 'verified', caught_up_position: '99' }),
      ]);
      await writeAuditState(pool, { ...look, unknown: 2, isWhole: true, caughtUpAt: now });
      expect(await said()).toEqual([
        expect.stringMatching(/class="note bad".*2 values do not follow from the log/),
        expect.objectContaining({ verdict: 'diverges', unknown: 2 }),
      ]);
      // A process that has begun from the start has found nothing yet.
      await writeAuditState(pool, { ...look, events: 3, position: '3', isWhole: false, caughtUpAt: null });
      expect((await said())[1]).toMatchObject({ verdict: 'diverges', unknown: 2, position: '3' });
      await writeAuditState(pool, { ...look, isWhole: true, caughtUpAt: '2026-01-01T00:00:00.000Z' });
      expect((await said())[1]).toMatchObject({ verdict: 'behind' });
      await service.sql("update audit_state set caught_up_at = now(), written_at = now() - interval '3 hours'");
      expect(await said()).toEqual([
        expect.stringMatching(/class="note warn".*has stopped: it last said something 3 h ago/),
        expect.objectContaining({ verdict: 'stopped' }),
      ]);
      for (const path of ['/staff', '/staff/months', '/staff/operation'])
        expect(await pageText(path)).toContain('The verification has stopped');
    });

    it('says while the log has events about money that it does not have yet', async () => {
      const accountId = await service.openAccount('behind@example.com');
      await waitFor(async () => !(await json()).is_behind, { what: 'the account in the read model' });
      service.projector.pause();
      await service.installation.cli(['accounts', 'cap', accountId, '1000']);
      expect((await json()).is_behind).toBe(true);
      expect(await pageText('/staff/months/2020-03')).toContain(
        'The read model is behind the log: amounts may be missing.',
      );
      service.projector.resume();
      await waitFor(async () => !(await json()).is_behind, { what: 'the read model to follow' });
    });

    it('does not exist for a month without billing periods', async () => {
      expect((await support.get('/staff/months/2020-05')).status).toBe(404);
      expect((await support.get('/staff/months/2020-13')).status).toBe(400);
      expect((await support.get('/staff/months/may')).status).toBe(400);
    });
  });
}
