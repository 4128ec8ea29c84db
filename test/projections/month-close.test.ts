import { beforeAll, describe, expect, it } from 'vitest';
import { moneyCounts, periodMoney } from '../../projections/period-money.ts';
import { writeAuditState } from '../../projections/queries/audit-state.ts';
import { listMoneyEvents, type MoneyEvent } from '../../projections/queries/money-events.ts';
import {
  type AccountClose,
  addUp,
  listAccountCloses,
  readMonthClose,
  withSums,
} from '../../projections/queries/month-close.ts';
import {
  exportPeriodMoney,
  listMonthMoney,
  listPeriodMoney,
  type OverageCursor,
  type OverageFilter,
  overageSorts,
  type PeriodMoney,
} from '../../projections/queries/overage-table.ts';
import type { Link } from '../../src/audit/rules/event-schemas.ts';
import type { Period } from '../../src/audit/rules/period.ts';
import { Replay } from '../../src/audit/rules/replay.ts';
import { Random } from '../audit/random.ts';
import { RichHistory } from '../audit/rich-history.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { scaled } from '../support/proof-scale.ts';
import { sum } from '../support/sum.ts';
import { closesOfMonth } from './closes-of-month.ts';
import { readModelsOfFile } from './read-models-under-test.ts';

/** The month's report against the audit's own rules, which share no code with it: to the cent, for each account and in sum. */
const log = logUnderTest();
const models = readModelsOfFile(log, periodMoney);
const accounts = scaled(8, 1_000);
const periodsEach = 3;
const seed = Number(process.env['PROOF_SEED'] ?? 20_261_125);

/** What the second rules make of a period and of the documents about it. */
interface Expected {
  due: number;
  overage: number;
  invoiced: number;
  credited: number;
  phase: string;
}

const expected = new Map<string, Expected>();
const expectedOf = (account: string, start: string): Expected => {
  const key = `${account} ${start}`;
  const known = expected.get(key) ?? { due: 0, overage: 0, invoiced: 0, credited: 0, phase: '' };
  expected.set(key, known);
  return known;
};

beforeAll(async () => {
  const random = new Random(seed);
  for (let account = 0; account < accounts; account += 1) {
    const day = String(1 + random.below(31)).padStart(2, '0');
    await new RichHistory(log.store, random, `2024-01-${day}T10:00:00.000Z`).live(periodsEach, 25);
  }
  await models.caughtUp();
  await replayLog();
});

async function replayLog(): Promise<void> {
  const periods = new Set<Period>();
  const nothing = () => undefined;
  const replay = new Replay(
    (stream, from, maxCount) => log.store.read(stream, from, maxCount),
    (facts) => {
      throw new Error(`the audit does not accept the log: ${JSON.stringify(facts)}`);
    },
    ({ invoices }) => ({
      accountChanged: nothing,
      accountHeadMoved: nothing,
      usageChanged: nothing,
      documentMailsAsked: nothing,
      documentMailed: nothing,
      jobEventRecorded: nothing,
      jobChanged: nothing,
      periodChanged: (period) => void periods.add(period),
      invoiced: (event, { accountId }) => {
        documented(event, accountId, (number) => invoices.get(accountId)?.linesOf(number) ?? []);
      },
    }),
  );
  for (let after = -1n; ;) {
    const page = await log.store.readAll(after, 2_000);
    for (const event of page) await replay.apply(event);
    if (page.length === 0) break;
    after = page.at(-1)!.position;
  }
  for (const { accountId, opened, totals, phase } of periods) {
    const { terms, period_start: start } = opened!.data;
    const overage = totals.overage_cents;
    Object.assign(expectedOf(accountId, start), {
      overage,
      phase,
      // Nothing is due for a period that begins while its account is suspended.
      due: (terms.suspended ? 0 : terms.fee_cents) + totals.fee_difference_cents + overage,
    });
  }
}

interface DocumentLine {
  kind?: unknown;
  cents?: unknown;
  period_start?: unknown;
}

const startOfInvoice = new Map<string, string>();

