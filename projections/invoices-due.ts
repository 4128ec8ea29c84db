import type { PoolClient } from 'pg';
import type { InvoiceEvent } from '../src/domain/invoice-events.ts';
import type { ParsedEvent } from '../src/domain/recorded-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';

/** Which periods have to be invoiced and are not: two columns of `credits`, so that no invoice is ever forgotten. */

interface Change {
  account_id: string;
  period_start: string;
  opening_invoice_due?: boolean;
  period_invoice_due?: boolean;
}

/**
 * After the rows of `credits` have been brought up to date with the same events. An invoice comes behind what it is for in the
 * log, so that it clears what stands in the rows or was set here.
 */
export async function applyToInvoicesDue(
  { usage, invoices }: { usage: readonly ParsedEvent<UsageEvent>[]; invoices: readonly ParsedEvent<InvoiceEvent>[] },
  client: PoolClient,
): Promise<void> {
  const closed = usage.filter(({ event }) => event.type === 'UsagePeriodClosed').map(({ stream }) => stream);
  if (closed.length > 0) await setClosedDue(closed, client);
  const changes = [...usage.flatMap(openingDue), ...invoices.flatMap(issued)];
  if (changes.length > 0) await setDue(changes, client);
}

/** The first fee is due when an account's first period opens. */
function openingDue({ event: { type, data } }: ParsedEvent<UsageEvent>): Change[] {
  if (type !== 'UsagePeriodOpened' || data.previous_period_start !== null || data.terms.fee_cents === 0) return [];
  const { account_id, period_start } = data;
  return [{ account_id, period_start, opening_invoice_due: true }];
}

/** What a period's invoice comes to: its overage, what upgrades added to its fee, and the fee of the next. */
async function setClosedDue(streams: readonly string[], client: PoolClient): Promise<void> {
  await client.query(
    `update credits
     set period_invoice_due = overage_cents + fee_difference_cents + (next->'terms'->>'fee_cents')::bigint > 0
     where stream = any($1)`,
    [streams],
  );
}

function issued({ event: { type, data } }: ParsedEvent<InvoiceEvent>): Change[] {
  if (type !== 'InvoiceIssued') return [];
  const { account_id, period_start, covers } = data;
  return [
    {
      account_id,
      period_start,
      ...(covers === 'opening' ? { opening_invoice_due: false } : { period_invoice_due: false }),
    },
  ];
}

/** Of two changes of one period, the invoice is the later one: it clears. */
async function setDue(changes: readonly Change[], client: PoolClient): Promise<void> {
  await client.query(
    `update credits c
     set opening_invoice_due = coalesce(n.opening, c.opening_invoice_due),
         period_invoice_due = coalesce(n.period, c.period_invoice_due)
     from (select account_id, period_start, bool_and(opening_invoice_due) as opening, bool_and(period_invoice_due) as period
           from jsonb_populate_recordset(null::credits, $1) group by account_id, period_start) n
     where c.account_id = n.account_id and c.period_start = n.period_start`,
    [JSON.stringify(changes)],
  );
}
