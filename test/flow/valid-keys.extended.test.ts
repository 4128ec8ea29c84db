import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchPostgres } from '../../src/embedded/postgres/launch.ts';
import { saidBy, within } from '../cli/command-line.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { restartable, type RestartableServer } from '../support/restartable-server.ts';
import type { OpenedAccount, ServiceProcess } from '../support/service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { pauseOfClient, waitFor } from '../support/wait-for.ts';

/** A key that somebody was shown is never told to be unknown, whatever is restarted or rebuilt. */
const directory = temporaryDirectoryOfFile();
let postgres: RestartableServer;
let installation: Installation;
let api: ServiceProcess;
let projector: ServiceProcess;
let account: OpenedAccount;

beforeAll(async () => {
  postgres = await restartable((at) => launchPostgres({ dataDirectory: directory, ...at }));
  installation = await startInstallation({
    DATABASE_URL: postgres.url,
    PLANS_FILE: planFile({ hourly_limit: 10_000 }),
  });
  projector = await installation.startRole('projector');
  api = await installation.startRole('api');
  account = await installation.openAccount();
});

afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await postgres.stop();
});

const cli = (...words: string[]) => within(installation.environment)(...words, '--json');

async function issueByCommand(accountId: string): Promise<string | undefined> {
  const { code, stdout } = await cli('keys', 'issue', accountId);
  return code === 0 ? (JSON.parse(stdout) as { key: string }).key : undefined;
}

async function issueByRequest(): Promise<string | undefined> {
  const init = { method: 'POST', headers: { authorization: `Bearer ${account.key}` } };
  const response = await fetch(`${api.url}/api/v1/auth/key`, init).catch(() => undefined);
  if (response?.status !== 201) return undefined;
  return ((await response.json()) as { data: { key: string } }).data.key;
}

it('a key that was shown is never 401, through restarts, outages and rebuilds', async () => {
  const shown = [account.key];
  const answers = new Map<number, number>();
  const unknown: string[] = [];
  const load = { isOver: false };
  const repeatedly = async (work: (round: number) => Promise<void>) => {
    for (let round = 0; !load.isOver; round += 1) {
      await work(round);
      await pauseOfClient();
    }
  };
  const using = Array.from({ length: 4 }, () =>
    repeatedly(async (round) => {
      // The newest one, which is the likeliest not to be there yet, and the others in turn.
      const key = (round % 2 === 0 ? shown.at(-1) : shown[round % shown.length]) ?? '';
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${api.url}/api/v1/credits`, { headers }).catch(() => undefined);
      await response?.arrayBuffer().catch(() => undefined);
      if (!response) return;
      answers.set(response.status, (answers.get(response.status) ?? 0) + 1);
      if (response.status === 401) unknown.push(key.slice(0, 12));
    }),
  );
  const noteShown = (key: string | undefined) => {
    if (key !== undefined) shown.push(key);
  };
  const issuing = [
    repeatedly(async () => noteShown(await issueByRequest())),
    repeatedly(async () => noteShown(await issueByCommand(account.accountId))),
  ];
  const served = async (more: number) => {
    const target = (answers.get(200) ?? 0) + more;
    await waitFor(() => (answers.get(200) ?? 0) >= target, { what: 'requests to be served' });
  };

  await served(50);
  await projector.kill();
  // Opened, and its key issued, while nobody keeps the read models up to date.
  const opening = cli('accounts', 'open', '--email', 'late@example.com', '--plan', 'test').then(async ({ stdout }) => {
    const accountId = /acc_[a-z2-7]+/.exec(stdout)?.[0] ?? '';
    noteShown(await issueByCommand(accountId));
  });
  await served(50);
  projector = await installation.startRole('projector');
  await opening;
  await served(50);
  await api.kill();
  api = await installation.startRole('api');
  await served(50);
  expect((await cli('projections', 'rebuild', 'api_keys')).code).toBe(0);
  await served(50);
  await postgres.stop();
  await postgres.start();
  await served(50);
  await projector.stop();
  projector = await installation.startRole('projector');
  await served(50);
  load.isOver = true;
  await Promise.all([...using, ...issuing]);

  expect(unknown).toEqual([]);
  expect(answers.get(401)).toBeUndefined();
  expect(shown.length).toBeGreaterThan(10);
});

it('a key that is not in force in time is not shown', async () => {
  await projector.kill();
  const { code, stdout, stderr } = await cli('keys', 'issue', account.accountId);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(saidBy({ stderr })).toMatch(
    /^reeltally: key_\w+ is recorded, not yet in force: .*\. The key is not shown before that: /,
  );
  expect(stderr).not.toContain('rtk_');
  projector = await installation.startRole('projector');
});