function documented(
  { type, data }: Link,
  accountId: string,
  linesOf: (number: number) => readonly DocumentLine[],
): void {
  const isInvoice = type === 'InvoiceIssued';
  const number = isInvoice ? data.number : data.invoice_number;
  if (isInvoice) startOfInvoice.set(`${accountId} ${String(number)}`, data.period_start);
  const periodOf = ({ kind, period_start: start }: DocumentLine) =>
    expectedOf(accountId, String(kind === 'fee' ? start : startOfInvoice.get(`${accountId} ${String(number)}`)));
  const lines = linesOf(number);
  if (isInvoice) for (const line of lines) periodOf(line).invoiced += Number(line.cents);
  else periodOf(lines[data.line - 1]!).credited += data.cents;
}

const monthsOfAll = () => [...new Set([...expected.keys()].map((key) => key.split(' ')[1]!.slice(0, 7)))].sort();

const closesOf = (month: string) => closesOfMonth(models.pool, month);

describe('the close of a month', () => {
  it('is that of the second rules, account by account, to the cent', async () => {
    let periods = 0;
    for (const month of monthsOfAll()) {
      for (const close of await closesOf(month)) {
        periods += 1;
        const { account_id, period_start, due_cents, invoiced_cents, credited_cents, phase } = close;
        const overage = close.charged_cents - close.voided_cents - close.waived_cents;
        expect({ due: due_cents, overage, invoiced: invoiced_cents, credited: credited_cents, phase }).toEqual(
          expected.get(`${account_id} ${period_start}`),
        );
      }
    }
    expect(periods).toBe(expected.size);
    // There is something of everything to be right about.
    const all = [...expected.values()];
    const isOf = (is: (one: Expected) => boolean) => all.some(is);
    expect([
      isOf(({ credited }) => credited > 0),
      isOf(({ invoiced, due }) => invoiced < due),
      isOf(({ overage }) => overage > 0),
    ]).toEqual([true, true, true]);
  });

  it('has the sums of its accounts, by phase too', async () => {
    for (const month of monthsOfAll()) {
      const closes = await closesOf(month);
      const { totals, phases } = await readMonthClose(models.pool, month);
      expect(totals).toEqual({ periods: closes.length, ...withSums(addUp(closes)) });
      for (const row of await listMonthMoney(models.pool, { month })) {
        const { month: _month, phase, periods, ...sums } = row;
        const ofPhase = closes.filter((close) => close.phase === phase);
        expect({ periods, ...sums }).toEqual({ periods: ofPhase.length, ...addUp(ofPhase) });
        expect(phases[phase]).toBe(periods);
      }
    }
  });

  it('says of every cent that is on no invoice why, and nothing of a period that is invoiced', async () => {
    const reasons = new Set<string>();
    for (const month of monthsOfAll()) {
      for (const { not_invoiced, not_invoiced_cents, phase, difference_cents } of await closesOf(month)) {
        expect(sum(not_invoiced.map(({ cents }) => cents))).toBe(not_invoiced_cents);
        for (const { why } of not_invoiced) reasons.add(why);
        if (phase === 'closed')
          expect({ difference_cents, not_invoiced }).toEqual({ difference_cents: 0, not_invoiced: [] });
      }
    }
    expect([...reasons].sort()).toEqual(['before_ended', 'period_ended', 'period_open']);
  });

  it('says the same of all accounts together, and lists those of which something is on no invoice', async () => {
    for (const month of monthsOfAll()) {
      const closes = await closesOf(month);
      const { totals, not_invoiced: parts } = await readMonthClose(models.pool, month);
      expect(sum(parts.map(({ cents }) => cents))).toBe(totals.not_invoiced_cents);
      expect(totals.result_cents).toBe(totals.invoiced_cents - totals.credited_cents);
      const all = closes.flatMap((close) => close.not_invoiced);
      const ofUsage = (why: string) => /^(?:period|invoice)_/.test(why);
      for (const { cents, why } of parts) {
        const same = all.filter((part) => (why === 'fee_due' ? !ofUsage(part.why) : part.why === why));
        expect([why, sum(same.map((part) => part.cents))]).toEqual([why, cents]);
      }
      const listed: AccountClose[] = [];
      for await (const page of listAccountCloses(models.pool, month, { notInvoiced: true })) listed.push(...page);
      expect(listed).toEqual(closes.filter((close) => close.not_invoiced.length > 0));
    }
  });

  it('names for each sum the events of the log that add up to it', async () => {
    for (const close of (await closesOf('2024-02')).slice(0, scaled(10, 100))) {
      const events: MoneyEvent[] = [];
      for await (const event of listMoneyEvents(log.store, close)) events.push(event);
      for (const name of moneyCounts.filter((each) => each !== 'difference_cents')) {
        const named = events.filter((event) => event.name === name);
        expect([name, sum(named.map(({ amount }) => amount))]).toEqual([name, close[name]]);
      }
      for (const { stream, revision, event_id: id, type } of events)
        expect(await log.store.read(stream, revision, 1)).toMatchObject([{ id, type }]);
    }
  });

  it('says what the verification says, or that it is not known, and up to which event the amounts go', async () => {
    const { verification, reached } = await readMonthClose(models.pool, '2024-02');
    expect([verification, reached]).toEqual([undefined, expect.any(BigInt)]);
    const found = { unknown: 0, known: 0, divergences: [], notices: [] };
    const look = { events: 9, position: '12', ...found, caughtUpAt: '2024-05-01T00:00:00.000Z', isWhole: true };
    await writeAuditState(models.pool, { ...look, events: 3 });
    await writeAuditState(models.pool, look);
    expect((await readMonthClose(models.pool, '2024-02')).verification).toMatchObject({
      events: 9,
      position: '12',
      ...found,
      caught_up_at: '2024-05-01T00:00:00.000Z',
      caught_up_position: '12',
    });
  });

  it('of a month without periods is empty', async () => {
    expect(await closesOf('2019-01')).toEqual([]);
    expect((await readMonthClose(models.pool, '2019-01')).totals).toMatchObject({ periods: 0, due_cents: 0 });
  });
});

