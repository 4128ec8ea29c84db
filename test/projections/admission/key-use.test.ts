import { expect, it } from 'vitest';
import { listKeysWithUse } from '../../../projections/admission/key-use.ts';
import { apiKeys } from '../../../projections/api-keys.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { appendAll, GeneratedAccount } from '../generated-account.ts';
import { pretendAdmitted } from '../key-windows.ts';
import { readModelsOfFile, testMacs } from '../read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, apiKeys);

/** An account with so many keys, in force and in the order of the list. */
async function accountWithKeys(count: number) {
  const account = new GeneratedAccount();
  const opened = account.open({ hourly_limit: 100 });
  const issued = Array.from({ length: count }, () => account.issueKey());
  const { accountId } = account;
  await appendAll(log.store, [...opened, ...issued.map(({ append }) => append)]);
  await models.caughtUp();
  const keys = issued
    .map(({ keyId, keyHash }) => ({ keyId, keyHash, accountId }))
    .sort((one, other) => (one.keyId < other.keyId ? -1 : 1));
  return { account, accountId, keys };
}

const hourMs = 3_600_000;
const secondsAgo = (instant: string | null) =>
  instant === null ? null : Math.round((Date.now() - Date.parse(instant)) / 1000);

it('a key has its newest request, and those of the past hour', async () => {
  const { accountId, keys } = await accountWithKeys(4);
  const [unused, used, busy, forgotten] = keys;
  const admissions = models.openAdmissions();
  for (let time = 0; time < 3; time += 1) {
    expect((await admissions.admit({ keyHash: used!.keyHash }))?.outcome).toBe('admitted');
  }
  await pretendAdmitted(models.pool, busy!, [2 * hourMs, hourMs + 5_000, hourMs - 60_000, 30_000, 20_000]);
  await pretendAdmitted(models.pool, forgotten!, [30 * 24 * hourMs, 29 * 24 * hourMs]);
  const listed = await listKeysWithUse(models.pool, { accountId, macs: testMacs });
  expect(listed.map(({ key_id: id, used_in_past_hour: used }) => [id, used])).toEqual([
    [unused!.keyId, 0],
    [used!.keyId, 3],
    [busy!.keyId, 3],
    [forgotten!.keyId, 0],
  ]);
  const ago = listed.map(({ last_used_at: lastUsedAt }) => secondsAgo(lastUsedAt));
  expect(ago[0]).toBeNull();
  expect(ago[1]).toBeLessThan(20);
  expect(Math.abs(ago[2]! - 20)).toBeLessThan(20);
  expect(Math.abs(ago[3]! - 29 * 24 * 3_600)).toBeLessThan(20);
  expect(listed[0]).toMatchObject({
    account_id: accountId,
    label: 'generated',
    key_prefix: 'rt_live_',
    revoked_at: null,
  });
});

it('a revoked key keeps its use, and a request that was given back counts as none', async () => {
  const { account, accountId, keys } = await accountWithKeys(1);
  const key = keys[0]!;
  const admissions = models.openAdmissions();
  await admissions.admit(key);
  const second = await admissions.admit(key);
  await appendAll(log.store, [account.revokeKey(key)]);
  await models.caughtUp();
  const [revoked] = await listKeysWithUse(models.pool, { accountId, macs: testMacs });
  expect(revoked).toMatchObject({
    key_id: key.keyId,
    revoked_at: expect.stringMatching(/Z$/) as string,
    used_in_past_hour: 2,
  });
  expect(await admissions.giveBack(second!.place!)).toBe(true);
  expect((await listKeysWithUse(models.pool, { accountId, macs: testMacs }))[0]).toMatchObject({
    used_in_past_hour: 1,
  });
});

it('waits for no request that holds the window', async () => {
  const { accountId, keys } = await accountWithKeys(1);
  const holder = await models.openAnother().connect();
  try {
    await holder.query('begin');
    await holder.query('update api_key_window set revoked = true where key_id = $1', [keys[0]!.keyId]);
    expect(await listKeysWithUse(models.pool, { accountId, macs: testMacs })).toMatchObject([
      { key_id: keys[0]!.keyId, used_in_past_hour: 0 },
    ]);
  } finally {
    holder.release(true);
  }
});
