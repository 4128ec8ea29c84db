import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConnectedEventStore, connectEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { usageOrigin } from '../../../src/commands/usage/usage-cache.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { ask, freshCause, writersOf } from '../../commands/usage-account.ts';
import { call } from '../../support/client.ts';
import type { Browser } from '../browser.ts';
import { consoleOfFile } from './console-of-file.ts';

/** An account between the two steps of its closing: its last period has ended, and no dispatcher takes the second step here. */
const service = await consoleOfFile();
let store: ConnectedEventStore;
let owner: Browser;
let keyId: string;
let key: string;

beforeAll(async () => {
  const account = await service.installation.openAccount('dev_100');
  const { accountId } = account;
  ({ keyId, key } = account);
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  const [first] = await service.installation.readLog(`usage-${accountId}-`);
  const { stream = '' } = first ?? {};
  store = connectEventStore({ url: service.installation.environment.EVENTSTORE_URL });
  const usage = { accountId, stream, origin: usageOrigin(stream) };
  const writers = writersOf(store, () => new Date().toISOString());
  const actor = { type: 'staff', id: 'maria', role: 'operator', reason: 'the owner asked' } as const;
  const closed = await ask(writers, usage, { kind: 'close_account' }, { cause: { ...freshCause(), actor } });
  expect(closed.outcome).toBe('accepted');
});

afterAll(() => store.close());

test.each([
  ['/console/settings/cap', { dollars: '5', effective: 'now' }],
  ['/console/settings/plan/studio_500', { difference_cents: '4000' }],
  ['/console/keys/KEY/limit', { downloads: '5', dollars: '', until: '' }],
])('an owner is told that nothing changes any more: %s', async (path, fields) => {
  const refused = await owner.post(path.replace('KEY', keyId), fields);
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('This account is closed, and cannot be changed.');
});

test('no price of another plan is shown', async () => {
  const page = await owner.get('/console/settings/plan/studio_500');
  expect(page.status).toBe(400);
  expect(page.text).toContain('This account is closed');
});

test('its keys are refused with a text that says so', async () => {
  const refused = await call(service.api.url, '/credits', { key });
  expect([refused.status, refused.message]).toEqual([401, expect.stringContaining('is closed') as string]);
});

test('an operator is told so', async () => {
  const limiting = service.installation.cli(['keys', 'limit', keyId, '--downloads', '5']);
  await expect(limiting).rejects.toThrow(/the account is closed/);
});
