import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { countDue } from '../../projections/work-lists/due-periods.ts';
import type { InvoiceIssued } from '../../src/domain/invoice-events.ts';
import { type Answer, call } from '../support/client.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { installationOfFile } from '../support/installation.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import { readLog } from '../support/read-log.ts';
import { sum } from '../support/sum.ts';
import { waitFor } from '../support/wait-for.ts';
import { daySeconds, Month, monthSeconds } from './billing-month.ts';
import { billsOf, rateAgain } from './plain-billing.ts';

/**
 * Years of billing: accounts on every plan whose periods start on different days, two API processes whose clocks of billing
 * differ by days, kills in the middle of every month, terms and caps that change while downloads race. What clients were told
 * and what was invoiced must be what a plain model makes of it, to the cent.
 */
const plans = ['sandbox', 'dev_100', 'studio_500', 'scale_2000', 'enterprise'] as const;
const accountCount = scaled(plans.length, 40);
const months = scaled(2, 36);

const terms = { hourly_limit: 10_000, metadata_limit: 50 };
const installation = installationOfFile({
  CLOSING_GRACE_SECONDS: '1',
  PLANS_FILE: planFile(
    {},
    { plan: 'sandbox', ...terms, downloads_limit: 0 },
    { plan: 'dev_100', ...terms, fee_cents: 1_900, downloads_limit: 3, overage_cents: 25 },
    { plan: 'studio_500', ...terms, fee_cents: 5_900, downloads_limit: 5, overage_cents: 18 },
    { plan: 'scale_2000', ...terms, fee_cents: 14_900, downloads_limit: 7, overage_cents: 12 },
    { plan: 'enterprise', ...terms, fee_cents: 49_900, downloads_limit: 9, overage_cents: 10 },
  ),
});
beforeAll(() => installation.allowShiftedClock());
let accounts: Account[];

interface Sent {
  idempotencyKey: string | undefined;
  /** Without one, the connection was cut: nobody knows what became of it. */
  answer: Answer | undefined;
}

interface Account {
  accountId: string;
  key: string;
  sent: Sent[];
  /** References of waivers that were acknowledged. */
  waivers: string[];
}

