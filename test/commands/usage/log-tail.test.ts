import { describe, expect, it } from 'vitest';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { LogTail } from '../../../src/commands/usage/log-tail.ts';
import type { WriterRegistry } from '../../../src/commands/usage/writer-registry.ts';
import type { UsageSnapshot } from '../../../src/domain/usage-state.ts';
import type { EventStore } from '../../../src/ports/event-store.ts';
import { Random } from '../../audit/random.ts';
import { insertKey, type TestKey } from '../../projections/key-windows.ts';
import { believed, readModelsOfFile } from '../../projections/read-models-under-test.ts';
import { scaled } from '../../support/proof-scale.ts';
import { sum } from '../../support/sum.ts';
import { logUnderTest } from '../log-under-test.ts';
import { changedLog, noteReads } from '../noted-reads.ts';
import { ask, downloadOf, freshToken, openUsage, type UsageAccount, writersOf } from '../usage-account.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, usageAndJobs);

interface KeyedAccount extends UsageAccount {
  key: TestKey;
}

/** Accounts whose rows the read model has. */
async function openAccounts(count: number): Promise<KeyedAccount[]> {
  const accounts = await Promise.all(
    Array.from({ length: count }, async () => {
      const account = await openUsage(log.store, { downloads_limit: 1_000_000 });
      return { ...account, key: await insertKey(models.pool, { ...account, hourlyLimit: 1_000_000 }) };
    }),
  );
  await models.caughtUp();
  return accounts;
}

/** The account's row as a request brings it along. */
async function rowOf(admissions: ReturnType<typeof models.openAdmissions>, key: TestKey): Promise<UsageSnapshot> {
  const admission = await admissions.admit({ keyHash: key.keyHash });
  if (!admission?.usage) throw new Error('the account has no row');
  return believed(admission.usage);
}

async function rowsOf(accounts: readonly KeyedAccount[]): Promise<UsageSnapshot[]> {
  const admissions = models.openAdmissions();
  return await Promise.all(accounts.map(({ key }) => rowOf(admissions, key)));
}

const download = (store: EventStore, account: UsageAccount) => ask(writersOf(store), account, downloadOf(freshToken()));

/** How many downloads each account has, asked all at once. */
async function askDownloads(
  writers: WriterRegistry,
  accounts: readonly KeyedAccount[],
  rows: readonly UsageSnapshot[],
): Promise<number[]> {
  const asked = accounts.map((account, index) =>
    ask(writers, account, { kind: 'query' }, { snapshot: rows[index] ?? account.origin }),
  );
  const answers = await Promise.all(asked);
  return answers.map((answer) => (answer.outcome === 'accepted' ? answer.usage.downloads : NaN));
}

/** The log, and how often it was read: its end for many accounts, and the streams of these. */
function noteAllReads(accounts: readonly KeyedAccount[], changed: Partial<EventStore> = {}) {
  let ofTail = 0;
  const readTail: EventStore['readTail'] = (...asked) => {
    ofTail += 1;
    return (changed.readTail ?? log.store.readTail)(...asked);
  };
  const { store, reads } = noteReads(changedLog(log.store, { readTail }));
  return { store, tailReads: () => ofTail, streamReads: () => accounts.flatMap(({ stream }) => reads(stream)).length };
}

