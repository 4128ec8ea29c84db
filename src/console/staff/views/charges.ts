import type { PoolClient } from 'pg';
import { z } from 'zod';
import { downloadSearchOf } from '../../../../projections/queries/account-downloads.ts';
import { listMoneyEvents, type MoneyEvent } from '../../../../projections/queries/money-events.ts';
import { listPeriodMoney } from '../../../../projections/queries/overage-table.ts';
import {
  exportPeriodCharges,
  listPeriodCharges,
  type PeriodCharge,
} from '../../../../projections/queries/period-charges.ts';
import { inSnapshot } from '../../../../projections/runner/transaction.ts';
import { accountId } from '../../../domain/account-events.ts';
import { jobStatuses } from '../../../domain/download-job.ts';
import { missing } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { eachShown, type JsonView } from '../view.ts';
import { type OverageRow, overageRow, overageRowOf } from './overage.ts';

/** The charges and corrections of one account and billing period, in the order of the log. */

const rowsPerPage = 200;

const input = z.object({
  account: accountId,
  day: z.iso.date('is not a day such as 2026-11-24').describe('First day of the billing period, in UTC.'),
  only: z.enum(['charges', 'corrections']).optional().describe('Only a part of the rows; default: both.'),
  job: z.enum(jobStatuses).optional().describe('Only those of downloads in this state.'),
  search: z
    .string()
    .trim()
    .max(2_048, 'is too long')
    .optional()
    .describe('Only those of the download with this token, or of the video with this address or id.'),
  on: z.iso.date('is not a day such as 2026-11-24').optional().describe('Only those of this day, in UTC.'),
  after: z
    .string()
    .regex(/^\d{1,20}$/, 'is not the end of a page')
    .optional()
    .describe('`next` of the page before.'),
});
export type ChargesInput = z.infer<typeof input>;
export const periodInput = input.pick({ account: true, day: true });

export const chargeRow = z.strictObject({
  time: z.iso.datetime(),
  type: z.string().describe('Type of the event.'),
  event_id: z.string(),
  token: z.string().nullable().describe('The download.'),
  platform: z.string().nullable(),
  video_id: z.string().nullable(),
  url: z.string().nullable().describe('Canonical address of the video.'),
  job_status: z.enum(jobStatuses).nullable().describe('State of the download.'),
  failure_reason: z.string().nullable().describe('Why the download has failed.'),
  ordinal: z.int().nullable().describe('Number of the download in its period; null for a correction.'),
  cents: z.int().describe('Negative for a correction.'),
  rate_cents: z.int().nullable(),
  rate_version: z.string().nullable().describe('The price list that the rate is of.'),
  running_cents: z
    .int()
    .nullable()
    .describe('Overage of the period directly after the event; null where only a part of the rows is asked for.'),
  voided_cents: z
    .int()
    .describe('What was given back of a charge because its outcome was unknown; 0 for a correction.'),
  waived_cents: z.int().describe('What was given back of a charge before the books were closed.'),
  credited_cents: z.int().describe('What credit notes have given back of a charge.'),
  reference: z.string().nullable().describe('Case or ticket of a waiver.'),
  corrects: z.string().nullable().describe('Event id of the corrected charge.'),
  actor_type: z.string(),
  actor_id: z.string(),
  actor_role: z.string().nullable(),
  actor_reason: z.string().nullable(),
  request_id: z.string(),
  stream: z.string(),
  revision: z.int(),
});
export type ChargeRow = z.infer<typeof chargeRow>;

const shown = z.strictObject({
  period: overageRow,
  rows: z.array(chargeRow),
  next: z.string().nullable().describe('Where the next page begins; null at the end.'),
});
export type Charges = z.infer<typeof shown>;

