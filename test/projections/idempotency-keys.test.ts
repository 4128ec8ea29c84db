import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission, Admissions } from '../../projections/admission/admission.ts';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { hashIdempotencyKey } from '../../src/commands/ids/idempotency-key-hash.ts';
import { closeBooks, endPeriods } from '../commands/close-books.ts';
import { correct, queueKeyed } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { openUsage, type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { token } from '../domain/usage-examples.ts';
import { insertKey, type TestKey } from './key-windows.ts';
import { believed, readModelsOfFile, testMacs } from './read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, usageAndJobs);
let admissions: Admissions;
beforeAll(() => {
  admissions = models.openAdmissions();
});

const api = () => ({ store: log.store, writers: writersOf(log.store) });

/** An API key of the account. */
const keyOf = ({ accountId }: UsageAccount): Promise<TestKey> =>
  insertKey(models.pool, { accountId, hourlyLimit: 100 });

const admit = (key: TestKey, idempotencyKey?: string): Promise<Admission | undefined> =>
  admissions.admit({
    keyHash: key.keyHash,
    ...(idempotencyKey !== undefined && { idempotencyKeyHash: hashIdempotencyKey(idempotencyKey) }),
  });

describe('the row of an idempotency key', () => {
  it('is that of its newest download, and says what became of it', async () => {
    const account = await openUsage(log.store);
    const key = await keyOf(account);
    expect((await admit(key, 'a'))?.keyed).toBeUndefined();
    await queueKeyed(api(), account, 'a');
    await models.caughtUp();
    const row = { token: token(1), overage: false, stream: account.stream, revision: 2 };
    expect((await admit(key, 'a'))?.keyed).toMatchObject({ ...row, confirmed: false, voided: false });

    await correct(log.store, account.stream, { kind: 'void_download', token: token(1) });
    await models.caughtUp();
    expect((await admit(key, 'a'))?.keyed).toMatchObject({ ...row, voided: true });

    await queueKeyed(api(), account, 'a', { number: 2 });
    await queueKeyed(api(), account, 'a', { number: 3 });
    await models.caughtUp();
    const newer = { token: token(2), revision: 5, confirmed: true, voided: false };
    expect((await admit(key, 'a'))?.keyed).toMatchObject(newer);
    expect((await admit(key, 'b'))?.keyed).toBeUndefined();
    expect((await admit(key))?.keyed).toBeUndefined();
  });

  it('counts as confirmed once the books of its period are closed', async () => {
    const account = await openUsage(log.store);
    const key = await keyOf(account);
    const december = '2026-12-14T12:00:00.000Z';
    await queueKeyed(api(), account, 'a', { number: 5 });
    await endPeriods(log.store, account, december);
    await models.caughtUp();
    expect((await admit(key, 'a'))?.keyed).toMatchObject({ token: token(5), confirmed: false });
    await closeBooks(log.store, account.stream, december);
    await models.caughtUp();
    expect((await admit(key, 'a'))?.keyed).toMatchObject({ token: token(5), confirmed: true, voided: false });
  });

  it('belongs to its account', async () => {
    const [account, another] = [await openUsage(log.store), await openUsage(log.store)];
    await queueKeyed(api(), account, 'a', { number: 11 });
    await models.caughtUp();
    expect(believed((await admit(await keyOf(account), 'a'))?.keyed)?.token).toBe(token(11));
    expect((await admit(await keyOf(another), 'a'))?.keyed).toBeUndefined();
  });

  it('comes to each of the requests of one tick that ask for it, and to no other', async () => {
    const account = await openUsage(log.store);
    const writers = api();
    for (const number of [21, 22, 23]) await queueKeyed(writers, account, `key-${number}`, { number });
    await models.caughtUp();
    const [one, other] = [await keyOf(account), await keyOf(account)];
    const jobs = { token: token(21) };
    const answers = await Promise.all([
      admit(one, 'key-21'),
      admit(one, 'key-22'),
      admit(other, 'key-22'),
      admit(one),
      admit(one, 'key-unknown'),
      admissions.admit({ keyHash: one.keyHash, ...jobs }),
      admissions.admit({ keyHash: one.keyHash, token: token(22), idempotencyKeyHash: hashIdempotencyKey('key-23') }),
    ]);
    expect(
      answers.map((answer) => [believed(answer?.keyed)?.token, answer?.job?.token, believed(answer?.usage)?.revision]),
    ).toEqual([
      [token(21), undefined, 6],
      [token(22), undefined, 6],
      [token(22), undefined, 6],
      [undefined, undefined, 6],
      [undefined, undefined, 6],
      [undefined, token(21), 6],
      [token(23), token(22), 6],
    ]);
    expect(new Set(answers.map((answer) => answer?.outcome))).toEqual(new Set(['admitted']));
  });

  it('never is older than the credits row that comes with it', async () => {
    const account = await openUsage(log.store, { downloads_limit: 1_000 });
    const key = await keyOf(account);
    await models.caughtUp();
    const writers = api();
    const state = { isWriting: true };
    const writing = (async () => {
      for (let number = 101; number <= 160; number += 1)
        await queueKeyed(writers, account, `key-${number}`, { number });
      state.isWriting = false;
    })();
    // Each download is two events: at revision 2n the n-th key has its row.
    for (let seen = 0; state.isWriting || seen < 120;) {
      const next = 101 + seen / 2;
      const admission = await admit(key, `key-${Math.min(next, 160)}`);
      const revision = believed(admission?.usage)?.revision ?? 0;
      if (next <= 160) expect(admission?.keyed !== undefined).toBe(revision >= 2 * (next - 100));
      seen = revision - (revision % 2);
    }
    await writing;
  });
});

it('a rebuild makes the same rows', async () => {
  const account = await openUsage(log.store);
  await queueKeyed(api(), account, 'a', { number: 31 });
  await queueKeyed(api(), account, 'a', { number: 32 });
  await queueKeyed(api(), account, 'b', { number: 33 });
  await correct(log.store, account.stream, { kind: 'void_download', token: token(33) });
  await models.caughtUp();
  const pool = models.openAnother();
  const { tables } = await rebuild(usageAndJobs, { store: log.store, macs: testMacs, pool, progress: () => undefined });
  expect(tables.map(({ name, missing, surplus }) => [name, missing, surplus])).toEqual([
    ['credits', 0, 0],
    ['jobs', 0, 0],
    ['idempotency_keys', 0, 0],
    ['usage_warnings', 0, 0],
    ['usage_changes', 0, 0],
    ['job_days', 0, 0],
  ]);
  const { rows } = await models.pool.query(
    'select key_hash, token, confirmed, voided from idempotency_keys where account_id = $1 order by token',
    [account.accountId],
  );
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  expect(rows).toEqual([
    { key_hash: sha256('a'), token: token(31), confirmed: true, voided: false },
    { key_hash: sha256('b'), token: token(33), confirmed: false, voided: true },
  ]);
});
