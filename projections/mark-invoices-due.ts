import type { PoolClient } from 'pg';
import type { InvoiceEvent } from '../src/domain/invoice-events.ts';
import type { ParsedEvent } from '../src/domain/parse-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';
import { owesInvoice, owesOpeningInvoice } from '../src/domain/usage-periods.ts';
import { readCreditsWritten } from './credits.ts';

/** The invoices that are due: two columns of `credits`, so that no invoice is ever forgotten. */

interface Change {
  account_id: string;
  period_start: string;
  opening_invoice_due?: boolean;
  period_invoice_due?: boolean;
}

/**
 * Called after the rows of `credits` were updated with the same events. An invoice is in the log after the event that makes it
 * due, so it clears a mark in the rows or one that was set here.
 */
export async function applyToInvoicesDue(
  { usage, invoices }: { usage: readonly ParsedEvent<UsageEvent>[]; invoices: readonly ParsedEvent<InvoiceEvent>[] },
  client: PoolClient,
): Promise<void> {
  const closed = usage.filter(({ event }) => event.type === 'UsagePeriodClosed').map(({ stream }) => stream);
  const owed = closed.length > 0 ? await closedDue(closed, client) : [];
  const changes = [...usage.flatMap(openingDue), ...owed, ...invoices.flatMap(issued)];
  if (changes.length > 0) await setDue(changes, client);
}

function openingDue({ event: { type, data } }: ParsedEvent<UsageEvent>): Change[] {
  if (type !== 'UsagePeriodOpened' || !owesOpeningInvoice(data)) return [];
  const { account_id, period_start } = data;
  return [{ account_id, period_start, opening_invoice_due: true }];
}

/** From the rows, which have the state of the close by now. */
async function closedDue(streams: readonly string[], client: PoolClient): Promise<Change[]> {
  const snapshots = await readCreditsWritten(client, streams);
  return snapshots.flatMap(({ usage }) => {
    if (usage.phase === 'absent' || !owesInvoice(usage)) return [];
    return [{ account_id: usage.accountId, period_start: usage.period.start, period_invoice_due: true }];
  });
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

/** If a batch makes an invoice due and issues it, the invoice is the later change. */
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
