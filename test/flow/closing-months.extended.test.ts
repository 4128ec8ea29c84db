import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { countDue } from '../../projections/work-lists/due-periods.ts';
import type { InvoiceIssued } from '../../src/domain/invoice-events.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { queue } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import { type LoggedEvent, readLog } from '../support/read-log.ts';
import { sum } from '../support/sum.ts';
import { waitFor } from '../support/wait-for.ts';

/** Months that a dispatcher ends, closes, invoices and signs by the clock, killed in each of them in the middle of its work. */
const small = { downloads_limit: 1, overage_cents: 25, fee_cents: 1900 };
const large = { plan: 'large', downloads_limit: 3, overage_cents: 18, fee_cents: 5900 };
const installation = installationOfFile({ PLANS_FILE: planFile(small, large), CLOSING_GRACE_SECONDS: '1' });
beforeAll(() => installation.allowShiftedClock());
let accountIds: string[];

const kills = scaled(2, 20);
const accounts = 4;
const daySeconds = 86_400;

beforeAll(async () => {
  await installation.startRole('projector');
  const api = await installation.startRole('api');
  accountIds = await Promise.all(Array.from({ length: accounts }, () => useAccount(api.url)));
  await api.stop();
});

/** An included download and two charged ones, an upgrade, two within the larger allowance and one beyond it. */
async function useAccount(url: string): Promise<string> {
  const { cli, openAccount, sampleUrl } = installation;
  const { accountId, key } = await openAccount();
  const download = () => queue(url, key, { url: sampleUrl('private') });
  for (let count = 0; count < 3; count += 1) await download();
  await cli(['accounts', 'plan', accountId, 'large']);
  for (let count = 0; count < 3; count += 1) await download();
  return accountId;
}

const monthsLater = (months: number) => clockOffset(months * 31 * daySeconds);

/** What an account's log says of its periods: each opened, ended and closed once, and invoiced once with lines that add up. */
function expectBooks(events: readonly LoggedEvent[], invoices: readonly InvoiceIssued[]): void {
  const ofType = (type: string) => events.filter((event) => event.type === type);
  const starts = ofType('UsagePeriodOpened').map(({ data }) => (data as { period_start: string }).period_start);
  expect(new Set(starts).size).toBe(starts.length);
  for (const type of ['UsagePeriodEnded', 'UsagePeriodClosed']) {
    const ofPeriods = ofType(type).map(({ data }) => (data as { period_start: string }).period_start);
    expect(ofPeriods, type).toEqual(starts.slice(0, -1));
  }
  expect(invoices.map(({ number }) => number)).toEqual(starts.map((_, index) => index + 1));
  expect(invoices.map(({ covers, period_start: start }) => [covers, start])).toEqual([
    ['opening', starts[0]],
    ...starts.slice(0, -1).map((start) => ['period', start]),
  ]);
  for (const { lines, total_cents: total } of invoices) {
    expect(sum(lines.map(({ cents }) => cents))).toBe(total);
  }
  // Two downloads at 25 cents, one at 18, the rise from 19 to 59 dollars, and the next fee; then the fee alone.
  expect(invoices.map(({ total_cents: cents }) => cents)).toEqual([
    ...[1_900, 2 * 25 + 18 + 4_000 + 5_900],
    ...starts.slice(2).map(() => 5_900),
  ]);
}

test('each period of each account is closed once and invoiced once, whenever the dispatcher is killed', async () => {
  const pool = openPatientPool(installation.environment.DATABASE_URL, { max: 2 });
  const applied = async () => {
    const { rows } = await pool.query<{ applied: number }>(
      "select applied_events::float8 as applied from checkpoints where name = 'usage_and_jobs'",
    );
    return rows[0]?.applied ?? 0;
  };
  try {
    // A month gives each account an end and an opening, and a close and an invoice of what ended before.
    const survived = fc.sample(fc.integer({ min: 1, max: 3 * accounts }), kills);
    for (const [index, events] of survived.entries()) {
      const before = await applied();
      const dispatcher = await installation.startRole('dispatcher', monthsLater(index + 1));
      const isReached = async () => (await applied()) >= before + events;
      await waitFor(isReached, { what: `${String(events)} events`, pollMs: 1 });
      await dispatcher.kill();
    }
    const last = () => new Date(Date.now() + (kills + 1) * 31 * daySeconds * 1_000).toISOString();
    await installation.startRole('dispatcher', monthsLater(kills + 1));
    const isAllDone = async () => {
      const { notClosed, invoices } = await countDue(pool, last());
      return notClosed + invoices === 0;
    };
    await waitFor(isAllDone, { what: 'all books to be closed', pollMs: 100 });
    console.log(`${String(kills)} kills, each after so many events: ${survived.join(' ')}`);
  } finally {
    await pool.end();
  }
  const url = installation.environment.EVENTSTORE_URL;
  const [usage, invoices] = [await readLog(url, 'usage-'), await readLog(url, 'invoices-')];
  const leaves = [...usage, ...invoices].filter(({ type }) => /^(UsagePeriodClosed|InvoiceIssued)$/.test(type)).length;
  const readSizes = async () => {
    const heads = (await readLog(url, 'tree-heads')).filter(({ type }) => type === 'TreeHeadSigned');
    return heads.map(({ data }) => (data as { size: number }).size);
  };
  await waitFor(async () => (await readSizes()).at(-1) === leaves, { what: `a head of ${String(leaves)} leaves` });
  const sizes = await readSizes();
  expect(sizes).toEqual([...new Set(sizes)].sort((one, other) => one - other));
  // It computes the root of each head anew.
  const verified = await installation.cli(['ledger', 'verify'], monthsLater(kills + 1));
  expect(verified).toMatchObject({ verdict: 'verified' });
  for (const accountId of accountIds) {
    const issued = invoices.filter(
      ({ stream, type }) => stream === `invoices-${accountId}` && type === 'InvoiceIssued',
    );
    const events = usage.filter(({ stream }) => stream.startsWith(`usage-${accountId}-`));
    expectBooks(
      events,
      issued.map(({ data }) => data as InvoiceIssued),
    );
  }
});
