import { expect, it } from 'vitest';
import { returnServiceFailure } from '../../../src/commands/return-service-failure.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { failQueued } from '../../commands/charged-account.ts';
import { call } from '../../support/client.ts';
import { queue } from '../../support/downloads.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { textOf } from '../browser.ts';
import { staffOfFile } from '../staff/staff-of-file.ts';

const service = await staffOfFile();

it("usage by key shows each key's requests, and those that its hourly limit refused", async () => {
  const { cli, sampleUrl } = service.installation;
  const { url } = service.api;
  const accountId = await service.openAccount('by-key@example.com');
  const owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  const page = async () => textOf(await owner.get('/console/keys/usage'));
  expect(await page()).toContain('Nothing was asked for in this period.');
  await cli(['accounts', 'terms', accountId, '--hourly', '4']);
  const [nightly, manual] = await Promise.all(
    ['nightly', 'manual'].map((label) => cli<{ key: string }>(['keys', 'issue', accountId, '--label', label])),
  );
  const isLimited = async () =>
    (await service.sql('select from hourly_limits where account_id = $1 and hourly_limit = 4', [accountId])).length > 0;
  await waitFor(isLimited, { what: 'the limit' });
  const ask = async (key: string | undefined) => (await call(url, '/credits', { key: key ?? '' })).status;
  const { status } = await call(url, '/video/download', { key: nightly?.key ?? '', body: { url: sampleUrl('bars') } });
  const asked = [
    status,
    await ask(nightly?.key),
    await ask(nightly?.key),
    await ask(nightly?.key),
    await ask(nightly?.key),
    await ask(nightly?.key),
  ];
  expect(asked).toEqual([202, 200, 200, 200, 429, 429]);
  expect(await ask(manual?.key)).toBe(200);
  const isShown = async () =>
    / nightly \(rtk_\w{8}\) 4 2 1 0 \$0\.00 manual \(rtk_\w{8}\) 1 0 0 0 \$0\.00 All 2 5 2 1 0 \$0\.00 /.test(
      await page(),
    );
  await waitFor(isShown, { what: 'the counts on the page' });
  expect(await page()).toContain('Requests of each day by key.');
  expect(await page()).not.toContain('Requests are counted since');
});

it('usage by key says since when requests are counted, and which downloads the overview leaves out', async () => {
  const { cli, sampleUrl } = service.installation;
  const accountId = await service.openAccount('since@example.com', 'dev_100');
  const owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  const { key, key_id: keyId } = await cli<{ key: string; key_id: string }>(['keys', 'issue', accountId]);
  const { request_token: token } = await queue(service.api.url, key, { url: sampleUrl('bars') });
  const counted = 'select from key_requests where account_id = $1';
  await waitFor(async () => (await service.sql(counted, [accountId])).length > 0, { what: 'the count' });
  const page = async () => textOf(await owner.get('/console/keys/usage'));
  await service.sql('update key_requests set day = day + 1 where account_id = $1 and key_id = $2', [accountId, keyId]);
  expect(await page()).toMatch(/Requests are counted since \w{3} \d{4}-\d\d-\d\d ?\./);
  await service.sql('delete from key_requests where account_id = $1', [accountId]);
  expect(await page()).toContain('No request has been counted yet.');
  expect(await page()).not.toContain('the overview counts');
  const [job] = await service.sql<{ usage_stream: string; usage_revision: string }>(
    'select usage_stream, usage_revision from jobs where token = $1',
    [token],
  );
  const queued = { accountId, token, usageStream: job?.usage_stream ?? '', usageRevision: Number(job?.usage_revision) };
  await failQueued(service.commands, queued, { reason: 'private_video', fault: 'service' });
  const dependencies = { ...service.commands, readCredits: () => Promise.resolve(undefined) };
  expect(await returnServiceFailure(dependencies, { token, timeoutMs: patienceMs })).toBe('credit_returned');
  const told = 'Downloads are all that were queued; the overview counts 0, without those that were';
  await waitFor(async () => (await page()).includes(told), { what: 'the return of the credit on the page' });
});
