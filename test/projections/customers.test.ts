import { expect, it } from 'vitest';
import { readCustomers } from '../../projections/customers.ts';
import { listPeopleOfAddress, people } from '../../projections/people.ts';
import { search } from '../../projections/queries/search-by-id-or-number.ts';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { rebuildUnsigned } from '../../projections/runner/unsigned-rows.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { changeBillingDetails, invitePerson, openAccount, removePerson } from '../../src/commands/accounts.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { midNovember } from '../commands/usage-account.ts';
import { plan } from '../domain/usage-examples.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { readModelsOfFile, readModelsOfTest, silent, testMacs, testSecrets } from './read-models-under-test.ts';

/** A word that no other test has. */
const fresh = () => `x${newUuid().replaceAll('-', '')}`;

const log = logUnderTest();
const models = readModelsOfFile(log, people);

const dependencies = () => ({ store: log.store, now: () => midNovember, newUuid, newId, randomBits });
const request = { correlationId: 'req-1', actor: { type: 'system', id: 'test' } as const, timeoutMs: patienceMs };

async function open(email: string): Promise<string> {
  const opened = await openAccount(dependencies(), { ...request, email, terms: plan });
  if (isRefused(opened)) throw new Error(opened.refusal);
  return opened.accountId;
}

async function bill(accountId: string, change: { name?: string | null; tax_id?: string | null }): Promise<void> {
  const changed = await changeBillingDetails(dependencies(), { ...request, accountId, details: change });
  if (isRefused(changed)) throw new Error(changed.refusal);
}

async function nameOf(accountId: string, macs = testMacs): Promise<string | undefined> {
  await models.caughtUp();
  return (await readCustomers(models.pool, { accountIds: [accountId], macs })).get(accountId);
}

async function find(text: string): Promise<(string | null)[][]> {
  await models.caughtUp();
  const hits = await search({ client: models.pool, macs: testMacs, platforms: {} }, text);
  return hits.map((hit) => [hit.kind, hit.account_id]);
}

it('an account is called by its name on invoices, else by the address that it was opened with', async () => {
  const email = `${fresh()}@example.com`;
  const accountId = await open(email);
  expect(await nameOf(accountId)).toBe(email);
  await bill(accountId, { name: 'Müller & Söhne GmbH' });
  expect(await nameOf(accountId)).toBe('Müller & Söhne GmbH');
  await bill(accountId, { name: null });
  expect(await nameOf(accountId)).toBe(email);
});

it('Postgres holds neither names nor addresses, and only the secret reads them', async () => {
  const accountId = await open(`${fresh()}@example.com`);
  await bill(accountId, { name: 'Readable Ltd', tax_id: 'DE123456789' });
  expect(await nameOf(accountId)).toBe('Readable Ltd');
  const { rows } = await models.pool.query(
    'select * from customers c join people p using (account_id) where account_id = $1',
    [accountId],
  );
  expect(JSON.stringify(rows)).not.toMatch(/readable|example|123456789/i);
  const strange = createRowMacs(
    { current: deriveKeys('another secret, long enough too'), others: [] },
    { logger: silent },
  );
  expect(await nameOf(accountId, strange)).toBeUndefined();
  const rotated = createRowMacs(
    { current: deriveKeys('another secret, long enough too'), others: [testSecrets.current] },
    { logger: silent },
  );
  expect(await nameOf(accountId, rotated)).toBe('Readable Ltd');
  await models.pool.query("update customers set customer = customer || 'AA' where account_id = $1", [accountId]);
  expect(await nameOf(accountId)).toBeUndefined();
});

it('a name is found by the beginnings of its words, in any order and without accents', async () => {
  const word = fresh().slice(0, 16);
  const accountId = await open(`${fresh()}@example.com`);
  await bill(accountId, { name: `Müller ${word} & Söhne GmbH` });
  const hit = [['customer', accountId]];
  for (const text of [word, word.slice(0, 12), word.toUpperCase(), `muller ${word}`, `${word}, Söh`, `${word} gmbh`])
    expect([text, await find(text)]).toEqual([text, hit]);
  for (const text of [word.slice(1), `${word} Inc`, `${word}x`]) expect([text, await find(text)]).toEqual([text, []]);
  await bill(accountId, { name: 'Another name' });
  expect(await find(word)).toEqual([]);
});

it('a tax ID is found in any spelling', async () => {
  const digits = String(Date.parse(midNovember)).slice(0, 9);
  const accountId = await open(`${fresh()}@example.com`);
  await bill(accountId, { tax_id: `DE ${digits}` });
  for (const text of [`DE${digits}`, `de.${digits.slice(0, 3)}.${digits.slice(3)}`, `DE ${digits}`, `de-${digits}`])
    expect([text, await find(text)]).toEqual([text, [['customer', accountId]]]);
  expect(await find(`DE${digits.slice(1)}`)).toEqual([]);
});

it('a domain finds the people who have an address there', async () => {
  const domain = `${fresh()}.example`;
  const accountId = await open(`ada@${domain}`);
  const other = await open(`${fresh()}@example.com`);
  const invited = await invitePerson(dependencies(), {
    ...request,
    accountId: other,
    email: `Bob@${domain.toUpperCase()}`,
  });
  if (isRefused(invited)) throw new Error(invited.refusal);
  for (const text of [domain, `@${domain}`, ` @${domain.toUpperCase()}`])
    expect((await find(text)).sort()).toEqual([accountId, other].sort().map((id) => ['person', id]));
  await removePerson(dependencies(), { ...request, accountId: other, personId: invited.personId });
  expect(await find(domain)).toEqual([['person', accountId]]);
});

it('a rebuild makes the same rows, whatever it encrypts them with', async () => {
  await open(`${fresh()}@example.com`);
  await models.caughtUp();
  const { tables } = await rebuild(people, {
    store: log.store,
    pool: models.openAnother(),
    macs: testMacs,
    progress: () => undefined,
  });
  expect(tables).toMatchObject([
    { name: 'people', missing: 0, surplus: 0 },
    { name: 'customers', missing: 0, surplus: 0 },
  ]);
});

it('a database from before there were customers has them once a projector starts, and people sign in meanwhile', async () => {
  const domain = `${fresh()}.example`;
  const email = `ada@${domain}`;
  const accountId = await open(email);
  const upgraded = await readModelsOfTest(log.store, [people]);
  await upgraded.caughtUp();
  await upgraded.pool.query('update people set domain_mac = null; delete from customers');
  expect(await listPeopleOfAddress(upgraded.pool, { email, macs: testMacs, limit: 10 })).toHaveLength(1);
  const rebuilding = rebuildUnsigned([people], {
    store: log.store,
    macs: testMacs,
    logger: silent,
    pool: upgraded.openAnother(),
  });
  const name = async () =>
    (await readCustomers(upgraded.pool, { accountIds: [accountId], macs: testMacs })).get(accountId);
  await waitFor(async () => (await name()) !== undefined, { what: 'the name of the account' });
  await rebuilding.stop();
  expect(await name()).toBe(email);
  const { rows } = await upgraded.pool.query('select from people where domain_mac is null');
  expect(rows).toEqual([]);
});
