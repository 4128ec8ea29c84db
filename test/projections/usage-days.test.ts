import { expect, it } from 'vitest';
import { listAccountPeriods, pageAccountPeriods } from '../../projections/queries/account-periods.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { listUsageDays, type UsageDay, usageDays } from '../../projections/usage-days.ts';
import type { ChargeCommand } from '../../src/domain/change-charge.ts';
import type { Actor } from '../../src/domain/parse-event.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { correct as correctStored } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import {
  ask,
  downloadOf,
  foldUsage,
  freshToken,
  openUsage,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { lookUp, waiveCommand } from '../domain/usage-examples.ts';
import { sum } from '../support/sum.ts';
import { readModelsOfFile, testMacs } from './read-models-under-test.ts';

const log = logUnderTest();
// Two, of which only one may apply an event.
const models = readModelsOfFile(log, usageDays, usageDays, usageAndJobs);

const staff: Actor = { type: 'staff', id: 'Ada', role: 'operator', reason: 'the file was broken' };
const serviceFailures: Actor = { type: 'system', id: 'service-failures' };
const periodStart = '2026-11-01T00:00:00.000Z';

const at = (day: number, time = '12:00:00.000') => `2026-11-${String(day).padStart(2, '0')}T${time}Z`;

async function download(account: UsageAccount, now: string): Promise<string> {
  const token = freshToken();
  await ask(
    writersOf(log.store, () => now),
    account,
    downloadOf(token),
  );
  return token;
}

async function correct(
  { stream }: UsageAccount,
  command: ChargeCommand,
  by: { now: string; actor?: Actor },
): Promise<void> {
  expect(isRefused(await correctStored(log.store, stream, command, by))).toBe(false);
}

async function daysOf({ accountId }: UsageAccount, start = periodStart): Promise<UsageDay[]> {
  await models.caughtUp();
  return listUsageDays(models.pool, { accountId, periodStart: start });
}

const none = {
  downloads: 0,
  overage_downloads: 0,
  overage_cents: 0,
  metadata_requests: 0,
  returned_credits: 0,
  returned_overage_downloads: 0,
  returned_cents: 0,
  returned_metadata_credits: 0,
};

it('a day has what was accepted on it, by UTC', async () => {
  const account = await openUsage(log.store, { downloads_limit: 1, overage_cents: 25 });
  await download(account, at(14, '23:59:59.999'));
  await download(account, at(15, '00:00:00.000'));
  await download(account, at(15));
  await ask(
    writersOf(log.store, () => at(20)),
    account,
    lookUp(newUuid()),
  );
  expect(await daysOf(account)).toEqual([
    { ...none, day: '2026-11-14', downloads: 1 },
    { ...none, day: '2026-11-15', downloads: 2, overage_downloads: 2, overage_cents: 50 },
    { ...none, day: '2026-11-20', metadata_requests: 1 },
  ]);
});

it('a correction belongs to its own day, also after the period, and the days add up to the row of credits', async () => {
  const account = await openUsage(log.store, { downloads_limit: 2, overage_cents: 25 });
  const lookup = newUuid();
  const [credited, failed, voided, waived] = [
    await download(account, at(3)),
    await download(account, at(3)),
    await download(account, at(3)),
    await download(account, at(3)),
  ];
  await ask(
    writersOf(log.store, () => at(3)),
    account,
    lookUp(lookup),
  );
  await correct(account, { kind: 'void_download', token: credited }, { now: at(4) });
  const returned = { kind: 'return_service_failure', token: failed, reference: `service-failure-${failed}` } as const;
  await correct(account, returned, { now: at(5), actor: serviceFailures });
  await correct(account, { kind: 'void_download', token: voided }, { now: at(5) });
  await correct(account, { kind: 'void_lookup', lookupId: lookup }, { now: at(5) });
  await correct(account, waiveCommand(waived, 'case-1', 10), { now: at(6), actor: staff });
  // The next period begins, and the books of this one are still open.
  await download(account, '2026-12-02T12:00:00.000Z');
  await correct(account, waiveCommand(waived, 'case-2'), { now: '2026-12-02T13:00:00.000Z', actor: staff });
  const days = await daysOf(account);
  expect(days).toEqual([
    { ...none, day: '2026-11-03', downloads: 4, overage_downloads: 2, overage_cents: 50, metadata_requests: 1 },
    { ...none, day: '2026-11-04', returned_credits: 1 },
    {
      ...none,
      day: '2026-11-05',
      returned_credits: 1,
      returned_metadata_credits: 1,
      returned_overage_downloads: 1,
      returned_cents: 25,
    },
    { ...none, day: '2026-11-06', returned_cents: 10 },
    { ...none, day: '2026-12-02', returned_overage_downloads: 1, returned_cents: 15 },
  ]);
  expect(await daysOf(account, '2026-12-01T00:00:00.000Z')).toEqual([{ ...none, day: '2026-12-02', downloads: 1 }]);
  const sumOf = (valueOf: (day: UsageDay) => number) => sum(days.map(valueOf));
  expect((await foldUsage(log.store, account.stream)).usage).toMatchObject({
    downloads: sumOf((day) => day.downloads),
    downloadCredits: sumOf((day) => day.downloads - day.overage_downloads - day.returned_credits),
    overageDownloads: sumOf((day) => day.overage_downloads - day.returned_overage_downloads),
    overageCents: sumOf((day) => day.overage_cents - day.returned_cents),
    lookups: sumOf((day) => day.metadata_requests),
    metadataCredits: sumOf((day) => day.metadata_requests - day.returned_metadata_credits),
  });
});

it('the periods of an account come a page at a time, the newest first', async () => {
  const account = await openUsage(log.store);
  for (const month of ['2026-11', '2026-12', '2027-01']) await download(account, `${month}-05T12:00:00.000Z`);
  await models.caughtUp();
  const { accountId } = account;
  const all = (await listAccountPeriods(models.pool, accountId, testMacs)).reverse();
  expect(all.map(({ start }) => start.slice(0, 7))).toEqual(['2027-01', '2026-12', '2026-11']);
  const page = (before?: string) =>
    pageAccountPeriods(models.pool, { accountId, macs: testMacs, limit: 2, ...(before !== undefined && { before }) });
  expect(await page()).toEqual(all.slice(0, 2));
  expect(await page(all[1]!.start)).toEqual(all.slice(2));
});
