import type { Pool } from 'pg';
import { isUnclosedLast, lastEndSql } from './unclosed-periods.ts';

/** The work of the dispatcher's calendar, from the read model. */

/** One billing period of an account. */
export interface DuePeriod {
  account_id: string;
  /** Its usage stream. */
  stream: string;
}

export interface DueInvoices extends DuePeriod {
  opening_invoice_due: boolean;
  period_invoice_due: boolean;
}

interface Wanted {
  /** Streams that failed a short time ago. */
  except: readonly string[];
  limit: number;
}

/** Periods whose time is over without a current one: they are still open, or have ended and the next was not opened. */
export async function listPeriodsToRollOver(
  pool: Pool,
  { now, except, limit }: Wanted & { now: string },
): Promise<DuePeriod[]> {
  const { rows } = await pool.query<DuePeriod>(
    `select account_id, stream from credits c
     where phase <> 'closed' and period_end <= $1 and stream <> all($2)
       and (phase = 'open' or not ${hasNext('c')} and not ${isUnclosedLast('c')})
     order by period_end, account_id limit $3`,
    [now, except, limit],
  );
  return rows;
}

/**
 * The first ended period of each account that is not closed. Periods are closed in the order of time, and only after everything
 * earlier is invoiced, so the numbers of invoices follow the periods. An account's last one also waits for the second step of its
 * closing (`listAccountsToClose`).
 *
 * @param endedBefore UTC ISO-8601; a period that ends later is left alone, unless its account was closed with it: its own event
 *   says when it ended
 */
export async function listPeriodsToClose(
  pool: Pool,
  { endedBefore, except, limit }: Wanted & { endedBefore: string },
): Promise<DuePeriod[]> {
  const { rows } = await pool.query<DuePeriod>(
    `select account_id, stream from credits c
     where phase = 'ended' and stream <> all($2) and not opening_invoice_due
       and (period_end <= $1 and ${hasNext('c')} or ${isUnclosedLast('c')} and not ${isClosingOpen('c')})
       and not exists (
         select from credits e where e.account_id = c.account_id and e.period_start < c.period_start
           and (e.phase <> 'closed' or e.opening_invoice_due or e.period_invoice_due))
     order by period_end, account_id limit $3`,
    [endedBefore, except, limit],
  );
  return rows;
}

/** Periods whose charges may still change after their end, and the earliest time of their closing. */
export async function listPeriodsInGrace(
  pool: Pool,
  { now, graceSeconds }: { now: string; graceSeconds: number },
): Promise<{ stream: string; until: string }[]> {
  const { rows } = await pool.query<{ stream: string; ended: string }>(
    `select stream, ended from (
       select stream, period_end as ended from credits c
       where phase = 'ended' and period_end <= $1::timestamptz and not ${isUnclosedLast('c')}
       union all
       select stream, ${lastEndSql('c')} from credits c where ${isUnclosedLast('c')}
     ) p where ended > $1::timestamptz - $2 * interval '1 second' order by ended, stream`,
    [now, graceSeconds],
  );
  return rows.map(({ stream, ended: end }) => ({
    stream,
    until: new Date(Date.parse(end) + graceSeconds * 1_000).toISOString(),
  }));
}

/** Periods with an invoice due, those of one account in the order of time. */
export async function listInvoicesDue(pool: Pool, { except, limit }: Wanted): Promise<DueInvoices[]> {
  const { rows } = await pool.query<DueInvoices>(
    `select account_id, stream, opening_invoice_due, period_invoice_due from credits c
     where (opening_invoice_due or period_invoice_due) and stream <> all($1)
     order by period_start, account_id limit $2`,
    [except, limit],
  );
  return rows;
}

/** Last periods of accounts whose keys are not revoked yet: a crash has interrupted their closing. */
export async function listAccountsToClose(pool: Pool, { except, limit }: Wanted): Promise<DuePeriod[]> {
  const { rows } = await pool.query<DuePeriod>(
    `select account_id, stream from credits c
     where ${isUnclosedLast('c')} and stream <> all($1) and ${isClosingOpen('c')}
     order by account_id limit $2`,
    [except, limit],
  );
  return rows;
}

const isClosingOpen = (alias: string) =>
  `exists (select from account_heads h where h.account_id = ${alias}.account_id and not h.closed)`;

const hasNext = (alias: string) =>
  `exists (select from credits n where n.account_id = ${alias}.account_id and n.period_start = ${alias}.period_end)`;

/** For gauges: the number of periods past their end that are not closed, every last one of an account included, and of invoices due. */
export async function countDue(pool: Pool, now: string): Promise<{ notClosed: number; invoices: number }> {
  const { rows } = await pool.query<{ not_closed: number; invoices: number }>(
    `select (select count(*)::int from credits c where phase <> 'closed' and period_end <= $1 and not ${isUnclosedLast('c')}) +
            (select count(*)::int from credits c where ${isUnclosedLast('c')}) as not_closed,
            (select count(*)::int from credits where opening_invoice_due or period_invoice_due) as invoices`,
    [now],
  );
  return { notClosed: rows[0]?.not_closed ?? 0, invoices: rows[0]?.invoices ?? 0 };
}
