import { type Command, InvalidArgumentError } from 'commander';
import type { PoolClient } from 'pg';
import { periodMoney } from '../../projections/period-money.ts';
import { listMoneyEvents, type MoneyEvent } from '../../projections/queries/money-events.ts';
import {
  type AccountClose,
  listAccountCloses,
  type MonthClose,
  openReasons,
  readMonthClose,
} from '../../projections/queries/month-close.ts';
import { pagesInSnapshot } from '../../projections/runner/transaction.ts';
import { countAcknowledged } from '../commands/acknowledge-divergence.ts';
import { type ShownVerification, showVerification } from '../documents/verdict.ts';
import { formatCents } from '../domain/cents.ts';
import { accountIdArgument } from './arguments.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { type Columns, CommandFailed, jsonDocument, rowsText } from './output.ts';
import { caughtUp } from './wait-for-read-models.ts';

export function addMonthReport(reports: Command, run: RunCommand): void {
  reports
    .command('month')
    .description('close a month: what its periods cost, what is invoiced and credited, what is not and why')
    .requiredOption('--period <month>', 'month in which the billing periods start, YYYY-MM', monthArgument)
    .option('--account <account>', 'only this account, with every event behind its sums', accountIdArgument)
    .action((options: MonthReport) => run((cli) => monthCommand(cli, options)));
}

interface MonthReport {
  /** YYYY-MM. */
  period: string;
  account?: string;
}

function monthArgument(value: string): string {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(value)) throw new InvalidArgumentError('write a month like 2026-11');
  return value;
}

interface ReportDependencies extends Pick<CliDependencies, 'store' | 'output' | 'now'> {
  /** Sees the read models as of one instant. */
  client: Pick<PoolClient, 'query'>;
}

/** Tells whether the amounts are complete, and verified. */
interface Reliability {
  behind: boolean;
  verification: ShownVerification;
}

/** Sums and rows are of one instant. */
async function monthCommand(cli: CliDependencies, wanted: MonthReport): Promise<void> {
  const behind = !(await caughtUp(cli, periodMoney));
  const parts = pagesInSnapshot(cli.pool, (client) => report({ ...cli, client }, wanted, behind));
  for await (const part of parts) cli.output.write(part);
  if (behind) throw new CommandFailed('the read model is behind the log: amounts may be missing', 2);
}

async function* report(
  cli: ReportDependencies,
  { period: month, account }: MonthReport,
  behind: boolean,
): AsyncGenerator<string> {
  const close = await readMonthClose(cli.client, month);
  const { verification: state, reached } = close;
  const reliability: Reliability = {
    behind,
    verification: showVerification(state && { ...state, ...(await countAcknowledged(cli.store, state)) }, {
      now: cli.now(),
      shownUpTo: reached,
    }),
  };
  yield* account === undefined ? ofAll(cli, close, reliability) : ofOne(cli, close, { account, ...reliability });
}

/** Every account, page by page: a month of any size needs no more memory than a small one. */
async function* ofAll(cli: ReportDependencies, close: MonthClose, reliability: Reliability): AsyncGenerator<string> {
  const pages = listAccountCloses(cli.client, close.month);
  if (!cli.output.json) {
    for await (const page of pages) yield `${accountsText(cli, page)}\n\n`;
    yield `${closeText(close, reliability)}\n`;
    return;
  }
  const { month, totals, not_invoiced, phases } = close;
  yield* jsonDocument({ month, totals, not_invoiced, phases, ...reliability }, 'accounts', eachOf(pages));
}

async function* eachOf<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<Row> {
  for await (const page of pages) yield* page;
}

/** One account, with the events that each of its sums is the sum of, from the log itself. */
async function* ofOne(
  cli: ReportDependencies,
  { month }: MonthClose,
  { account: accountId, ...reliability }: { account: string } & Reliability,
): AsyncGenerator<string> {
  const account = await readAccountClose(cli, month, accountId);
  const events = listMoneyEvents(cli.store, account);
  if (!cli.output.json) {
    yield `${accountsText(cli, [account])}\n\n`;
    for await (const event of events) yield `${eventText(event)}\n`;
    yield `\n${verificationText(reliability)}\n`;
    return;
  }
  yield* jsonDocument({ month, account, ...reliability }, 'events', events);
}

async function readAccountClose({ client }: ReportDependencies, month: string, account: string): Promise<AccountClose> {
  for await (const [found] of listAccountCloses(client, month, { account, limit: 1 })) if (found) return found;
  throw new CommandFailed(`${account} has no billing period that starts in ${month}`);
}

const accountColumns: Columns<AccountClose> = {
  account: 'account_id',
  from: ({ period_start: start }) => start.slice(0, 10),
  plan: 'plan',
  fee: 'fee_cents',
  difference: 'fee_difference_cents',
  overage: 'charged_cents',
  voided: (close) => formatCents(-close.voided_cents),
  waived: (close) => formatCents(-close.waived_cents),
  due: 'due_cents',
  invoiced: 'invoiced_cents',
  credited: (close) => formatCents(-close.credited_cents),
  'not invoiced': (close) => notInvoicedText(close),
};

const notInvoicedText = ({ not_invoiced: parts }: AccountClose): string =>
  parts.map(({ cents, why }) => `${formatCents(cents)}: ${openReasons[why]}`).join('; ') || '-';

const accountsText = ({ output }: ReportDependencies, page: readonly AccountClose[]): string =>
  rowsText(output, accountColumns, page);

const eventText = ({ name, amount, type, stream, revision, event_id: id, time }: MoneyEvent): string =>
  `${name.replace('_cents', '')}  ${name === 'charges' ? String(amount) : formatCents(amount)}  ${type}  ${stream} ${String(revision)}  ${id}  ${time}`;

function closeText({ month, totals, phases, not_invoiced: parts }: MonthClose, reliability: Reliability): string {
  const money = (cents: number) => formatCents(cents);
  const lines: [string, string][] = [
    [
      'periods',
      `${String(totals.periods)} (${String(phases.open)} open, ${String(phases.ended)} ended, ${String(phases.closed)} closed)`,
    ],
    ['fees', money(totals.fee_cents)],
    ['fee differences', money(totals.fee_difference_cents)],
    ['overage', `${money(totals.charged_cents)} (${String(totals.charges)} downloads)`],
    ['voided', money(-totals.voided_cents)],
    ['waived', money(-totals.waived_cents)],
    ['due', money(totals.due_cents)],
    ['invoiced', money(totals.invoiced_cents)],
    ['not invoiced', money(totals.not_invoiced_cents)],
    ...parts.map(({ cents, why }): [string, string] => ['', `${money(cents)}: ${openReasons[why]}`]),
    ['credit notes', money(-totals.credited_cents)],
    ['result', money(totals.result_cents)],
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return [
    `${month}, by the start of the billing period`,
    ...lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`),
    verificationText(reliability),
  ].join('\n');
}

const verificationText = ({ verification: { text, verdict } }: Reliability): string =>
  `verification: ${text}${verdict === 'verified' ? '' : ' "ledger verify" verifies all of the log now.'}`;