/** One month of one account. */
const step = fc.record({
  downloads: fc.nat(10),
  repeats: fc.boolean(),
  waives: fc.boolean(),
  change: fc.option(
    fc.oneof(
      fc.tuple(fc.constant('plan'), fc.constantFrom(...plans)),
      fc.tuple(fc.constant('cap'), fc.constantFrom('none', '0', '30', '75', '200')),
      fc.tuple(fc.constant('terms'), fc.constant('--overage-cents'), fc.integer({ min: 5, max: 40 }).map(String)),
      fc.tuple(fc.constant('terms'), fc.constant('--fee-cents'), fc.integer({ min: 0, max: 60_000 }).map(String)),
    ),
  ),
  effective: fc.constantFrom([], ['--effective', 'now'], ['--effective', 'next']),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The disturbances of one month. */
const disturbance = fc.record({
  skewDays: fc.integer({ min: -3, max: 3 }),
  killed: fc.constantFrom('first', 'second', 'dispatcher'),
  afterAnswers: fc.integer({ min: 1, max: accountCount * 4 }),
});

const steps = fc.sample(step, accountCount * months);
const disturbances = fc.sample(disturbance, months);

beforeAll(async () => {
  await installation.startRole('projector');
  accounts = [];
  // Opened one day after the other, their periods start on every day of a month.
  for (let index = 0; index < accountCount; index += 1) {
    const plan = plans[index % plans.length] ?? 'sandbox';
    const opened = await installation.openAccount(plan, clockOffset((index % 31) * daySeconds));
    accounts.push({ ...opened, sent: [], waivers: [] });
  }
});

/** @returns undefined where the connection was cut before an answer came */
async function post(url: string, key: string, idempotencyKey: string | undefined): Promise<Answer | undefined> {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const body = { url: installation.sampleUrl('private') };
  try {
    return await call(url, '/video/download', { key, body, headers });
  } catch (error) {
    // What fetch throws where a connection is refused or cut; anything else is a wrong answer.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

let keysMade = 0;

/** Downloads of one account through both processes at once, a change of its terms in their middle. */
async function use(account: Account, { downloads, repeats, change, effective }: Step, month: Month): Promise<void> {
  const { accountId, key, sent } = account;
  const requests = Array.from({ length: downloads }, async (_, index) => {
    const idempotencyKey = index % 2 === 0 ? `order-${String((keysMade += 1))}` : undefined;
    const answer = await post(month.urls[index % 2] ?? '', key, idempotencyKey);
    sent.push({ idempotencyKey, answer });
    month.answers += 1;
  });
  const [kind, ...words] = change ?? [];
  const changing = kind && installation.cli(['accounts', kind, accountId, ...words, ...effective], month.clock);
  await Promise.all([...requests, changing]);
  // Another process may answer a key that is sent again, in this period or a later one.
  const unanswered = sent.filter(({ idempotencyKey, answer }) => idempotencyKey !== undefined && !isDecided(answer));
  const again = repeats ? [...unanswered, ...sent.filter(isKeyed).slice(0, 2)] : unanswered;
  for (const { idempotencyKey } of again) {
    for (const url of month.urls) sent.push({ idempotencyKey, answer: await post(url, key, idempotencyKey) });
  }
}

const isKeyed = ({ idempotencyKey }: Sent) => idempotencyKey !== undefined;
const isDecided = (answer: Answer | undefined) => answer !== undefined && [202, 402].includes(answer.status);

/** Takes back a charge of this month, if there is one. */
async function waive(account: Account, month: Month, number: number): Promise<void> {
  const charged = account.sent.findLast(({ answer }) => answer?.data['overage'] === true)?.answer;
  const token = charged?.data['request_token'];
  if (typeof token !== 'string') return;
  const reference = `month-${String(number)}`;
  const words = ['--cents', '3', '--reference', reference, '--reason', 'a test', '--by', 'Ada'];
  await installation.cli(['ledger', 'waive', token, ...words], month.clock).then(
    () => account.waivers.push(reference),
    (error: unknown) => {
      // The books of its period are closed by now, or less than that is left of it.
      expect(String(error)).toMatch(/are closed|more than is left|nothing is left/);
    },
  );
}

async function live(number: number): Promise<void> {
  const planned = disturbances[number];
  if (!planned) throw new Error('every month has its disturbance');
  const month = await Month.start(installation, number, planned.skewDays);
  const ofMonth = accounts.map((account, index) => {
    const planned = steps[number * accountCount + index];
    if (!planned) throw new Error('every account has a step in every month');
    return { account, step: planned };
  });
  const total = sum(ofMonth.map(({ step: { downloads } }) => downloads));
  const killing = waitFor(() => month.answers >= Math.min(planned.afterAnswers, total), {
    what: 'answers before the kill',
  }).then(() => month.replace(planned.killed));
  for (let from = 0; from < ofMonth.length; from += atOnce) {
    await Promise.all(ofMonth.slice(from, from + atOnce).map(({ account, step }) => use(account, step, month)));
  }
  await killing;
  for (const { account, step } of ofMonth) if (step.waives) await waive(account, month, number);
  await month.stop();
}

/** As many accounts are used at the same time, each with a command of its own. */
const atOnce = 5;

/** The dispatcher of the last day ends, closes and invoices whatever is left. */
async function closeAllBooks(): Promise<void> {
  const pool = openPatientPool(installation.environment.DATABASE_URL, { max: 2 });
  const seconds = (months + 2) * monthSeconds;
  const dispatcher = await installation.startRole('dispatcher', clockOffset(seconds));
  const lastDay = () => new Date(Date.now() + seconds * 1_000).toISOString();
  const isAllDone = async () => {
    const { notClosed, invoices } = await countDue(pool, lastDay());
    return notClosed + invoices === 0;
  };
  // A period that was ended late is closed once its grace, which begins then, is over.
  await waitFor(isAllDone, { what: 'all books to be closed', pollMs: 200 });
  await dispatcher.stop();
  await pool.end();
}

/** What clients were told, against the log: each answered download is there once, at the price that its answer named. */
function expectAnswersKept({ sent }: Account, charged: ReadonlyMap<string, string>): void {
  const accepted = sent.flatMap(({ answer }) => (answer?.status === 202 ? [answer.data] : []));
  for (const { request_token: token, overage } of accepted) {
    expect(charged.get(String(token))).toBe(overage === true ? 'OverageCharged' : 'DownloadCreditDebited');
  }
  const answered = new Set(accepted.map(({ request_token: token }) => token));
  const unknown = sent.filter(({ idempotencyKey, answer }) => idempotencyKey === undefined && !isDecided(answer));
  const unanswered = [...charged.keys()].filter((token) => !answered.has(token));
  expect(unanswered.length).toBeLessThanOrEqual(unknown.length);
  for (const [, sends] of Map.groupBy(sent.filter(isKeyed), ({ idempotencyKey }) => idempotencyKey)) {
    const tokens = sends.flatMap(({ answer }) => (answer?.status === 202 ? [answer.data['request_token']] : []));
    expect(new Set(tokens).size).toBeLessThanOrEqual(1);
  }
  for (const { answer } of sent) {
    if (answer && answer.status !== 202)
      expect(`${String(answer.status)} ${String(answer.code)}`).toMatch(
        /^402 (download_quota_exceeded|overage_cap_reached)$|^502 enqueue_failed$|^503 unavailable$/,
      );
  }
}

test('every account is asked to pay what a plain model makes of its downloads', async () => {
  for (let number = 0; number < months; number += 1) {
    await live(number);
    console.log(`month ${String(number + 1)} of ${String(months)}`);
  }
  await closeAllBooks();

  const url = installation.environment.EVENTSTORE_URL;
  const [usage, issued] = [await readLog(url, 'usage-'), await readLog(url, 'invoices-')];
  const figures = { charges: 0, periods: 0, invoices: 0, cents: 0, waivers: 0 };
  for (const account of accounts) {
    const { accountId, waivers } = account;
    const events = usage.filter(({ stream }) => stream.startsWith(`usage-${accountId}-`));
    const model = rateAgain(events);
    const charges = events.filter(({ type }) => type === 'DownloadCreditDebited' || type === 'OverageCharged');
    const voided = new Set(events.flatMap(({ type, data }) => (type === 'DownloadVoided' ? [tokenOf(data)] : [])));
    const standing = charges.filter(({ data }) => !voided.has(tokenOf(data)));
    expectAnswersKept(account, new Map(standing.map(({ type, data }) => [tokenOf(data), type])));
    const invoices = issued.filter(
      ({ stream, type }) => stream === `invoices-${accountId}` && type === 'InvoiceIssued',
    );
    const totals = invoices.map(({ data }) => (data as InvoiceIssued).total_cents);
    expect(totals, accountId).toEqual(billsOf(model));
    const waived = events.filter(({ type }) => type === 'ChargeWaived');
    expect(waived.map(({ data }) => (data as { reference: string }).reference).sort()).toEqual([...waivers].sort());
    figures.charges += charges.length;
    figures.periods += model.periods.length;
    figures.invoices += totals.length;
    figures.cents += sum(totals);
    figures.waivers += waived.length;
  }
  expect(figures.charges).toBeGreaterThan(accountCount);
  // The second set of rules agrees, and so does every read model.
  await installation.cli(['ledger', 'verify'], clockOffset((months + 2) * monthSeconds));
  console.log(`seed ${process.env['PROOF_SEED'] ?? ''}: ${JSON.stringify(figures)}, ${String(months)} kills`);
});

const tokenOf = (data: unknown): string => (data as { token: string }).token;
