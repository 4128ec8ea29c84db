import { z } from 'zod';
import { type JobRow, readJob } from '../../../../projections/jobs.ts';
import { readCharges } from '../../../commands/change-charge.ts';
import { readChargeCredit } from '../../../commands/issue-credit-note.ts';
import type { Correction } from '../../../domain/correction-events.ts';
import { isRefused } from '../../../domain/refusals.ts';
import type { EventStore } from '../../../ports/event-store.ts';
import { missing } from '../../visit.ts';
import type { View } from '../view.ts';

export interface ChargeLeft {
  token: string;
  account_id: string;
  platform: string;
  queued_at: string;
  /** Usage stream of the charge. */
  stream: string;
  /** Of the charge in its stream. */
  revision: number;
  charge_event_id: string | null;
  /** 0 for a credit of the plan. */
  charged_cents: number;
  /** What may still be given back. */
  left_cents: number;
  /** Of the billing period of the charge. */
  books: 'open' | 'closed';
  /** How it is given back: a waiver as long as the books are open, then a credit note. Null: not at all. */
  by: 'waiver' | 'credit_note' | null;
  why_not: 'credit' | 'voided' | 'given_back' | 'not_invoiced' | null;
  /** The invoice that a credit note corrects. */
  invoice_number: number | null;
  line: number | null;
}

/** The charge of a download, and what is left of it: from the log, because money is given back of it. */
export const charge: View<{ token: string }, ChargeLeft> = {
  input: z.object({ token: z.string().max(100) }),
  read: async ({ pool, staff: { store } }, { token }) => {
    const job = await readJob(pool, token);
    if (!job) throw missing();
    return await readLeft(store, job);
  },
  accessRecords: ({ account_id: accountId, token }) => [{ accountId, token, page: 'download' }],
};

const nothing = { by: null, why_not: null, invoice_number: null, line: null } as const;

async function readLeft(store: EventStore, job: JobRow): Promise<ChargeLeft> {
  const { token, account_id: accountId, platform, queued_at, usage_stream: stream } = job;
  // Right before its DownloadQueued.
  const revision = job.usage_revision - 1;
  const { charges, closed } = await readCharges(store, stream, revision);
  const found = charges.get(token);
  const about = {
    token,
    account_id: accountId,
    platform,
    queued_at,
    stream,
    revision,
    charge_event_id: found?.eventId ?? null,
    charged_cents: job.cents ?? found?.cents ?? 0,
    left_cents: found?.cents ?? 0,
    books: closed ? ('closed' as const) : ('open' as const),
  };
  if (found?.type !== 'OverageCharged') return { ...about, ...nothing, why_not: 'credit' };
  if (found.voided) return { ...about, ...nothing, why_not: 'voided' };
  if (found.cents === 0) return { ...about, ...nothing, why_not: 'given_back' };
  if (!closed) return { ...about, ...nothing, by: 'waiver' };
  const credit = await readChargeCredit(store, { accountId, stream, chargeEventId: found.eventId });
  if (isRefused(credit)) return { ...about, ...nothing, why_not: 'not_invoiced' };
  const { invoiceNumber: invoice_number, line } = credit;
  if (credit.cents <= 0) return { ...about, ...nothing, left_cents: 0, why_not: 'given_back', invoice_number, line };
  return { ...about, ...nothing, left_cents: credit.cents, by: 'credit_note', invoice_number, line };
}

/** What a form about this charge asks for; undefined if nothing can be given back. */
export function correctionOf({ by, stream, token, revision, ...charged }: ChargeLeft): Correction | undefined {
  const { invoice_number, line, charge_event_id } = charged;
  if (by === 'waiver') return { kind: 'waive_charge', stream, token, revision };
  if (by === null || invoice_number === null || line === null) return undefined;
  return { kind: 'credit_line', invoice_number, line, charge_event_id };
}
