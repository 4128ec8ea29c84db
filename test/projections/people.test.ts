import { expect, it } from 'vitest';
import { listPeopleOfAddress, people } from '../../projections/people.ts';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { rebuildUnsigned } from '../../projections/runner/unsigned-rows.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { invitePerson, openAccount, removePerson } from '../../src/commands/accounts.ts';
import { openerOf } from '../../src/domain/people.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { midNovember } from '../commands/usage-account.ts';
import { plan } from '../domain/usage-examples.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { readModelsOfFile, readModelsOfTest, silent, testMacs, testSecrets } from './read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, people);

const dependencies = (now = midNovember) => ({ store: log.store, now: () => now, newUuid, newId, randomBits });
const request = { correlationId: 'req-1', actor: { type: 'system', id: 'test' } as const, timeoutMs: patienceMs };
const later = '2026-11-15T12:00:00.000Z';

/** An address that no other test has. */
const freshAddress = () => `Ada.${newUuid()}@Example.org`;

async function open(email: string): Promise<{ accountId: string; personId: string }> {
  const opened = await openAccount(dependencies(), { ...request, email, terms: plan });
  if (isRefused(opened)) throw new Error(opened.refusal);
  return { accountId: opened.accountId, personId: openerOf(opened.accountId) };
}

async function invite(accountId: string, email: string): Promise<{ accountId: string; personId: string }> {
  const invited = await invitePerson(dependencies(later), { ...request, accountId, email });
  if (isRefused(invited)) throw new Error(invited.refusal);
  return { accountId, personId: invited.personId };
}

const remove = ({ accountId, personId }: { accountId: string; personId: string }) =>
  removePerson(dependencies(later), { ...request, accountId, personId });

/** As a row has it. */
const rowOf = ({ accountId, personId }: { accountId: string; personId: string }, since: string) => ({
  account_id: accountId,
  person_id: personId,
  since,
});

const ofAddress = (email: string, macs = testMacs, page: { after?: string; limit?: number } = {}) =>
  listPeopleOfAddress(models.pool, { email, macs, limit: 10, ...page });

it('an address finds the accounts of its people, opened and joined, however it is written', async () => {
  const address = freshAddress();
  const [own, other] = [await open(address), await open(freshAddress())];
  const joined = await invite(other.accountId, address.toLowerCase());
  await models.caughtUp();
  const expected = [rowOf(own, midNovember), rowOf(joined, later)].sort((one, two) =>
    one.account_id < two.account_id ? -1 : 1,
  );
  for (const written of [address, address.toUpperCase()]) expect(await ofAddress(written)).toEqual(expected);
  expect(await ofAddress(address, testMacs, { limit: 1 })).toEqual(expected.slice(0, 1));
  expect(await ofAddress(address, testMacs, { after: expected[0]!.account_id })).toEqual(expected.slice(1));
  expect(await ofAddress(freshAddress())).toEqual([]);
});

it('somebody removed is found no more, and may be invited again', async () => {
  const address = freshAddress();
  const { accountId } = await open(freshAddress());
  const invited = await invite(accountId, address);
  await models.caughtUp();
  expect(await ofAddress(address)).toEqual([rowOf(invited, later)]);
  await remove(invited);
  await models.caughtUp();
  expect(await ofAddress(address)).toEqual([]);
  const again = await invite(accountId, address);
  await models.caughtUp();
  expect(await ofAddress(address)).toEqual([rowOf(again, later)]);
});

it('Postgres has no address, and nothing that tells one without the secret', async () => {
  const address = freshAddress();
  await open(address);
  await models.caughtUp();
  const { rows } = await models.pool.query<{ row: string; email_mac: string }>(
    'select to_jsonb(p)::text as row, email_mac from people p',
  );
  const all = rows
    .map(({ row }) => row)
    .join('\n')
    .toLowerCase();
  expect(all).not.toContain(address.slice(4, 40).toLowerCase());
  expect(all).not.toContain('example.org');
  for (const { email_mac: mac } of rows) expect(mac).toMatch(new RegExp(`^${testSecrets.current.id}\\.[0-9a-f]{64}$`));
});

it('rows made under an older secret are found, and a rebuild under the new one finds nothing wrong', async () => {
  const address = freshAddress();
  const own = await open(address);
  await models.caughtUp();
  const next = deriveKeys('a secret that follows the first');
  const rotated = createRowMacs({ current: next, others: [testSecrets.current] }, { logger: silent });
  expect(await ofAddress(address, rotated)).toEqual([rowOf(own, midNovember)]);
  const pool = models.openAnother();
  const { tables } = await rebuild(people, { store: log.store, macs: rotated, pool, progress: () => undefined });
  expect(tables).toMatchObject([
    { name: 'people', missing: 0, surplus: 0 },
    { name: 'customers', missing: 0, surplus: 0 },
  ]);
  expect(await ofAddress(address, rotated)).toEqual([rowOf(own, midNovember)]);
  expect(await ofAddress(address)).toEqual([]);
});

it('rows under a secret that is not named any more are made anew when a projector starts', async () => {
  const address = freshAddress();
  const own = await open(address);
  const fresh = await readModelsOfTest(log.store, [people]);
  await fresh.caughtUp();
  const macs = createRowMacs({ current: deriveKeys('another secret of the future'), others: [] }, { logger: silent });
  const find = () => listPeopleOfAddress(fresh.pool, { email: address, macs, limit: 10 });
  expect(await find()).toEqual([]);
  const pool = fresh.openAnother();
  const rebuilding = rebuildUnsigned([people], { store: log.store, pool, macs, logger: silent });
  await waitFor(async () => (await find()).length === 1, { what: 'rows under the new secret' });
  await rebuilding.stop();
  expect(await find()).toEqual([rowOf(own, midNovember)]);
});