export const charges: JsonView<ChargesInput, Charges> = {
  operationId: 'listCharges',
  summary: 'Charges and corrections of one account and billing period',
  input,
  shown,
  read: (dependencies, { after, ...given }) =>
    inSnapshot(dependencies.pool, async (client) => {
      const period = await readPeriod(client, given);
      const of = ofPeriod(period, given, dependencies);
      const { rows, next } = await listPeriodCharges(client, { ...of, after, limit: rowsPerPage });
      return { period, rows: rows.map(chargeRowOf), next: next ?? null };
    }),
  // The videos are what somebody downloaded.
  accessRecords: accessRecordsOf,
  named: ({ period }) => [period],
};

/** All rows that the view shows page by page. */
export const exportCharges = {
  input,
  accessRecords: accessRecordsOf,
  named: ({ period }: { period: OverageRow }) => [period],
  read: async (dependencies: StaffDependencies, given: ChargesInput) => {
    const period = await readPeriod(dependencies.pool, given);
    const of = ofPeriod(period, given, dependencies);
    return {
      period,
      fileName: `overage-${nameOf(period)}`,
      columns: Object.keys(chargeRow.shape),
      about: { of: given.only ?? 'charges and corrections', period },
      rows: () => eachShown(exportPeriodCharges(dependencies.exportPool, of), chargeRowOf),
    };
  },
};

const eventsAtOnce = 500;

/** Every event behind every sum of the period, read from the log itself: fees, charges, corrections, invoices and credit notes. */
export const exportMoneyEvents = {
  input: periodInput,
  named: ({ period }: { period: OverageRow }) => [period],
  read: async ({ pool, store }: StaffDependencies, given: Pick<ChargesInput, 'account' | 'day'>) => {
    const period = await readPeriod(pool, given);
    return {
      period,
      fileName: `events-${nameOf(period)}`,
      columns: ['sum', 'amount', 'type', 'stream', 'revision', 'event_id', 'time'],
      about: { of: 'events behind the sums', period },
      rows: () => eventsOf(listMoneyEvents(store, period)),
    };
  },
};

const nameOf = ({ account_id: accountId, period_start: start }: OverageRow) => `${accountId}-${start.slice(0, 10)}`;

/** Each says the sum of the period that it is a part of. */
async function* eventsOf(events: AsyncGenerator<MoneyEvent>) {
  let page: (Omit<MoneyEvent, 'name'> & { sum: MoneyEvent['name'] })[] = [];
  for await (const { name, ...event } of events) {
    page.push({ sum: name, ...event });
    if (page.length < eventsAtOnce) continue;
    yield page;
    page = [];
  }
  yield page;
}

function accessRecordsOf({ period }: { period: OverageRow }) {
  return [{ accountId: period.account_id, token: null, page: 'downloads' as const }];
}

async function readPeriod(
  client: Pick<PoolClient, 'query'>,
  { account, day }: Pick<ChargesInput, 'account' | 'day'>,
): Promise<OverageRow> {
  const { rows } = await listPeriodMoney(client, {
    filter: { accountId: account, month: day.slice(0, 7) },
    order: { sort: 'account', descending: false },
    limit: 2,
  });
  const found = rows.find(({ period_start: start }) => start.startsWith(day));
  if (!found) throw missing();
  return overageRowOf(found);
}

const ofPeriod = (
  { account_id, period_start }: OverageRow,
  { only, job, search, on }: Pick<ChargesInput, 'only' | 'job' | 'search' | 'on'>,
  { samplePlatformOrigin }: StaffDependencies,
) => ({
  accountId: account_id,
  periodStart: period_start,
  only,
  job,
  on,
  search: search === undefined ? undefined : downloadSearchOf(search, { samplePlatformOrigin, isToken: () => false }),
});

export function chargeRowOf({ actor, position: _position, ...charge }: PeriodCharge): ChargeRow {
  const isStaff = actor.type === 'staff';
  return {
    ...charge,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_role: isStaff ? actor.role : null,
    actor_reason: isStaff ? actor.reason : null,
  };
}
