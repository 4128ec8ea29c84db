import { beforeAll, describe, expect, it } from 'vitest';
import type { Admissions } from '../../projections/admission/admission.ts';
import { projections } from '../../projections/all.ts';
import { apiKeys } from '../../projections/api-keys.ts';
import { readCredits, readNewestCredits } from '../../projections/credits.ts';
import { notBelieved } from '../../projections/credits-macs.ts';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { rebuildUnsigned } from '../../projections/runner/unsigned-rows.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { hashIdempotencyKey } from '../../src/commands/ids/idempotency-key-hash.ts';
import type { Subscription } from '../../src/ports/event-store.ts';
import { correct, queueKeyed } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { ask, foldUsage, openUsage, queueAll, type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { queueDownload } from '../domain/usage-examples.ts';
import { waitFor } from '../support/wait-for.ts';
import { appendAll, GeneratedAccount } from './generated-account.ts';
import { insertKey } from './key-windows.ts';
import { readModelsOfFile, silent, testMacs, testSecrets } from './read-models-under-test.ts';

/** Rows that somebody with access to Postgres has changed, made up, or put elsewhere. */

const log = logUnderTest();
const models = readModelsOfFile(log, apiKeys);
let credits: Subscription[];
let admissions: Admissions;
beforeAll(() => {
  credits = models.run(log.store, usageAndJobs);
  admissions = models.openAdmissions();
});

const foldOf = ({ stream }: UsageAccount) => foldUsage(log.store, stream);

const set = (account: UsageAccount, assignment: string) =>
  models.pool.query(`update credits set ${assignment} where account_id = $1`, [account.accountId]);

/** An account that has used something, with a row that is up to date, and one of its keys. */
async function usedAccount() {
  const account = await openUsage(log.store, { downloads_limit: 2, overage_cap_cents: 500 });
  await queueAll(writersOf(log.store), account, [1, 2, 3]);
  await models.caughtUp();
  const { keyHash } = await insertKey(models.pool, { accountId: account.accountId, hourlyLimit: 100 });
  return { account, usage: () => admittedUsage(keyHash) };
}

/** Usage as an admission reads it; how far of the log its row covers is told beside it and varies. */
async function admittedUsage(keyHash: string) {
  const usage = (await admissions.admit({ keyHash }))?.usage;
  return typeof usage === 'object' ? { ...usage, coversUpTo: undefined } : usage;
}

describe('a row of credits', () => {
  const changes = [
    'download_credits = 0',
    'downloads = 2',
    'overage_downloads = 0',
    'overage_cents = 0',
    'lookups = 1',
    'metadata_credits = -1',
    'fee_cents = 1',
    'fee_difference_cents = 1',
    'revision = 3',
    "last_hash = repeat('a', 64)",
    "last_time = last_time + interval '1 millisecond'",
    "period_end = period_end + interval '1 month'",
    "phase = 'ended'",
    'anchor_day = 2',
    `terms = terms || '{"downloads_limit": 1000}'`,
    `due = '{"overage_cap_cents": null}'`,
    `warned = '["downloads:80"]'`,
    'cap_reached = true',
    `next = '{"period": {"start": "2026-12-01T00:00:00.000Z", "end": "2027-01-01T00:00:00.000Z"}}'`,
    `mac = reverse(mac)`,
    'mac = null',
  ];

  it('is believed as the projector has written it', async () => {
    const { account, usage } = await usedAccount();
    expect(await usage()).toEqual(await foldOf(account));
    expect(await readNewestCredits(models.pool, account.accountId, testMacs)).toEqual(await foldOf(account));
  });

  it.each(changes)('with %s is not believed, and is right again with the next event', async (change) => {
    const { account, usage } = await usedAccount();
    await usage();
    await set(account, change);
    expect(await usage()).toBe(notBelieved);
    expect(await readNewestCredits(models.pool, account.accountId, testMacs)).toBe(notBelieved);
    expect(await readCredits(models.pool, account.stream, testMacs)).toBe(notBelieved);
    await ask(writersOf(log.store), account, queueDownload(9));
    await models.caughtUp();
    expect(await usage()).toEqual(await foldOf(account));
  });

  it('that is forged while no projector runs is not signed for being folded on', async () => {
    const { account, usage } = await usedAccount();
    await Promise.all(credits.map((runner) => runner.close()));
    await set(account, 'download_credits = 0, overage_cents = 0');
    await ask(writersOf(log.store), account, queueDownload(9));
    models.run(log.store, usageAndJobs);
    await models.caughtUp();
    expect(await usage()).toEqual(await foldOf(account));
  });

  it('of another account is not believed, though it is genuine', async () => {
    const [mine, other] = [await usedAccount(), await usedAccount()];
    await models.pool.query('delete from credits where account_id = $1', [mine.account.accountId]);
    await models.pool.query('update credits set account_id = $1 where account_id = $2', [
      mine.account.accountId,
      other.account.accountId,
    ]);
    expect(await mine.usage()).toBe(notBelieved);
    await models.pool.query('delete from credits where account_id = $1', [mine.account.accountId]);
  });
});

describe('a row of idempotency_keys', () => {
  let numbers = 100;
  const api = () => ({ store: log.store, writers: writersOf(log.store) });
  const keyedBy = async (account: UsageAccount, key: string) => {
    const { keyHash } = await insertKey(models.pool, { accountId: account.accountId, hourlyLimit: 100 });
    return (await admissions.admit({ keyHash, idempotencyKeyHash: hashIdempotencyKey(key) }))?.keyed;
  };

  it.each([
    "token = 'another' || right(token, 4)",
    'overage = not overage',
    "fingerprint = 'x' || fingerprint",
    "stream = 'usage-acc_a-20261101'",
    'revision = revision + 2',
    'confirmed = not confirmed',
    'voided = not voided',
    'mac = null',
  ])('with %s is not believed, and no later event makes it so', async (change) => {
    const account = await openUsage(log.store);
    await queueKeyed(api(), account, 'order', { number: (numbers += 1) });
    await models.caughtUp();
    const genuine = await keyedBy(account, 'order');
    expect(genuine).toMatchObject({ confirmed: false, voided: false });
    await models.pool.query(`update idempotency_keys set ${change} where account_id = $1`, [account.accountId]);
    expect(await keyedBy(account, 'order')).toBe(notBelieved);
    if (genuine && genuine !== notBelieved)
      await correct(log.store, account.stream, { kind: 'confirm_download', token: genuine.token });
    await models.caughtUp();
    expect(await keyedBy(account, 'order')).toBe(notBelieved);
  });

  it('is believed with each step that the projector has written', async () => {
    const account = await openUsage(log.store);
    await queueKeyed(api(), account, 'order', { number: (numbers += 1) });
    await models.caughtUp();
    const queued = await keyedBy(account, 'order');
    if (!queued || queued === notBelieved) throw new Error('the projector is not believed');
    await correct(log.store, account.stream, { kind: 'confirm_download', token: queued.token });
    await models.caughtUp();
    expect(await keyedBy(account, 'order')).toEqual({ ...queued, confirmed: true });
  });
});

describe('a row of api_key_window', () => {
  async function issuedKey() {
    const account = new GeneratedAccount();
    const opened = account.open();
    const key = account.issueKey();
    await appendAll(log.store, [...opened, key.append]);
    const data = key.append.events[0]?.data as { key_hash: string; key_id: string; account_id: string };
    await models.caughtUp();
    return data;
  }
  const outcomeOf = async (keyHash: string) => (await admissions.admit({ keyHash }))?.outcome;

  it.each([
    "account_id = 'acc_another'",
    "key_id = 'key_another' || left(hash::text, 8)",
    'mac = null',
    'mac = (select max(mac) from api_key_window o where o.hash <> api_key_window.hash)',
  ])('with %s lets nobody in', async (change) => {
    const key = await issuedKey();
    expect(await outcomeOf(key.key_hash)).toBe('admitted');
    await models.pool.query(`update api_key_window set ${change} where key_id = $1`, [key.key_id]);
    expect(await outcomeOf(key.key_hash)).toBe('not_believed');
  });

  it('with a hash that somebody has put there lets nobody in', async () => {
    const key = await issuedKey();
    await models.pool.query('update api_key_window set hash = $2 where key_id = $1', [
      key.key_id,
      '11111111-2222-3333-4444-555555555555',
    ]);
    expect(await outcomeOf('11111111222233334444555555555555'.padEnd(64, '0'))).toBe('not_believed');
  });

  it('is made right again by a rebuild', async () => {
    const key = await issuedKey();
    await models.pool.query("update api_key_window set account_id = 'acc_another' where key_id = $1", [key.key_id]);
    await rebuild(apiKeys, { store: log.store, macs: testMacs, pool: models.pool, progress: () => undefined });
    expect(await outcomeOf(key.key_hash)).toBe('admitted');
  });
});

describe('rows of before', () => {
  const unsigned = async (secretIds: readonly string[]) => {
    const counts = ['credits', 'idempotency_keys', 'api_key_window'].map(async (table) => {
      const { rowCount } = await models.pool.query(
        `select from ${table} where mac is null or split_part(mac, '.', 1) <> all($1)`,
        [secretIds],
      );
      return rowCount;
    });
    return (await Promise.all(counts)).reduce<number>((sum, count) => sum + (count ?? 0), 0);
  };

  it.each([
    ['without MACs', 'mac = null', testSecrets],
    [
      'under a secret that is not named any more',
      'mac = mac',
      { current: deriveKeys('another secret of the future'), others: [] },
    ],
  ])('%s are made anew when a projector starts', async (_what, change, secrets) => {
    await usedAccount();
    for (const table of ['credits', 'idempotency_keys', 'api_key_window'])
      await models.pool.query(`update ${table} set ${change}`);
    const macs = createRowMacs(secrets, { logger: silent });
    const ids = [secrets.current.id];
    expect(await unsigned(ids)).toBeGreaterThan(0);
    const rebuilding = rebuildUnsigned(projections, {
      store: log.store,
      pool: models.openAnother(),
      macs,
      logger: silent,
    });
    await waitFor(async () => (await unsigned(ids)) === 0, { what: 'rows with MACs' });
    await rebuilding.stop();
  });

  it('under an old secret are believed, and what is written from now on is under the new one', async () => {
    const { account } = await usedAccount();
    const rotated = createRowMacs(
      {
        current: deriveKeys('a secret that follows the first'),
        others: [testSecrets.current, deriveKeys('another secret of the future')],
      },
      { logger: silent },
    );
    expect(await readNewestCredits(models.pool, account.accountId, rotated)).toEqual(await foldOf(account));
  });
});