describe('the table of overage', () => {
  const nobodyLeaves = new AbortController().signal;
  const all = async (filter: OverageFilter): Promise<PeriodMoney[]> => {
    const rows: PeriodMoney[] = [];
    const order = { sort: 'account', descending: false } as const;
    for await (const page of exportPeriodMoney(models.pool, { filter, order }, nobodyLeaves)) rows.push(...page);
    return rows;
  };

  it.each(overageSorts.flatMap((sort) => [false, true].map((descending) => ({ sort, descending }))))(
    'page by page it is what is exported, by $sort, descending: $descending',
    async (order) => {
      for (const filter of [
        {},
        { month: '2024-02' },
        { withOverage: true },
        { month: '2024-01', phase: 'closed' as const },
      ]) {
        const exported: PeriodMoney[] = [];
        for await (const page of exportPeriodMoney(models.pool, { filter, order }, nobodyLeaves))
          exported.push(...page);
        const listed: PeriodMoney[] = [];
        for (let after: OverageCursor | undefined; ;) {
          const page = await listPeriodMoney(models.pool, { filter, order, after, limit: 7, maxLooked: 11 });
          listed.push(...page.rows);
          if (!page.next) break;
          after = page.next;
        }
        expect(listed).toEqual(exported);
        expect(exported.length).toBeGreaterThan(0);
      }
    },
  );

  it('leaves out what a filter leaves out', async () => {
    const rows = await all({});
    expect(rows).toHaveLength(expected.size);
    const [{ account_id: accountId, plan }] = rows as [PeriodMoney, ...PeriodMoney[]];
    const filters: [OverageFilter, (row: PeriodMoney) => boolean][] = [
      [{ accountId }, (row) => row.account_id === accountId],
      [{ plan }, (row) => row.plan === plan],
      [{ phase: 'open' }, (row) => row.phase === 'open'],
      [{ withOverage: true }, (row) => row.charges > 0],
      [{ withDifference: true }, (row) => row.difference_cents !== 0],
      [{ month: '2024-03', withOverage: true }, (row) => row.month === '2024-03' && row.charges > 0],
    ];
    for (const [filter, isOf] of filters) expect(await all(filter)).toEqual(rows.filter(isOf));
  });
});
