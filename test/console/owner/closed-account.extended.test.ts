import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectedEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { recordClosing } from '../../../src/commands/accounts.ts';
import { usageOrigin } from '../../../src/commands/usage/usage-cache.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { ask, freshCause, writersOf } from '../../commands/usage-account.ts';
import { call } from '../../support/client.ts';
import { connectLogWithKeys } from '../../support/log-with-keys.ts';
import { openPatientPool } from '../../support/patient-pool.ts';
import type { OpenedAccount } from '../../support/service.ts';
import type { Browser } from '../browser.ts';
import { consoleOfFile } from './console-of-file.ts';

/** The answers to an owner who is signed in while the account is closed. There is no dispatcher. */
const service = await consoleOfFile();
const staff = { type: 'staff', id: 'maria', role: 'operator', reason: 'the owner asked' } as const;
const now = () => new Date().toISOString();
const closedText = 'This account is closed, and cannot be changed.';
let pool: Pool;
let store: ConnectedEventStore;
let account: OpenedAccount;
let owner: Browser;

beforeAll(() => {
  const { EVENTSTORE_URL: url, DATABASE_URL: databaseUrl } = service.installation.environment;
  pool = openPatientPool(databaseUrl, { max: 1 });
  store = connectLogWithKeys({ url, pool, secrets: service.secrets });
});

afterAll(() => Promise.all([store.close(), pool.end()]));

async function openAccount(): Promise<void> {
  account = await service.installation.openAccount('dev_100');
  const { accountId } = account;
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
}

describe('whose last period has ended, and whose keys are not revoked yet', () => {
  beforeAll(async () => {
    await openAccount();
    const { accountId } = account;
    const [first] = await service.installation.readLog(`usage-${accountId}-`);
    const { stream = '' } = first ?? {};
    const usage = { accountId, stream, origin: usageOrigin(stream) };
    const cause = { ...freshCause(), actor: staff };
    const closed = await ask(writersOf(store, now), usage, { kind: 'close_account' }, { cause });
    expect(closed.outcome).toBe('accepted');
  });

  test.each([
    ['/console/settings/cap', { dollars: '5', effective: 'now' }],
    ['/console/settings/plan/studio_500', { difference_cents: '4000' }],
    ['/console/keys/KEY/limit', { downloads: '5', dollars: '', until: '' }],
  ])('%s', async (path, fields) => {
    const refused = await owner.post(path.replace('KEY', account.keyId), fields);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(closedText) as string]);
  });

  test('no price of another plan is shown', async () => {
    const page = await owner.get('/console/settings/plan/studio_500');
    expect([page.status, page.text]).toEqual([400, expect.stringContaining(closedText) as string]);
  });

  test('its keys are refused with a text that says so', async () => {
    const refused = await call(service.api.url, '/credits', { key: account.key });
    expect([refused.status, refused.message]).toEqual([401, expect.stringContaining('is closed') as string]);
  });

  test('an operator is told so', async () => {
    const limiting = service.installation.cli(['keys', 'limit', account.keyId, '--downloads', '5']);
    await expect(limiting).rejects.toThrow(/the account is closed/);
  });
});

describe('whose keys are revoked, while no read model has it', () => {
  beforeAll(async () => {
    await openAccount();
    service.projector.pause();
    const { accountId } = account;
    const request = { accountId, actor: staff, correlationId: newUuid(), timeoutMs: 5_000 };
    expect(await recordClosing({ store, now, newUuid }, request)).toMatchObject({ closed: true });
  });

  afterAll(() => {
    service.projector.resume();
  });

  test.each([
    ['/console/keys', { label: 'another' }],
    ['/console/keys/KEY/revoke', {}],
    ['/console/settings/closing', {}],
  ])('%s', async (path, fields) => {
    const refused = await owner.post(path.replace('KEY', account.keyId), fields);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(closedText) as string]);
  });

  test('a program that asks for a key is told so', async () => {
    const refused = await call(service.api.url, '/auth/key', { method: 'POST', key: account.key });
    expect([refused.status, refused.message]).toEqual([401, expect.stringContaining('is closed') as string]);
  });
});
