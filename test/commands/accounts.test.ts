import { describe, expect, it } from 'vitest';
import {
  changeBillingDetails,
  invitePerson,
  issueApiKey,
  issueReferencedKey,
  openAccount,
  openFirstPeriod,
  readAccount,
  removePerson,
  revokeApiKey,
} from '../../src/commands/accounts.ts';
import { addMetadata } from '../../src/commands/handler/event-metadata.ts';
import { firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import { hashApiKey } from '../../src/commands/ids/api-key.ts';
import type { AccountEvent } from '../../src/domain/account-events.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { plan } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { logUnderTest } from './log-under-test.ts';
import { appendingBy } from './noted-reads.ts';
import { expectUnbrokenChain } from './unbroken-chain.ts';
import { freshCause, readUsage } from './usage-account.ts';

const log = logUnderTest();

const now = '2026-11-30T17:45:12.345Z';
const dependencies = () => ({ store: log.store, now: () => now, newUuid, newId, randomBits });
const request = {
  correlationId: 'req-1',
  actor: { type: 'staff', id: 'ann', role: 'support', reason: 'asked' } as const,
};
const asked = { ...request, timeoutMs: patienceMs };
const maxKeys = 20;
const owner = { email: 'owner@example.com', terms: plan };

async function open(): Promise<string> {
  const opened = await openAccount(dependencies(), { ...asked, ...owner });
  if (isRefused(opened)) throw new Error(opened.refusal);
  return opened.accountId;
}

async function issue(accountId: string, label = 'laptop') {
  const issued = await issueApiKey(dependencies(), { ...asked, accountId, label, maxKeys });
  if (isRefused(issued)) throw new Error(issued.refusal);
  return issued;
}

async function accountEvents(accountId: string) {
  const events = await log.store.read(`account-${accountId}`, 0);
  expectUnbrokenChain(events);
  return events;
}

describe('opening an account', () => {
  it('is two events: the account, and its first period with the same terms and dates', async () => {
    const accountId = await open();
    const [opened, ...rest] = await accountEvents(accountId);
    expect(rest).toEqual([]);
    expect(opened).toMatchObject({
      type: 'AccountOpened',
      data: { anchor_day: 30, terms: plan, personal: { email: owner.email } },
    });
    expect(opened?.metadata).toMatchObject({ $correlationId: 'req-1', actor: request.actor, time: now });
    const usage = await readUsage(log.store, `usage-${accountId}-20261130`);
    expect(usage.map(({ event }) => event)).toEqual([
      {
        type: 'UsagePeriodOpened',
        data: {
          account_id: accountId,
          anchor_day: 30,
          period_start: '2026-11-30T00:00:00.000Z',
          period_end: '2026-12-30T00:00:00.000Z',
          previous_period_start: null,
          terms: { ...plan, overage_cap_cents: null },
        },
      },
    ]);
  });

  it('that a crash cut in two is completed later, and once', async () => {
    const accountId = newId('acc');
    const stream = `account-${accountId}`;
    const event: AccountEvent = {
      type: 'AccountOpened',
      data: {
        account_id: accountId,
        terms: plan,
        anchor_day: 14,
        period_start: '2026-11-14T00:00:00.000Z',
        period_end: '2026-12-14T00:00:00.000Z',
        personal: { email: owner.email },
      },
    };
    const point = { stream, expected: 'no_stream', previousHash: firstPreviousHash(stream), time: now } as const;
    await log.store.append(stream, 'no_stream', addMetadata([{ event, cause: freshCause() }], point).events);
    const complete = () => openFirstPeriod(dependencies(), accountId, asked);
    expect(await Promise.all([complete(), complete(), complete()])).toEqual([undefined, undefined, undefined]);
    expect(await complete()).toBeUndefined();
    const usage = await readUsage(log.store, `usage-${accountId}-20261114`);
    expect(usage.map(({ event: { type } }) => type)).toEqual(['UsagePeriodOpened']);
  });

  it('under a reference is one account, however often and by however many it is asked for', async () => {
    const reference = `order ${newUuid()}`;
    const openAgain = () => openAccount(dependencies(), { ...asked, ...owner, reference });
    const answers = await Promise.all(Array.from({ length: 6 }, openAgain));
    const [first] = answers;
    if (first === undefined || isRefused(first)) throw new Error('it was not opened');
    expect([...answers, await openAgain()]).toEqual(Array(7).fill(first));
    expect(first).toEqual({ accountId: first.accountId, email: owner.email, plan: plan.plan });
    expect((await accountEvents(first.accountId)).map(({ type }) => type)).toEqual(['AccountOpened']);
    expect(await readUsage(log.store, `usage-${first.accountId}-20261130`)).toHaveLength(1);
    const other = { ...owner, email: 'other@example.com', reference };
    expect(await openAccount(dependencies(), { ...asked, ...other })).toEqual(first);
    expect(await openAccount(dependencies(), { ...asked, ...other, reference: `${reference}!` })).toMatchObject({
      accountId: expect.not.stringContaining(first.accountId) as unknown,
      email: other.email,
    });
  });

  it('under a reference, which a crash cut in two, is completed when it is asked for again', async () => {
    const reference = newUuid();
    const cut = appendingBy(log.store, (stream, ...rest) =>
      stream.startsWith('usage-') ? Promise.reject(new Error('the crash')) : log.store.append(stream, ...rest),
    );
    const opening = { ...asked, ...owner, reference };
    await expect(openAccount({ ...dependencies(), store: cut }, opening)).rejects.toThrow('the crash');
    const opened = await openAccount(dependencies(), opening);
    if (isRefused(opened)) throw new Error(opened.refusal);
    expect((await accountEvents(opened.accountId)).map(({ type }) => type)).toEqual(['AccountOpened']);
    expect(await readUsage(log.store, `usage-${opened.accountId}-20261130`)).toHaveLength(1);
  });

  it('cannot be completed for an account that is not there', async () => {
    expect(await openFirstPeriod(dependencies(), newId('acc'), asked)).toEqual({ refusal: 'account_not_found' });
  });
});

describe('a key', () => {
  it('is shown once and stored as its hash and its prefix', async () => {
    const accountId = await open();
    const { key, keyId, keyPrefix, createdAt, label } = await issue(accountId, 'laptop');
    expect({ createdAt, label }).toEqual({ createdAt: now, label: 'laptop' });
    const [, issued] = await accountEvents(accountId);
    expect(issued?.data).toEqual({
      account_id: accountId,
      key_id: keyId,
      key_hash: hashApiKey(key),
      key_prefix: keyPrefix,
      personal: { label: 'laptop' },
    });
    const everything = JSON.stringify(await accountEvents(accountId), (_name, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(everything).not.toContain(key);
  });

  it('under a reference is issued once to its account, and shown to one of those who ask', async () => {
    const [accountId, other] = [await open(), await open()];
    const issueUnder = async (account: string, reference: string) => {
      const issued = await issueReferencedKey(dependencies(), {
        ...asked,
        accountId: account,
        maxKeys,
        label: 'bot',
        reference,
      });
      if (isRefused(issued)) throw new Error(issued.refusal);
      return issued;
    };
    const answers = await Promise.all(Array.from({ length: 6 }, () => issueUnder(accountId, 'deploy 1')));
    const shown = answers.filter(({ key }) => key !== null);
    expect(shown).toHaveLength(1);
    for (const answer of [...answers, await issueUnder(accountId, 'deploy 1')])
      expect({ ...answer, key: null }).toEqual({ ...shown[0], key: null });
    expect((await accountEvents(accountId)).map(({ type }) => type)).toEqual(['AccountOpened', 'ApiKeyIssued']);
    const ids = [shown[0], await issueUnder(accountId, 'deploy 2'), await issueUnder(other, 'deploy 1')];
    expect(new Set(ids.map((issued) => issued?.keyId)).size).toBe(3);
    await revokeApiKey(dependencies(), { ...asked, accountId, keyId: shown[0]?.keyId ?? '' });
    expect(await issueUnder(accountId, 'deploy 1')).toMatchObject({ revoked: true, key: null });
  });

  it('is revoked once, however often it is asked for', async () => {
    const accountId = await open();
    const { keyId } = await issue(accountId);
    const revoke = () => revokeApiKey(dependencies(), { ...asked, accountId, keyId });
    expect(await Promise.all([revoke(), revoke()])).toMatchObject([{ revoked: true }, { revoked: true }]);
    expect(await revoke()).toMatchObject({ keyId, revoked: true });
    expect((await accountEvents(accountId)).map(({ type }) => type)).toEqual([
      'AccountOpened',
      'ApiKeyIssued',
      'ApiKeyRevoked',
    ]);
  });

  it('of an account that is not there, or that nobody issued, is refused', async () => {
    const [nobody, accountId] = [newId('acc'), await open()];
    const unknown = await issueApiKey(dependencies(), { ...asked, accountId: nobody, label: '', maxKeys });
    expect(unknown).toEqual({ refusal: 'account_not_found' });
    const revoked = await revokeApiKey(dependencies(), { ...asked, accountId, keyId: newId('key') });
    expect(revoked).toEqual({ refusal: 'key_not_found' });
  });

  it('can be issued many times at one time: whoever meets a conflict decides again', async () => {
    const accountId = await open();
    const keys = await Promise.all(Array.from({ length: 12 }, (_, index) => issue(accountId, `key ${index}`)));
    expect(new Set(keys.map(({ key }) => key)).size).toBe(12);
    const account = await readAccount(log.store, accountId);
    expect([...account.keys.keys()].sort()).toEqual(keys.map(({ keyId }) => keyId).sort());
    expect(await accountEvents(accountId)).toHaveLength(13);
  });
});

describe('the people of an account', () => {
  it('are invited once by an address, however often they are at one time, and removed once', async () => {
    const accountId = await open();
    const invite = (email: string) => invitePerson(dependencies(), { ...asked, accountId, email });
    const [ada, ...again] = await Promise.all(['ada@example.com', 'Ada@example.com'].map(invite));
    if (!ada || isRefused(ada)) throw new Error('nobody was invited');
    for (const other of [...again, await invite('ADA@example.com')]) expect(other).toEqual(ada);
    const remove = () => removePerson(dependencies(), { ...asked, accountId, personId: ada.personId });
    for (const removed of await Promise.all([remove(), remove()])) expect(removed).toEqual({ ...ada, removed: true });
    expect((await accountEvents(accountId)).map(({ type }) => type)).toEqual([
      'AccountOpened',
      'PersonInvited',
      'PersonRemoved',
    ]);
  });

  it('of which one always stays: two who remove each other at one time do not both succeed', async () => {
    const accountId = await open();
    await invitePerson(dependencies(), { ...asked, accountId, email: 'ada@example.com' });
    const { people } = await readAccount(log.store, accountId);
    const removals = [...people.keys()].map((personId) =>
      removePerson(dependencies(), { ...asked, accountId, personId }),
    );
    const refused = (await Promise.all(removals)).filter(isRefused);
    expect(refused).toEqual([{ refusal: 'last_person' }]);
  });

  it('are refused for an account that is not there', async () => {
    const nobody = { ...asked, accountId: newId('acc') };
    const refused = { refusal: 'account_not_found' };
    expect(await invitePerson(dependencies(), { ...nobody, email: 'ada@example.com' })).toEqual(refused);
    expect(await removePerson(dependencies(), { ...nobody, personId: newId('per') })).toEqual(refused);
  });
});

describe('the billing details of an account', () => {
  it('are changed by one of its people, and changes at the same time keep one another', async () => {
    const accountId = await open();
    const actor = { type: 'owner', id: accountId.replace('acc_', 'per_') } as const;
    const change = (details: Parameters<typeof changeBillingDetails>[1]['details']) =>
      changeBillingDetails(dependencies(), { ...asked, actor, accountId, details });
    await Promise.all([change({ name: 'Ada Ltd' }), change({ country: 'GB' }), change({ address_lines: ['London'] })]);
    const all = { name: 'Ada Ltd', address_lines: ['London'], country: 'GB', tax_id: null };
    expect(await change({ tax_id: 'GB1' })).toEqual({ ...all, tax_id: 'GB1' });
    expect((await readAccount(log.store, accountId)).billing).toEqual({ ...all, tax_id: 'GB1' });
    const [, ...changes] = await accountEvents(accountId);
    expect(changes).toHaveLength(4);
    expect(changes[3]?.metadata).toMatchObject({ actor });
  });
});
