import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Admissions } from '../../../projections/admission/admission.ts';
import { apiKeys } from '../../../projections/api-keys.ts';
import { newId } from '../../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { scaled } from '../../support/proof-scale.ts';
import { appendAll, GeneratedAccount, type GeneratedKey } from '../generated-account.ts';
import { insertKey, readWindow } from '../key-windows.ts';
import { readModelsOfTest } from '../read-models-under-test.ts';
import { rebuildOn, rowsOf, writeLog } from './rebuilding.ts';

const log = logUnderTest();

/** Keys of one account; those revoked are so in the log. */
async function issueKeys<Name extends string>(
  hourlyLimit: number,
  names: readonly Name[],
  revoked: readonly Name[] = [],
): Promise<Record<Name, GeneratedKey & { accountId: string }>> {
  const account = new GeneratedAccount();
  const appends = account.open({ hourly_limit: hourlyLimit });
  const keys = names.map((name) => {
    const { append, ...key } = account.issueKey();
    appends.push(append);
    if (revoked.includes(name)) appends.push(account.revokeKey(key));
    return [name, { ...key, accountId: account.accountId }];
  });
  await appendAll(log.store, appends);
  return Object.fromEntries(keys) as Record<Name, GeneratedKey & { accountId: string }>;
}

async function use(admissions: Admissions, { keyHash }: { keyHash: string }, times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    expect((await admissions.admit({ keyHash }))?.outcome).toBe('admitted');
  }
}

describe('a rebuild of api_keys', () => {
  it('while requests go on lets in at no moment who is revoked or has used up an hour', async () => {
    const live = await readModelsOfTest(log.store, [apiKeys]);
    const limit = 3;
    const { revoked, full } = await issueKeys(limit, ['revoked', 'full'], ['revoked']);
    const { busy } = await issueKeys(10_000, ['busy']);
    await live.caughtUp();
    const admissions = live.openAdmissions();
    await use(admissions, full, limit);
    let isDone = false;
    const writing = writeLog(log.store, () => !isDone);
    const asking = (async () => {
      let rounds = 0;
      for (; !isDone; rounds += 1) {
        const asked = [revoked, full, busy].map(({ keyHash }) => admissions.admit({ keyHash }));
        const outcomes = (await Promise.all(asked)).map((admission) => admission?.outcome);
        expect(outcomes).toEqual([undefined, 'rate_limited', 'admitted']);
        await sleep(2);
      }
      return rounds;
    })();
    try {
      for (let turn = 0; turn < scaled(5, 40); turn += 1) {
        const { tables } = await rebuildOn(log.store, live, apiKeys);
        for (const { missing, surplus } of tables) expect({ missing, surplus }).toEqual({ missing: 0, surplus: 0 });
      }
    } finally {
      isDone = true;
    }
    await writing;
    const rounds = await asking;
    expect(rounds).toBeGreaterThan(10);
    // Nobody was counted twice or forgotten.
    const { rows } = await live.pool.query(
      'select cardinality(admitted_ms) as n from api_key_window where key_id = $1',
      [busy.keyId],
    );
    expect(rows).toEqual([{ n: rounds }]);
  });

  it('sets right what somebody changed by hand, and leaves the windows alone', async () => {
    const live = await readModelsOfTest(log.store, [apiKeys]);
    const names = ['untouched', 'opened', 'shut', 'raised', 'deleted'] as const;
    const keys = await issueKeys(30, names, ['opened']);
    await live.caughtUp();
    const expected = await rowsOf(live, apiKeys);
    const rows = expected['api_key_window']!.length;
    const admissions = live.openAdmissions();
    for (const key of [keys.untouched, keys.raised, keys.shut]) await use(admissions, key, 3);
    const ids = [keys.opened.keyId, keys.shut.keyId, keys.raised.keyId, keys.deleted.keyId];
    await live.pool.query('update api_key_window set revoked = not revoked where key_id = any($1)', [ids.slice(0, 2)]);
    await live.pool.query('update api_key_window set hourly_limit = 9999 where key_id = $1', [ids[2]]);
    await live.pool.query('delete from api_key_window where key_id = $1', [ids[3]]);
    const unknown = await insertKey(live.pool, { accountId: newId('acc') });
    await use(admissions, keys.opened);
    await use(admissions, unknown);

    const { tables } = await rebuildOn(log.store, live, apiKeys);
    expect(tables.map(({ name, missing, surplus }) => ({ name, missing, surplus }))).toEqual([
      { name: 'api_keys', missing: 0, surplus: 0 },
      { name: 'hourly_limits', missing: 0, surplus: 0 },
      { name: 'account_heads', missing: 0, surplus: 0 },
      { name: 'api_key_window', missing: 4, surplus: 4 },
    ]);
    expect(tables.at(-1)?.rows).toBe(rows);
    expect(await rowsOf(live, apiKeys)).toEqual(expected);
    for (const { keyHash } of [keys.opened, unknown]) expect(await admissions.admit({ keyHash })).toBeUndefined();
    for (const key of [keys.untouched, keys.raised, keys.shut]) {
      expect((await readWindow(live.pool, key)).agoSeconds).toHaveLength(3);
      const admitted = await admissions.admit(key);
      expect(admitted).toMatchObject({ outcome: 'admitted', window: { limit: 30, remaining: 26 } });
    }
    await use(admissions, keys.deleted);
    const again = await rebuildOn(log.store, live, apiKeys);
    for (const { missing, surplus } of again.tables) expect({ missing, surplus }).toEqual({ missing: 0, surplus: 0 });
  });
});
