import { z } from 'zod';
import { listWaitingCorrectionsOf } from '../../../../projections/corrections.ts';
import { readJob } from '../../../../projections/jobs.ts';
import { readChargesAt } from '../../../../projections/queries/period-charges.ts';
import { readChargesOf } from '../../../commands/what-is-left.ts';
import { usageStream } from '../../../domain/billing-period.ts';
import { maxChargesOfCorrection } from '../../../domain/correction-events.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { missing } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import type { View } from '../view.ts';
import { chargeRowOf, periodInput } from './charges.ts';
import { waitingOf } from './waiting-corrections.ts';

/** Charges of one period, and what may still be given back of each: from the log, because money is given back of them. */

export type ChargesLeft = Awaited<ReturnType<typeof readChargesLeftAt>>;
export type ChargeLeft = ChargesLeft['charges'][number];

async function readChargesLeftAt(
  { pool, store }: StaffDependencies,
  { accountId, stream, revisions }: { accountId: string; stream: string; revisions: readonly number[] },
) {
  const rows = (await readChargesAt(pool, { accountId, stream, revisions })).map(chargeRowOf);
  const listed = rows.flatMap((row) => (row.token === null ? [] : [{ ...row, token: row.token }]));
  const tokens = listed.map(({ token }) => token);
  const waiting = waitingOf(await listWaitingCorrectionsOf(pool, { accountId, tokens }), tokens);
  const about = { account_id: accountId, stream, waiting_corrections: waiting };
  if (listed.length === 0) return { ...about, way: 'none' as const, charges: [] };
  const left = await readChargesOf(store, { accountId, stream, charges: listed });
  if (isRefused(left))
    return { ...about, way: 'not_invoiced' as const, charges: listed.map((row) => ({ row, left_cents: 0 })) };
  return {
    ...about,
    /** A waiver gives back as long as the books of the period are open, then a credit note. */
    way: left.isClosed ? ('credit_note' as const) : ('waiver' as const),
    charges: listed.map((row, index) => ({ row, left_cents: left.charges[index]?.leftCents ?? 0 })),
  };
}

/** The charge of one download. */
export const chargeOfDownload: View<{ token: string }, ChargesLeft & { token: string }> = {
  input: z.object({ token: z.string().max(100) }),
  read: async (dependencies, { token }) => {
    const job = await readJob(dependencies.pool, token);
    if (!job) throw missing();
    const { account_id: accountId, usage_stream: stream, usage_revision: queued } = job;
    // The charge stands right before its DownloadQueued.
    return { token, ...(await readChargesLeftAt(dependencies, { accountId, stream, revisions: [queued - 1] })) };
  },
  accessRecords: ({ account_id: accountId, token }) => [{ accountId, token, page: 'download' }],
  named: (shown) => [shown],
};

const revision = z
  .string()
  .regex(/^\d{1,9}$/, 'is no charge')
  .transform(Number);

const ticked = periodInput.extend({
  charge: z
    .array(revision)
    .min(1, 'Tick the charges that are to be given back first.')
    .max(maxChargesOfCorrection, `at most ${String(maxChargesOfCorrection)} charges are given back at once`),
});

/** Charges that somebody has ticked in the list of a period, by their revisions. */
export const tickedCharges: View<z.infer<typeof ticked>, ChargesLeft> = {
  input: ticked,
  read: async (dependencies, { account: accountId, day, charge: revisions }) => {
    const stream = usageStream(accountId, { start: `${day}T00:00:00.000Z` });
    const shown = await readChargesLeftAt(dependencies, { accountId, stream, revisions });
    if (shown.charges.length < new Set(revisions).size) throw missing();
    return shown;
  },
  accessRecords: ({ account_id: accountId }) => [{ accountId, token: null, page: 'downloads' }],
  named: (shown) => [shown],
};
