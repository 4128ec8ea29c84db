import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { failQueued } from '../../commands/charged-account.ts';
import { queue } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, textOf } from '../browser.ts';
import { staffOfFile } from '../staff/staff-of-file.ts';

const service = await staffOfFile();

let owner: Browser;
let accountId: string;
let key: string;
let token: string;

beforeAll(async () => {
  const { cli, sampleUrl } = service.installation;
  accountId = await service.openAccount('downloads@example.com', 'dev_100');
  await cli(['accounts', 'terms', accountId, '--downloads', '0']);
  const issued = await cli<{ key: string }>(['keys', 'issue', accountId, '--label', 'nightly']);
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  key = issued.key;
  token = (await queue(service.api.url, key, { url: sampleUrl('bars') })).request_token;
  const isThere = async () => (await service.sql('select from jobs where token = $1', [token])).length === 1;
  await waitFor(isThere, { what: 'the download' });
});

/** As a worker records it. */
async function fail(): Promise<void> {
  const [job] = await service.sql<{ usage_stream: string; usage_revision: string }>(
    'select usage_stream, usage_revision from jobs where token = $1',
    [token],
  );
  const queued = { accountId, token, usageStream: job?.usage_stream ?? '', usageRevision: Number(job?.usage_revision) };
  await failQueued(service.commands, queued, { reason: 'private_video', fault: 'video' });
}

describe('filters of downloads', () => {
  it.each([
    [
      'from=24.11.2026&to=soon',
      'From: a day such as 2026-11-24 is expected. Before: a day such as 2026-11-24 is expected.',
    ],
    ['status=lost&format=film', 'State: choose one of the list. Format: choose one of the list.'],
    ['from=2026-11-24&to=2026-11-20', 'Before must be later than From.'],
  ])('that cannot be used, %s, are named as the page does', async (query, told) => {
    const refused = await owner.get(`/console/downloads?${query}`);
    expect([refused.status, textOf(refused)]).toEqual([400, expect.stringContaining(told) as string]);
  });

  it('find a download by the beginning of its key', async () => {
    const found = async (search: string) =>
      textOf(await owner.get(`/console/downloads?search=${encodeURIComponent(search)}`)).includes(token);
    expect(await found(key.slice(0, 8))).toBe(true);
    expect(await found(`${key.slice(0, 12)}…`)).toBe(true);
    expect(await found('rtk_nothing')).toBe(false);
  });
});

it('a failed download says what became of its charge, and costs what is left of it', async () => {
  const shown = async () => textOf(await owner.get(`/console/downloads/${token}`));
  await fail();
  await waitFor(async () => (await shown()).includes('State failed'), { what: 'the failure on the page' });
  expect(await shown()).toContain('Its charge stays: a download is charged when it is queued.');
  const decision = ['--reference', 'downloads-1', '--reason', 'a test', '--by', 'a tester'];
  await service.installation.cli(['ledger', 'waive', token, ...decision]);
  await waitFor(async () => (await shown()).includes('was given back'), { what: 'the waiver on the page' });
  const page = await shown();
  expect(page).toContain('Its charge of $0.25 was given back.');
  expect(page).not.toContain('Its charge stays');
  expect(page).toContain('Cost $0.00: $0.25, of which $0.25 was given back, charged here');
});
