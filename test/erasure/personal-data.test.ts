import { beforeAll, describe, expect, it } from 'vitest';
import { deriveKeys, type Secrets } from '../../src/adapters/derive-keys.ts';
import { withPersonalData } from '../../src/adapters/event-store/personal-data.ts';
import {
  countOfOtherSecrets,
  createPersonalKeys,
  wrapWithCurrentSecret,
} from '../../src/adapters/postgres/personal-keys.ts';
import { changeBillingDetails, invitePerson, openAccount, readAccount } from '../../src/commands/accounts.ts';
import { NotStored } from '../../src/commands/handler/handle-command.ts';
import { chainHash, firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import { accountStream } from '../../src/domain/account-events.ts';
import { UnreadableEvent } from '../../src/domain/parse-event.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { type EventStore, EventStoreUnavailable, type RecordedEvent } from '../../src/ports/event-store.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { plan } from '../domain/usage-examples.ts';
import { readModelsOfFile, testSecret, testSecrets } from '../projections/read-models-under-test.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';

const log = logUnderTest();
const models = readModelsOfFile();
const email = 'erna.beispiel@example.com';
const actor = { type: 'system', id: 'test' } as const;
const request = { correlationId: 'c', actor, timeoutMs: 5_000 };

/** A process of its own, with nothing remembered. */
const openLog = (secrets: Secrets = testSecrets): EventStore =>
  withPersonalData(log.store, createPersonalKeys(models.pool, secrets));
const dependencies = (store: EventStore) => ({
  store,
  now: () => new Date().toISOString(),
  newUuid,
  newId,
  randomBits,
});

async function openedAccount(store = openLog()): Promise<string> {
  const opened = await openAccount(dependencies(store), { email, terms: plan, mails: false, ...request });
  if (isRefused(opened)) throw new Error(opened.refusal);
  return opened.accountId;
}

const stored = (accountId: string): Promise<RecordedEvent[]> => log.store.read(accountStream(accountId), 0);

describe('personal data in the log', () => {
  let accountId: string;
  beforeAll(async () => {
    accountId = await openedAccount();
  });

  it('is stored encrypted, in version 2 of the schema, and the hash covers that form', async () => {
    const [opened] = await stored(accountId);
    const { personal } = opened?.data as { personal: unknown };
    expect(personal).toMatch(/^[\w-]{60,}$/);
    expect(JSON.stringify(opened?.data)).not.toContain('example.com');
    const { hash, ...metadata } = opened?.metadata as { hash: string; schema: number };
    expect(metadata.schema).toBe(2);
    const link = { stream: accountStream(accountId), revision: 0, id: opened?.id ?? '', type: 'AccountOpened' };
    expect(chainHash(firstPreviousHash(link.stream), { ...link, data: opened?.data, metadata })).toBe(hash);
  });

  it('is opened by every other process, which also has the stored form', async () => {
    const [opened] = await openLog().read(accountStream(accountId), 0);
    expect(opened?.data).toMatchObject({ personal: { email } });
    expect(opened?.stored).toEqual((await stored(accountId))[0]?.data);
    const tail = await openLog().readTail((opened?.position ?? 1n) - 1n, 1_000);
    expect(tail?.find(({ id }) => id === opened?.id)?.data).toMatchObject({ personal: { email } });
  });

  it('is null without its key, and nothing else of the event changes', async () => {
    const erased = await openedAccount();
    await models.pool.query("delete from personal_keys where subject = $1 and kind = 'personal'", [erased]);
    const [before] = await stored(erased);
    const [opened] = await openLog().read(accountStream(erased), 0);
    expect(opened?.data).toEqual({ ...(before?.data as object), personal: null });
    expect((await readAccount(openLog(), erased)).opened?.personal).toBeNull();
  });

  it('gets no other key in the place of one that is lost', async () => {
    const lost = await openedAccount();
    await models.pool.query('delete from personal_keys where subject = $1', [lost]);
    const inviting = invitePerson(dependencies(openLog()), { accountId: lost, email: 'b@example.com', ...request });
    await expect(inviting).rejects.toThrow('is missing from Postgres');
  });

  it('has a key of its own for what documents show', async () => {
    const store = openLog();
    const details = { name: 'Erna Beispiel', address_lines: ['Lindenweg 7'], country: 'DE', tax_id: null };
    await changeBillingDetails(dependencies(store), { accountId, details, ...request });
    await models.pool.query("delete from personal_keys where subject = $1 and kind = 'documents'", [accountId]);
    const events = await openLog().read(accountStream(accountId), 0);
    const personal = events.map(({ data }) => (data as { personal?: unknown }).personal);
    expect(personal).toEqual([{ email }, null]);
  });

  it('stays readable under an older secret, and not under another one', async () => {
    const account = await openedAccount();
    const newer = { current: deriveKeys('another secret that is long enough'), others: [testSecrets.current] };
    const [opened] = await openLog(newer).read(accountStream(account), 0);
    expect(opened?.data).toMatchObject({ personal: { email } });
  });

  it('is sealed, not erased, under a secret that is lost: nobody is stopped, and no other key is made', async () => {
    const account = await openedAccount();
    const foreign = openLog({ current: deriveKeys(`${testSecret} of others`), others: [] });
    const [sealed] = await foreign.read(accountStream(account), 0);
    expect(sealed?.data).toEqual((await stored(account))[0]?.data);
    await expect(readAccount(foreign, account)).rejects.toThrow(UnreadableEvent);
    const details = { name: 'Erna Beispiel', address_lines: ['Lindenweg 7'], country: 'DE', tax_id: null };
    await expect(
      foreign.sealPersonalData?.(accountStream(account), [
        { id: newUuid(), type: 'PersonInvited', data: { personal: details } },
      ]),
    ).rejects.toThrow('was not wrapped with a secret of this installation');
    expect((await readAccount(openLog(), account)).opened?.personal).toEqual({ email });
  });

  it('is wrapped with the new secret after a change, so that the old one can be removed', async () => {
    const account = await openedAccount();
    const current = deriveKeys('the newest secret that is long enough');
    const both = { current, others: [testSecrets.current] };
    const count = await countOfOtherSecrets(models.pool, both);
    expect(count).toBeGreaterThan(0);
    expect(await wrapWithCurrentSecret(models.pool, both)).toBe(count);
    expect(await countOfOtherSecrets(models.pool, both)).toBe(0);
    const [opened] = await openLog({ current, others: [] }).read(accountStream(account), 0);
    expect(opened?.data).toMatchObject({ personal: { email } });
    expect(await wrapWithCurrentSecret(models.pool, { current: testSecrets.current, others: [current] })).toBe(count);
  });

  it('is never taken for erased while Postgres is away: the log cannot be read then, and nothing is stored', async () => {
    await using proxy = await startPostgresProxy(models.url);
    const pool = openPatientPool(proxy.url, { max: 2, queryTimeoutMs: 2_000 });
    try {
      const store = withPersonalData(log.store, createPersonalKeys(pool, testSecrets));
      const account = await openedAccount();
      proxy.setAway(true);
      await expect(store.read(accountStream(account), 0)).rejects.toThrow(EventStoreUnavailable);
      const opening = openAccount(dependencies(store), { email, terms: plan, ...request, timeoutMs: 1_500 });
      await expect(opening).rejects.toThrow(NotStored);
      proxy.setAway(false);
      expect((await store.read(accountStream(account), 0))[0]?.data).toMatchObject({ personal: { email } });
    } finally {
      await pool.end();
    }
  });

  it('is still read in the clear form of older logs', async () => {
    const older = await openedAccount(log.store);
    expect((await stored(older))[0]).toMatchObject({ data: { personal: { email } }, metadata: { schema: 1 } });
    const [opened] = await openLog().read(accountStream(older), 0);
    expect(opened).toMatchObject({ data: { personal: { email } } });
    expect(opened?.stored).toBeUndefined();
    await invitePerson(dependencies(openLog()), { accountId: older, email: 'second@example.com', ...request });
    expect((await stored(older))[1]).toMatchObject({ metadata: { schema: 2 } });
  });

  it('is bound to its event: moved to another, it stays sealed, and only who reads that event is stopped', async () => {
    const [one, other] = [await openedAccount(), await openedAccount()];
    const [event] = await stored(one);
    const moved = { ...event, stream: accountStream(other) } as RecordedEvent;
    const forged: EventStore = { ...log.store, read: () => Promise.resolve([moved]) };
    const store = withPersonalData(forged, createPersonalKeys(models.pool, testSecrets));
    const [sealed] = await store.read(accountStream(other), 0);
    expect(sealed).toMatchObject({ data: event?.data, stored: event?.data });
    await expect(readAccount(store, other)).rejects.toThrow(UnreadableEvent);
  });
});