describe('accounts that ask for their usage at once', () => {
  it('share one read of the end of the log, and see what is newer than their rows', async () => {
    const accounts = await openAccounts(10);
    const rows = await rowsOf(accounts);
    await Promise.all(accounts.slice(0, 3).map((account) => download(log.store, account)));
    const { store, tailReads, streamReads } = noteAllReads(accounts);
    expect(await askDownloads(writersOf(store), accounts, rows)).toEqual([1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
    expect([tailReads(), streamReads()]).toEqual([1, 0]);
  });

  it('read their own streams where the log has grown long since', async () => {
    const accounts = await openAccounts(2);
    const rows = await rowsOf(accounts);
    const [busy, quiet] = accounts;
    for (let count = 0; count < 20; count += 1) await download(log.store, busy!);
    const { store, tailReads, streamReads } = noteAllReads(accounts);
    expect(await askDownloads(writersOf(store), [busy!, quiet!], rows)).toEqual([20, 0]);
    expect([tailReads(), streamReads()]).toEqual([1, 2]);
  });

  it('read their own streams where the end of the log cannot be read', async () => {
    const accounts = await openAccounts(2);
    const rows = await rowsOf(accounts);
    await download(log.store, accounts[0]!);
    const { store, streamReads } = noteAllReads(accounts, { readTail: () => Promise.reject(new Error('cut off')) });
    expect(await askDownloads(writersOf(store), accounts, rows)).toEqual([1, 0]);
    expect(streamReads()).toBe(2);
  });

  it('read their own streams where nobody knows how far their states reach', async () => {
    const accounts = await openAccounts(2);
    const { store, tailReads, streamReads } = noteAllReads(accounts);
    expect(await askDownloads(writersOf(store), accounts, [])).toEqual([0, 0]);
    expect([tailReads(), streamReads()]).toEqual([0, 2]);
  });
});

it('an account that asks alone reads its own stream', async () => {
  const accounts = await openAccounts(1);
  const { store, tailReads, streamReads } = noteAllReads(accounts);
  expect(await askDownloads(writersOf(store), accounts, await rowsOf(accounts))).toEqual([0]);
  expect([tailReads(), streamReads()]).toEqual([0, 1]);
});

it('a read that has begun is not shared: it may miss what was stored meanwhile', async () => {
  const [account] = await openAccounts(1);
  const after = (await log.store.headPosition()) ?? 0n;
  const { promise: isDelivered, resolve: deliver } = Promise.withResolvers<undefined>();
  const { promise: hasRead, resolve: tellRead } = Promise.withResolvers<undefined>();
  const readTail: EventStore['readTail'] = async (...asked) => {
    const events = await log.store.readTail(...asked);
    tellRead(undefined);
    await isDelivered;
    return events;
  };
  const tail = new LogTail({ readTail });
  const first = [tail.readAfter(after), tail.readAfter(after)];
  await hasRead;
  await download(log.store, account!);
  const second = [tail.readAfter(after), tail.readAfter(after)];
  deliver(undefined);
  expect(await Promise.all(first)).toEqual([[], []]);
  for (const events of await Promise.all(second)) expect(events?.map(({ type }) => type)).toContain('DownloadQueued');
});

it('an answer has every download that was accepted before it was asked for, and none that was not sent', async () => {
  const random = new Random(Number(process.env['PROOF_SEED']));
  const accounts = await openAccounts(12);
  const [admissions, writers, others] = [models.openAdmissions(), writersOf(log.store), writersOf(log.store)];
  const [sent, accepted] = [new Map<KeyedAccount, number>(), new Map<KeyedAccount, number>()];
  const add = (counts: Map<KeyedAccount, number>, account: KeyedAccount) =>
    counts.set(account, (counts.get(account) ?? 0) + 1);
  const charge = async (account: KeyedAccount) => {
    const snapshot = await rowOf(admissions, account.key);
    add(sent, account);
    const { outcome } = await ask(others, account, downloadOf(freshToken()), { snapshot });
    if (outcome === 'accepted') add(accepted, account);
  };
  const look = async (account: KeyedAccount) => {
    const least = accepted.get(account) ?? 0;
    const snapshot = await rowOf(admissions, account.key);
    const answer = await ask(writers, account, { kind: 'query' }, { snapshot });
    expect(answer).toMatchObject({ outcome: 'accepted' });
    const downloads = answer.outcome === 'accepted' ? answer.usage.downloads : NaN;
    expect(downloads).toBeGreaterThanOrEqual(least);
    expect(downloads).toBeLessThanOrEqual(sent.get(account) ?? 0);
  };
  const each = (times: number, work: (account: KeyedAccount) => Promise<void>) => async () => {
    for (let count = 0; count < times; count += 1) await work(random.pick(accounts));
  };
  const rounds = scaled(100, 5_000);
  const asking = Array.from({ length: 8 }, () => each(rounds, look));
  await Promise.all([each(rounds, charge), each(rounds, charge), ...asking].map((run) => run()));
  expect(sum([...accepted.values()])).toBe(2 * rounds);
});
