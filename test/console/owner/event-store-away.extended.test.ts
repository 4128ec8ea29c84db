import { afterAll, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { waitFor } from '../../support/wait-for.ts';
import { consoleOfFile } from './console-of-file.ts';

const service = await consoleOfFile();
const { installation } = service;

afterAll(() => installation.wakeEventStore());

it('while the event store is silent, pages that need it say so, all others go on, and nothing is half done', async () => {
  const accountId = await service.openAccount('owner@example.com', 'dev_100');
  const browser = await service.newSession({ accountId, personId: openerOf(accountId) });
  expect((await browser.get('/console')).status).toBe(200);
  installation.silenceEventStore();
  const needing = ['/console', '/console/settings', '/console/invoices/draft'];
  const answers = await Promise.all(needing.map((path) => browser.get(path)));
  for (const { status, text } of answers)
    expect([status, text.includes('Not available at the moment')]).toEqual([503, true]);
  for (const path of ['/console/downloads', '/console/invoices', '/console/try'])
    expect([path, (await browser.get(path)).status]).toEqual([path, 200]);
  const changed = await browser.post('/console/settings/cap', { dollars: '5', effective: 'now' });
  expect(changed.status).toBe(503);
  installation.wakeEventStore();
  await waitFor(async () => (await browser.get('/console')).status === 200, {
    what: 'the overview',
  });
  expect((await browser.post('/console/settings/cap', { dollars: '7', effective: 'now' })).status).toBe(303);
  expect((await browser.get('/console')).text).toContain('Cap $7.00');
});
