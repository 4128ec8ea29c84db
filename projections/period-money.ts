import type { PoolClient } from 'pg';
import { periodOfUsageStream, usageStream } from '../src/domain/billing-period.ts';
import type { CreditNoteIssued, InvoiceEvent, InvoiceIssued, InvoiceLine } from '../src/domain/invoice-events.ts';
import { type ParsedEvent, parseInvoiceEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import { feeOf } from '../src/domain/plans.ts';
import type { UsageEvent, UsageEventOf } from '../src/domain/usage-events.ts';
import type { UsagePeriod } from '../src/domain/usage-state.ts';
import type { EventStore, RecordedEvent } from '../src/ports/event-store.ts';
import type { RebuildableProjection } from './runner/projection.ts';

/**
 * The read model of everybody's money: table `period_money`, one row per account and billing period, and `month_money`, the sums of
 * these rows by month and phase.
 *
 * A row has what its period costs, whichever document says so. A fee is invoiced with the period before it, and a credit note
 * may be issued months later: both count for the period that they are about. So what a period costs, less what is invoiced, is
 * what no document carries yet. A month is the one in which periods begin; each account has exactly one in each.
 */
export const periodMoney: RebuildableProjection = {
  name: 'period_money',
  tables: ['period_money', 'month_money'],
  streamPrefixes: ['usage-', 'invoices-'],
  start: ({ store }) => {
    const changesOf = moneyChanges(store);
    return async (events, client) => {
      const changes = new Map<string, Change>();
      for (const recorded of events) for (const change of await changesOf(recorded)) add(changes, change);
      if (changes.size > 0) await write([...changes.values()], client);
    };
  },
};

/** @returns a function that says what an event adds to the money of periods: nothing for most events */
export function moneyChanges(store: Pick<EventStore, 'read'>): (recorded: RecordedEvent) => Promise<Change[]> {
  const readInvoice = invoiceReader(store);
  return async (recorded) => {
    if (recorded.stream.startsWith('usage-')) return changesOfUsage(parseUsageEvent(recorded));
    return changesOfInvoice(parseInvoiceEvent(recorded), readInvoice);
  };
}

/** The counts of a billing period. */
export const moneyCounts = [
  // Downloads beyond the allowance, and their price.
  'charges',
  'charged_cents',
  'voided_cents',
  'waived_cents',
  // The fee at the opening of the period, and what upgrades have added to it.
  'fee_cents',
  'fee_difference_cents',
  // What invoices carry of each: overage less its waivers.
  'invoiced_overage_cents',
  'invoiced_fee_cents',
  'invoiced_fee_difference_cents',
  // What credit notes have given back of overage, and of fees with their differences.
  'credited_overage_cents',
  'credited_fee_cents',
  // Overage that no invoice carries: charges less voids, waivers and what is invoiced.
  'difference_cents',
] as const;
export type MoneyCounts = Record<(typeof moneyCounts)[number], number>;

/** The select list of the counts. @param alias of the table in the query */
export const moneyColumns = (alias: string): string => moneyCounts.map((name) => `${alias}.${name}::float8`).join(', ');

/** What the events of a batch change of one period. */
interface Change extends Partial<MoneyCounts> {
  account_id: string;
  period_start: string;
  plan?: string;
  phase?: UsagePeriod['phase'];
}

function add(changes: Map<string, Change>, change: Change): void {
  const key = `${change.account_id} ${change.period_start}`;
  const row = changes.get(key);
  if (!row) {
    changes.set(key, change);
    return;
  }
  for (const name of moneyCounts) {
    const more = change[name];
    if (more !== undefined) row[name] = (row[name] ?? 0) + more;
  }
  if (change.plan !== undefined) row.plan = change.plan;
  if (change.phase !== undefined) row.phase = change.phase;
}

type MoneyEvent = UsageEventOf<
  | 'UsagePeriodOpened'
  | 'OverageCharged'
  | 'DownloadVoided'
  | 'ChargeWaived'
  | 'PlanChanged'
  | 'SuspensionLifted'
  | 'UsagePeriodEnded'
  | 'UsagePeriodClosed'
>;

function changesOfUsage({ event, stream }: ParsedEvent<UsageEvent>): Change[] {
  const change = changeOf(event as MoneyEvent);
  if (!change) return [];
  const { accountId, start } = periodOfUsageStream(stream);
  return [{ account_id: accountId, period_start: start, ...change }];
}

/** @returns undefined for an event that changes no money */
function changeOf({ type, data }: MoneyEvent): Partial<Change> | undefined {
  switch (type) {
    case 'UsagePeriodOpened':
      return { phase: 'open', plan: data.terms.plan, fee_cents: feeOf(data.terms) };
    case 'OverageCharged':
      return { charges: 1, charged_cents: data.cents };
    case 'DownloadVoided':
      return { voided_cents: data.cents };
    case 'ChargeWaived':
      return { waived_cents: data.cents };
    case 'PlanChanged':
      if (data.effective !== 'now') return undefined;
      return { plan: data.terms.plan, fee_difference_cents: data.fee_difference_cents };
    case 'SuspensionLifted':
      return { fee_difference_cents: data.fee_difference_cents };
    case 'UsagePeriodEnded':
      return { phase: 'ended' };
    case 'UsagePeriodClosed':
      return { phase: 'closed' };
    default:
      return undefined;
  }
}

async function changesOfInvoice(parsed: ParsedEvent<InvoiceEvent>, readInvoice: InvoiceReader): Promise<Change[]> {
  const { event } = parsed;
  if (event.type === 'InvoiceIssued') return event.data.lines.map((line) => invoicedLine(event.data, line));
  if (event.type === 'CreditNoteIssued') return creditedLine(event.data, await readInvoice(parsed, event.data));
  return [];
}

/** The period that a line is about: a fee names its own. */
function periodOfLine({ account_id, period_start }: InvoiceIssued, line: InvoiceLine) {
  return { account_id, period_start: line.kind === 'fee' ? line.period_start : period_start };
}

function invoicedLine(invoice: InvoiceIssued, line: InvoiceLine): Change {
  const { cents } = line;
  const period = periodOfLine(invoice, line);
  switch (line.kind) {
    case 'fee':
      return { ...period, invoiced_fee_cents: cents };
    case 'fee_difference':
      return { ...period, invoiced_fee_difference_cents: cents };
    case 'overage':
    case 'waivers':
    case 'waiver':
      return { ...period, invoiced_overage_cents: cents };
  }
}

function creditedLine({ line: number, cents }: CreditNoteIssued, invoice: InvoiceIssued | undefined): Change[] {
  const line = invoice?.lines[number - 1];
  if (!invoice || !line) return [];
  const isFee = line.kind === 'fee' || line.kind === 'fee_difference';
  return [{ ...periodOfLine(invoice, line), [isFee ? 'credited_fee_cents' : 'credited_overage_cents']: cents }];
}

type InvoiceReader = (at: ParsedEvent, note: CreditNoteIssued) => Promise<InvoiceIssued | undefined>;

/**
 * An invoice stands before its credit notes in the same stream. The newest one that was asked for is remembered: a thousand notes
 * of one invoice would each read all those before it.
 */
function invoiceReader(store: Pick<EventStore, 'read'>): InvoiceReader {
  let known: { stream: string; invoice: InvoiceIssued } | undefined;
  return async ({ stream, revision }, { invoice_number: number }) => {
    if (known?.stream === stream && known.invoice.number === number) return known.invoice;
    for (const recorded of await store.read(stream, 0, revision)) {
      const { event } = parseInvoiceEvent(recorded);
      if (event.type !== 'InvoiceIssued' || event.data.number !== number) continue;
      known = { stream, invoice: event.data };
      return event.data;
    }
    return undefined;
  };
}

const differenceOf = ({ charged_cents = 0, voided_cents = 0, waived_cents = 0, invoiced_overage_cents = 0 }: Change) =>
  charged_cents - voided_cents - waived_cents - invoiced_overage_cents;

const listOf = (of: (name: keyof MoneyCounts) => string) => moneyCounts.map(of).join(', ');

/** Adds to the rows, and moves the sums of their months by what the rows were before and are now. A month has a sum of each phase. */
async function write(changes: readonly Change[], client: PoolClient): Promise<void> {
  const rows = changes.map((change) => ({
    ...change,
    difference_cents: differenceOf(change),
    month: change.period_start.slice(0, 7),
    stream: usageStream(change.account_id, { start: change.period_start }),
  }));
  await client.query({
    name: 'write-period-money',
    text: `with change as materialized (
       select * from json_populate_recordset(null::period_money, $1::json)
     ), before as materialized (
       select p.* from period_money p join change using (account_id, period_start)
     ), now as (
       insert into period_money as p (account_id, period_start, month, stream, plan, phase, ${listOf(String)})
       select account_id, period_start, month, stream, coalesce(plan, ''), coalesce(phase, 'open'),
              ${listOf((name) => `coalesce(${name}, 0)`)}
       from change
       on conflict (account_id, period_start) do update
       set plan = coalesce(nullif(excluded.plan, ''), p.plan),
           phase = case excluded.phase when 'open' then p.phase else excluded.phase end,
           ${listOf((name) => `${name} = p.${name} + excluded.${name}`)}
       returning month, phase, ${listOf(String)}
     ), moved as (
       select month, phase, 1 as periods, ${listOf(String)} from now
       union all
       select month, phase, -1, ${listOf((name) => `-${name}`)} from before
       union all
       select distinct month, each, 0, ${listOf(() => '0')} from now, unnest(array['open', 'ended', 'closed']) each
     )
     insert into month_money as m (month, phase, periods, ${listOf(String)})
     select month, phase, sum(periods), ${listOf((name) => `sum(${name})`)} from moved group by month, phase
     on conflict (month, phase) do update
     set periods = m.periods + excluded.periods, ${listOf((name) => `${name} = m.${name} + excluded.${name}`)}`,
    values: [JSON.stringify(rows)],
  });
}
