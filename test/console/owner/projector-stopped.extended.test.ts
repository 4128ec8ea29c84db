import { afterAll, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { waitFor } from '../../support/wait-for.ts';
import { consoleOfFile } from './console-of-file.ts';

const service = await consoleOfFile();

afterAll(() => service.projector.resume());

it('while the projector stands still, a page says that a change is recorded and not yet in force', async () => {
  const accountId = await service.openAccount('owner@example.com');
  const issued = await service.installation.cli<{ key_id: string }>(['keys', 'issue', accountId, '--label', 'a key']);
  const browser = await service.newSession({ accountId, personId: openerOf(accountId) });
  service.projector.pause();
  const answers = await Promise.all([
    browser.post('/console/settings/people', { email: 'mate@example.com' }),
    browser.post('/console/keys', { label: 'never shown' }),
    browser.post(`/console/keys/${issued.key_id}/revoke`),
  ]);
  for (const { status, text } of answers) {
    expect([status, text.includes('Recorded, but not yet in force')]).toEqual([503, true]);
    expect(text).not.toMatch(/Nothing was changed|rtk_/);
  }
  // What needs no read model goes on.
  expect((await browser.post('/console/settings/cap', { dollars: '5', effective: 'now' })).status).toBe(303);
  expect((await browser.get('/console')).text).toContain('Cap $5.00');
  service.projector.resume();
  await waitFor(async () => (await browser.get('/console/settings')).text.includes('mate@example.com'), {
    what: 'the person',
  });
  await waitFor(async () => (await browser.get('/console/keys')).text.includes('Revoked keys (1)'), {
    what: 'the key',
  });
  expect((await browser.get('/console/keys')).text).toContain('never shown');
});
