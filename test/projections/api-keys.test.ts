import { describe, expect, it } from 'vitest';
import { apiKeys, listApiKeys, waitForHourlyLimit, waitForKey } from '../../projections/api-keys.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { issueApiKey, openAccount, revokeApiKey } from '../../src/commands/accounts.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { ask, midNovember, writersOf } from '../commands/usage-account.ts';
import { plan } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { readModelsOfFile, testMacs } from './read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, apiKeys, usageAndJobs);

const dependencies = () => ({ store: log.store, now: () => midNovember, newUuid, newId, randomBits });
const request = { correlationId: 'req-1', actor: { type: 'system', id: 'test' } as const, timeoutMs: patienceMs };

async function open(): Promise<string> {
  const opened = await openAccount(dependencies(), { ...request, email: 'owner@example.com', terms: plan });
  if (isRefused(opened)) throw new Error(opened.refusal);
  return opened.accountId;
}

async function issue(accountId: string, label: string) {
  const issued = await issueApiKey(dependencies(), { ...request, accountId, label, maxKeys: 10 });
  if (isRefused(issued)) throw new Error(issued.refusal);
  expect(await waitForKey(models.pool, issued.keyId, { revoked: false, timeoutMs: patienceMs })).toBe(true);
  return issued;
}

async function revoke(accountId: string, keyId: string): Promise<void> {
  await revokeApiKey(dependencies(), { ...request, accountId, keyId });
  expect(await waitForKey(models.pool, keyId, { revoked: true, timeoutMs: patienceMs })).toBe(true);
}

async function changeHourlyLimit(accountId: string, hourlyLimit: number): Promise<void> {
  const account = { accountId, stream: '', origin: usageOrigin(`usage-${accountId}-20261114`) };
  const terms = { ...plan, hourly_limit: hourlyLimit };
  await ask(writersOf(log.store), account, { kind: 'change_plan', terms, effective: 'now' });
  expect(await waitForHourlyLimit(models.pool, accountId, { hourlyLimit, timeoutMs: patienceMs })).toBe(true);
}

async function windowOf(keyId: string) {
  const { rows } = await models.pool.query<Record<string, unknown>>(
    'select account_id, hourly_limit, revoked, admitted_ms from api_key_window where key_id = $1',
    [keyId],
  );
  return rows[0];
}

describe('an issued key', () => {
  it('lets requests in with the hourly limit of its account, and is listed', async () => {
    const accountId = await open();
    const { keyId, keyPrefix, keyHash } = await issue(accountId, 'laptop');
    const { rows } = await models.pool.query('select hash from api_key_window where key_id = $1', [keyId]);
    expect((rows[0] as { hash: string }).hash.replaceAll('-', '')).toBe(keyHash.slice(0, 32));
    expect(await windowOf(keyId)).toEqual({
      account_id: accountId,
      hourly_limit: 30,
      revoked: false,
      admitted_ms: [],
    });
    expect(await listApiKeys(models.pool, { accountId, macs: testMacs })).toEqual([
      {
        key_id: keyId,
        account_id: accountId,
        key_prefix: keyPrefix,
        label: 'laptop',
        created_at: midNovember,
        revoked_at: null,
      },
    ]);
  });

  it('has the limit of a plan that was changed before it was issued', async () => {
    const accountId = await open();
    await changeHourlyLimit(accountId, 77);
    const { keyId } = await issue(accountId, 'laptop');
    expect(await windowOf(keyId)).toMatchObject({ hourly_limit: 77 });
  });
});

describe('a revoked key', () => {
  it('is no longer let in, and the others are', async () => {
    const accountId = await open();
    const [one, other] = [await issue(accountId, 'one'), await issue(accountId, 'other')];
    await revoke(accountId, one.keyId);
    expect([await windowOf(one.keyId), await windowOf(other.keyId)]).toMatchObject([
      { revoked: true },
      { revoked: false },
    ]);
    const listed = await listApiKeys(models.pool, { accountId, macs: testMacs });
    expect(listed.find(({ key_id }) => key_id === one.keyId)?.revoked_at).toBe(midNovember);
  });

  it('stays revoked when the plan changes', async () => {
    const accountId = await open();
    const { keyId } = await issue(accountId, 'one');
    await revoke(accountId, keyId);
    await changeHourlyLimit(accountId, 78);
    await issue(accountId, 'later');
    expect(await windowOf(keyId)).toMatchObject({ revoked: true });
  });
});

describe('a change of plan', () => {
  it('reaches every key of the account, and leaves what was counted', async () => {
    const accountId = await open();
    const keys = [await issue(accountId, 'one'), await issue(accountId, 'other')];
    await models.pool.query("update api_key_window set admitted_ms = '{1,2,3}' where account_id = $1", [accountId]);
    await changeHourlyLimit(accountId, 79);
    const later = await issue(accountId, 'later');
    for (const { keyId } of keys)
      expect(await windowOf(keyId)).toMatchObject({ hourly_limit: 79, admitted_ms: [1, 2, 3] });
    expect(await windowOf(later.keyId)).toMatchObject({ hourly_limit: 79, admitted_ms: [] });
  });
});

it('waiting for what does not come ends', async () => {
  expect(await waitForKey(models.pool, newId('key'), { revoked: false, timeoutMs: 50 })).toBe(false);
  const wrong = { hourlyLimit: 1, timeoutMs: 50 };
  expect(await waitForHourlyLimit(models.pool, await open(), wrong)).toBe(false);
});
