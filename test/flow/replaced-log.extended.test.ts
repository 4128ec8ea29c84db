import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runSql } from '../http/engines-behind.ts';
import { noDownloads } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { planFile } from '../support/plans.ts';
import { type OpenedAccount, runCommand, type Service, startService } from '../support/service.ts';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** An operator puts an older copy of the log in its place, and keeps the newer Postgres. */
const directory = makeTemporaryDirectory();
let service: Service;
let used: OpenedAccount;
let fresh: OpenedAccount;

beforeAll(async () => {
  const plans = planFile({ downloads_limit: 0, overage_cents: 5, fee_cents: 1 });
  service = await startService({ ...noDownloads, PLANS_FILE: plans }, { postgres: 'of the run' });
  used = await service.openAccount('test');
  fresh = await service.openAccount('test');
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const download = ({ key }: OpenedAccount) =>
  call(service.url, '/video/download', { key, body: { url: service.sampleUrl('private') } });

const ready = async () => {
  const response = await fetch(new URL('/readyz', service.url));
  return { status: response.status, text: await response.text() };
};

const run = (...words: string[]) => runCommand(words, { REELTALLY_DATA: service.dataDirectory });

async function replaceLog(change: () => void): Promise<void> {
  await service.stop();
  change();
  service = await service.restart();
}

const reason = /the log was replaced by an older one; \\?"projections rebuild all --from-older-log\\?"/;

it('nothing is accepted, charged or shown until the read models are made anew', async () => {
  const [folder, copy] = [join(service.dataDirectory, 'event-store'), join(directory, 'copy')];
  await replaceLog(() => cpSync(folder, copy, { recursive: true }));
  for (let number = 0; number < 8; number += 1) expect((await download(used)).status).toBe(202);
  await service.cli('accounts', 'usage', used.accountId);
  await replaceLog(() => {
    rmSync(folder, { recursive: true });
    cpSync(copy, folder, { recursive: true });
  });

  // From the first request on, and for everybody: the row of the account that was not used is the same in both logs.
  const refused = { status: 503, code: 'unavailable' };
  for (let number = 0; number < 26; number += 1) expect(await download(fresh)).toMatchObject(refused);
  const ofUsed = await call(service.url, '/credits', { key: used.key });
  expect(ofUsed).toMatchObject(refused);
  // The row of the other log is not shown, and not remembered: the rows that are made anew count fewer events.
  expect(ofUsed.headers.get('x-credits-remaining')).toBe('0');
  expect(await ready()).toEqual({ status: 503, text: expect.stringMatching(reason) as string });
  const all = await runSql(service, "select from checkpoints where seen_id is not null and name <> 'dispatch'");
  await waitFor(async () => (await runSql(service, 'select from refused_readers')) >= all, { what: 'all to refuse' });
  expect(await runSql(service, "select from refused_readers where name = 'dispatch'")).toBe(1);

  const status = await run('projections', 'status', '--json');
  expect(status).toMatchObject({ code: 1, stderr: expect.stringMatching(reason) as string });
  const { projections, dispatcher } = JSON.parse(status.stdout) as {
    projections: { name: string; state: string; lag: number | null }[];
    dispatcher: string;
  };
  expect(dispatcher).toBe('refused');
  expect(projections.find(({ name }) => name === 'overage_ledger')).toMatchObject({ state: 'refused', lag: null });
  for (const command of [
    ['ledger', 'show', used.accountId],
    ['accounts', 'usage', used.accountId],
  ])
    expect(await run(...command)).toMatchObject({ code: 1, stderr: expect.stringMatching(reason) as string });

  expect((await run('projections', 'rebuild', 'all')).code).toBe(1);
  expect((await run('projections', 'rebuild', 'all', '--from-older-log')).code).toBe(0);
  await replaceLog(() => undefined);
  expect(await ready()).toMatchObject({ status: 200 });
  expect((await run('projections', 'status')).code).toBe(0);
  for (let number = 0; number < 3; number += 1) expect((await download(used)).status).toBe(202);
  expect(await service.cli('ledger', 'show', used.accountId)).toMatchObject({ total_cents: 15, behind: false });
  expect(await run('ledger', 'verify')).toMatchObject({ code: 0 });
});
