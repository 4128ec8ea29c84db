import type { Command } from 'commander';
import { readNewestCredits } from '../../../projections/credits.ts';
import { notBelieved } from '../../../projections/credits-macs.ts';
import { type LedgerRow, ledgerRow, overageLedger, readLedger } from '../../../projections/overage-ledger.ts';
import { waitForCheckpoint } from '../../../projections/runner/wait-for-checkpoint.ts';
import { readAccount } from '../../commands/accounts.ts';
import { usageStream } from '../../domain/billing-period.ts';
import { formatCents } from '../../domain/cents.ts';
import { parseUsageEvent } from '../../domain/parse-event.ts';
import type { RecordedEvent } from '../../ports/event-store.ts';
import { accountIdArgument, dayArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { type Columns, CommandFailed, type Output, print, rowsText } from '../output.ts';
import { untilShown } from '../wait-for-read-models.ts';

export function addShowLedger(ledger: Command, run: RunCommand): void {
  ledger
    .command('show')
    .description('show every charge of a billing period with its event, and compare it with the log')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--period <day>', 'day on which the period starts, YYYY-MM-DD (default: the newest period)', dayArgument)
    .action((account: string, options: { period?: string }) => run((cli) => ledgerCommand(cli, account, options)));
}

/**
 * Every charge of a billing period, as the read model has it, and whether that is what the log has: both are read up to the
 * same position, and must agree in number, in sum and row by row.
 *
 * @param period day on which the billing period starts, YYYY-MM-DD; without it, the newest one
 */
async function ledgerCommand(cli: CliDependencies, accountId: string, { period }: { period?: string }): Promise<void> {
  const { periodStart, events } = await readPeriod(cli, accountId, period);
  const end = events.at(-1)?.position ?? 0n;
  let reached = 0n;
  await untilShown(cli, async (timeoutMs) => {
    reached = await waitForCheckpoint(cli, overageLedger.name, { position: end, timeoutMs });
    return reached >= end;
  });
  const behind = reached < end;
  const upTo = behind ? reached : end;
  const rows = await readLedger(cli.pool, { accountId, periodStart, upTo });
  const charged = events.flatMap((event) => ledgerRow(parseUsageEvent(event)) ?? []);
  const due = charged.filter(({ position }) => BigInt(position) <= upTo);
  const [shown, logged] = [LedgerTotals.of(rows), LedgerTotals.of(charged)];
  const data = {
    account_id: accountId,
    period_start: periodStart,
    total_cents: shown.data.total_cents,
    rows,
    log: logged.data,
    behind,
  };
  const difference = firstDifference(rows, due);
  const agrees = difference === undefined && !behind;
  print(cli.output, data, `${describe(cli.output, rows)}${agrees ? ', as in the log' : ''}`);
  if (difference !== undefined) {
    throw new CommandFailed(
      `the ledger has ${shown.text}, but up to the same position the log has ${LedgerTotals.of(due).text}: ${difference}`,
    );
  }
  if (behind) {
    throw new CommandFailed(
      `the ledger is behind the log, which has ${logged.text} now: the projector is behind or away`,
      2,
    );
  }
}

/** The usage stream of the period asked for, or of the newest one, as the log has it. */
async function readPeriod(
  { store, pool, macs }: CliDependencies,
  accountId: string,
  period: string | undefined,
): Promise<{ periodStart: string; events: RecordedEvent[] }> {
  if (period !== undefined) {
    const periodStart = `${period}T00:00:00.000Z`;
    const events = await store.read(usageStream(accountId, { start: periodStart }), 0);
    if (events.length === 0) throw new CommandFailed(`${accountId} has no billing period that starts on ${period}`);
    return { periodStart, events };
  }
  const newest = await readNewestCredits(pool, accountId, macs);
  const row = newest === notBelieved ? undefined : newest;
  const opened = row ? undefined : (await readAccount(store, accountId)).opened;
  let periodStart = row && row.usage.phase !== 'absent' ? row.usage.period.start : opened?.period_start;
  if (periodStart === undefined) throw new CommandFailed(`there is no account ${accountId}`);
  let events = await store.read(usageStream(accountId, { start: periodStart }), 0);
  for (;;) {
    const nextStart = events.map(parseUsageEvent).flatMap(({ event }) => nextPeriodStart(event))[0];
    const next = nextStart === undefined ? [] : await store.read(usageStream(accountId, { start: nextStart }), 0);
    if (nextStart === undefined || next.length === 0) return { periodStart, events };
    [periodStart, events] = [nextStart, next];
  }
}

function nextPeriodStart(event: ReturnType<typeof parseUsageEvent>['event']): string[] {
  return event.type === 'UsagePeriodEnded' && event.data.next ? [event.data.next.period_start] : [];
}

/** Counts rows of the ledger: what was charged, less what was given back. */
export class LedgerTotals {
  #charges = 0;
  #corrections = 0;
  #cents = 0;

  static of(rows: readonly LedgerRow[]): LedgerTotals {
    const totals = new LedgerTotals();
    for (const row of rows) totals.add(row);
    return totals;
  }

  add({ corrects, cents }: LedgerRow): void {
    if (corrects === null) this.#charges += 1;
    else this.#corrections += 1;
    this.#cents += cents;
  }

  get data() {
    return { total_cents: this.#cents, charges: this.#charges, corrections: this.#corrections };
  }

  get text(): string {
    const counted = (count: number, what: string) => `${String(count)} ${what}${count === 1 ? '' : 's'}`;
    const corrections = this.#corrections === 0 ? '' : ` and ${counted(this.#corrections, 'correction')}`;
    return `${counted(this.#charges, 'charge')}${corrections}, ${formatCents(this.#cents)} in all`;
  }
}

/**
 * In words, what is wrong with a row of the ledger that stands where the log has a charge: both are in the order of the log.
 *
 * @returns undefined where they agree
 */
export function differenceBetween(row: LedgerRow | undefined, charge: LedgerRow | undefined): string | undefined {
  if (charge && (!row || BigInt(charge.position) < BigInt(row.position))) {
    return `event ${String(charge.revision)} of ${charge.stream} is not in the ledger`;
  }
  if (!row || !charge) return row && `event ${row.event_id} of the ledger is not in the log`;
  if (row.event_id !== charge.event_id) return `event ${row.event_id} of the ledger is not in the log`;
  const names = Object.keys(charge) as (keyof LedgerRow)[];
  const isSame = names.every((name) => JSON.stringify(charge[name]) === JSON.stringify(row[name]));
  return isSame ? undefined : `event ${String(charge.revision)} of ${charge.stream} differs in the ledger`;
}

function firstDifference(rows: readonly LedgerRow[], logged: readonly LedgerRow[]): string | undefined {
  for (let index = 0; index < Math.max(rows.length, logged.length); index += 1) {
    const difference = differenceBetween(rows[index], logged[index]);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function describe(output: Output, rows: readonly LedgerRow[]): string {
  const hasCorrections = rows.some(({ corrects }) => corrects !== null);
  const more: Columns<LedgerRow> = hasCorrections ? { corrects: 'corrects', reference: 'reference' } : {};
  return `${rowsText(output, { ...columns, ...more }, rows)}\n\n${LedgerTotals.of(rows).text}`;
}

const columns: Columns<LedgerRow> = {
  time: 'time',
  type: 'type',
  for: ({ token, lookup_id: lookupId }) => token ?? lookupId ?? '',
  event: 'event_id',
  stream: 'stream',
  revision: 'revision',
  rate: ({ rate_cents: cents, rate_version: version }) =>
    cents === null ? '-' : `${formatCents(cents)} (${version ?? ''})`,
  charge: 'cents',
};
