import { beforeEach, expect, it } from 'vitest';
import { listUsageOfKeys } from '../../projections/queries/usage-of-keys.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import type { Actor } from '../../src/domain/parse-event.ts';
import { chargeDownloads } from '../commands/charged-account.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { openUsage, type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { readModelsOfTest, testMacs, type TestReadModels } from './read-models-under-test.ts';

const log = logUnderTest();
let models: TestReadModels;
beforeEach(async () => {
  models = await readModelsOfTest(log.store, [usageAndJobs]);
});

const november = { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' };
const key = (id: string): Actor => ({ type: 'api_key', id });

/** One credit, and 25 cents for each download more. */
const openAccount = () => openUsage(log.store, { downloads_limit: 1, overage_cents: 25 });

async function download(account: UsageAccount, time: string, actors: readonly Actor[]): Promise<void> {
  for (const actor of actors)
    await chargeDownloads(
      writersOf(log.store, () => time),
      account,
      { downloads: 1, actor },
    );
}

it('lists the downloads of each key and day, those of people first, page by page', async () => {
  const [account, other] = [await openAccount(), await openAccount()];
  await download(account, '2026-11-14T12:00:00.000Z', [
    key('key_b'),
    key('key_a'),
    { type: 'owner', id: 'per_a0000000000000000' },
  ]);
  await download(account, '2026-11-14T23:59:59.999Z', [key('key_b')]);
  await download(account, '2026-11-15T00:00:00.000Z', [key('key_b')]);
  await download(other, '2026-11-14T12:00:00.000Z', [key('key_c')]);
  await models.caughtUp();
  const { accountId } = account;
  const list = (more: { after?: string; limit: number }) =>
    listUsageOfKeys(models.pool, { accountId, period: november, macs: testMacs, ...more });
  const beyond = (downloads: number) => ({
    downloads,
    overage_downloads: downloads,
    overage_cents: 25 * downloads,
  });
  const nameless = { key_prefix: null, label: null };
  const [person, a, b] = [
    { key_id: null, ...nameless, ...beyond(1), days: [{ day: '2026-11-14', ...beyond(1) }] },
    { key_id: 'key_a', ...nameless, ...beyond(1), days: [{ day: '2026-11-14', ...beyond(1) }] },
    {
      key_id: 'key_b',
      ...nameless,
      downloads: 3,
      overage_downloads: 2,
      overage_cents: 50,
      days: [
        { day: '2026-11-14', downloads: 2, overage_downloads: 1, overage_cents: 25 },
        { day: '2026-11-15', ...beyond(1) },
      ],
    },
  ];
  expect(await list({ limit: 2 })).toEqual([person, a]);
  expect(await list({ after: '', limit: 9 })).toEqual([a, b]);
  expect(await list({ after: 'key_a', limit: 9 })).toEqual([b]);
  expect(await list({ after: 'key_b', limit: 9 })).toEqual([]);
});
