import { ledgerRow, overageLedger, readLedger } from '../../projections/overage-ledger.ts';
import type { LedgerRow } from '../../projections/overage-ledger.ts';
import { readNewestCredits } from '../../projections/credits.ts';
import { waitForCheckpoint } from '../../projections/progress.ts';
import { readAccount } from '../commands/accounts.ts';
import type { RecordedEvent } from '../commands/ports.ts';
import { usageStream } from '../domain/billing-period.ts';
import { formatCents } from '../domain/money.ts';
import { parseUsageEvent } from '../domain/recorded-event.ts';
import { projectionTimeoutMs } from './accounts.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, print, table } from './output.ts';

/**
 * Every charge of a billing period, as the read model has it, and whether that is what the log has: both are read up to the
 * same position, and must agree in number, in sum and row by row.
 *
 * @param period day on which the billing period starts, YYYY-MM-DD; without it, the newest one
 */
export async function ledgerCommand(
  cli: CliDependencies,
  accountId: string,
  { period }: { period?: string },
): Promise<void> {
  const { periodStart, events } = await readPeriod(cli, accountId, period);
  const end = events.at(-1)?.position ?? 0n;
  const reached = await waitForCheckpoint(cli.pool, overageLedger.name, {
    position: end,
    timeoutMs: projectionTimeoutMs,
  });
  const behind = reached < end;
  const upTo = behind ? reached : end;
  const rows = await readLedger(cli.pool, { accountId, periodStart, upTo });
  const charged = events.flatMap((event) => ledgerRow(parseUsageEvent(event)) ?? []);
  const due = charged.filter(({ position }) => BigInt(position) <= upTo);
  const data = {
    account_id: accountId,
    period_start: periodStart,
    total_cents: sumOf(rows),
    rows,
    log: { total_cents: sumOf(charged), charges: charged.length },
    behind,
  };
  const difference = firstDifference(rows, due);
  const agrees = difference === undefined && !behind;
  print(cli.output, data, `${describe(rows)}${agrees ? ', as in the log' : ''}`);
  if (difference !== undefined) {
    throw new CommandFailed(
      `the ledger has ${chargesOf(rows)}, but up to the same position the log has ${chargesOf(due)}: ${difference}`,
    );
  }
  if (behind) {
    throw new CommandFailed(
      `the ledger is behind the log, which has ${chargesOf(charged)} by now: the projector is behind or away`,
      2,
    );
  }
}

/** The usage stream of the period asked for, or of the newest one, as the log has it. */
async function readPeriod(
  { store, pool }: CliDependencies,
  accountId: string,
  period: string | undefined,
): Promise<{ periodStart: string; events: RecordedEvent[] }> {
  if (period !== undefined) {
    const periodStart = `${period}T00:00:00.000Z`;
    const events = await store.read(usageStream(accountId, { start: periodStart }), 0);
    if (events.length === 0) throw new CommandFailed(`${accountId} has no billing period that starts on ${period}`);
    return { periodStart, events };
  }
  const row = await readNewestCredits(pool, accountId);
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
  return event.type === 'UsagePeriodEnded' ? [event.data.next.period_start] : [];
}

const sumOf = (rows: readonly LedgerRow[]) => rows.reduce((sum, { cents }) => sum + cents, 0);

const chargesOf = (rows: readonly LedgerRow[]) => `${String(rows.length)} charges, ${formatCents(sumOf(rows))} in all`;

function firstDifference(rows: readonly LedgerRow[], logged: readonly LedgerRow[]): string | undefined {
  const recorded = new Map(rows.map((row) => [row.event_id, row]));
  const wrong = logged.find((charge) => !isSame(charge, recorded.get(charge.event_id)));
  if (wrong) {
    const how = recorded.has(wrong.event_id) ? 'is another one in the ledger' : 'is not in the ledger';
    return `event ${String(wrong.revision)} of ${wrong.stream} ${how}`;
  }
  const known = new Set(logged.map(({ event_id: id }) => id));
  const surplus = rows.find(({ event_id: id }) => !known.has(id));
  return surplus && `event ${surplus.event_id} of the ledger is not in the log`;
}

function isSame(charge: LedgerRow, row: LedgerRow | undefined): boolean {
  const names = Object.keys(charge) as (keyof LedgerRow)[];
  return row !== undefined && names.every((name) => JSON.stringify(charge[name]) === JSON.stringify(row[name]));
}

function describe(rows: readonly LedgerRow[]): string {
  const lines = rows.map((row) => [
    row.time,
    row.type,
    row.token ?? row.lookup_id ?? '',
    row.event_id,
    row.stream,
    String(row.revision),
    row.rate_cents === null ? '-' : `${formatCents(row.rate_cents)} (${row.rate_version ?? ''})`,
    formatCents(row.cents),
  ]);
  const head = ['time', 'type', 'for', 'event', 'stream', 'revision', 'rate', 'charge'];
  return `${table(head, lines)}\n\n${chargesOf(rows)}`;
}
