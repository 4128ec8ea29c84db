import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitForDownload } from '../../src/client/wait-for-download.ts';
import { sendWithRetries } from '../../src/client/with-retries.ts';
import { apiClient } from '../support/client.ts';
import { unpackEarlierVersion, whyNoEarlierVersion } from '../support/earlier-version.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { unexpectedLines } from '../support/log-lines.ts';
import { planFile } from '../support/plans.ts';
import { createDatabase } from '../support/postgres.ts';
import { scaled } from '../support/proof-scale.ts';
import { type OpenedAccount, runCommand, type ServiceProcess, type StartedBy } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { startBalancer } from './balancer.ts';
import { downloadsOf, standing } from './charged-downloads.ts';

/**
 * Each role of an earlier version is replaced by one of the version under test while clients go on, in the order of
 * docs/operations.md. Without the history of the project this is left out, and the end of the run says so.
 */
const order = ['projector', 'dispatcher', 'worker', 'api'] as const;
type Processes = Record<(typeof order)[number], ServiceProcess>;

const plans = planFile({ hourly_limit: 10_000 });
const clients = 3;
const downloadsBetweenSteps = scaled(2, 60);

interface Load {
  /** Statuses of all answers so far, such as `202 /video/download`, and how often each came. */
  answers: Map<string, number>;
  ended: () => number;
  /** Lets what is under way end. @returns the token that was given for each idempotency key */
  stop: () => Promise<Map<string, string>>;
}

/** Clients that ask for metadata, download, wait and look at their credits, one after the other, as the package does it. */
function startLoad(url: string, key: string, videoUrl: string): Load {
  const answers = new Map<string, number>();
  const tokens = new Map<string, string>();
  let ended = 0;
  let isWanted = true;
  const api = apiClient(url, key, { isEarlier: true });
  api.use({
    onResponse: ({ response, schemaPath }) => {
      const name = `${response.status} ${schemaPath}`;
      answers.set(name, (answers.get(name) ?? 0) + 1);
    },
  });
  const body = { url: videoUrl, quality: '360' } as const;
  async function work(client: number): Promise<void> {
    for (let number = 0; isWanted; number += 1) {
      await sendWithRetries(() => api.GET('/video/metadata', { params: { query: { url: videoUrl } } }));
      const idempotencyKey = `client-${client}-${number}`;
      const header = { 'Idempotency-Key': idempotencyKey };
      const queued = await sendWithRetries(() => api.POST('/video/download', { params: { header }, body }));
      tokens.set(idempotencyKey, queued.request_token);
      expect(await waitForDownload(api, queued.request_token)).toMatchObject({ status: 'done' });
      ended += 1;
      const { downloads } = await sendWithRetries(() => api.GET('/credits'));
      expect(downloads.used).toBeGreaterThanOrEqual(tokens.size - clients);
    }
  }
  const working = Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
  return {
    answers,
    ended: () => ended,
    stop: async () => {
      isWanted = false;
      await working;
      return tokens;
    },
  };
}

/** Earlier workers begin their engine with the first lookup, which on a busy machine is over before the engine answers. */
async function waitForLookup(url: string, key: string, videoUrl: string): Promise<void> {
  const api = apiClient(url, key, { isEarlier: true });
  const isAnswered = async () =>
    (await api.GET('/video/metadata', { params: { query: { url: videoUrl } } })).response.status === 200;
  await waitFor(isAnswered, { what: 'the first lookup', pollMs: 1_000 });
}

async function startAll(installation: Installation, started: StartedBy): Promise<Processes> {
  const [projector, dispatcher, worker, api] = [
    await installation.startRole('projector', {}, started),
    await installation.startRole('dispatcher', {}, started),
    await installation.startRole('worker', {}, started),
    await installation.startRole('api', {}, started),
  ];
  return { projector, dispatcher, worker, api };
}

/** By the earlier version too: a command of the one under test would migrate the schema. */
async function openAccount({ environment }: Installation, started: StartedBy): Promise<Omit<OpenedAccount, 'keyId'>> {
  const command = async <Answer>(...words: string[]) => {
    const { code, stdout, stderr } = await runCommand([...words, '--json'], environment, started);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${String(code)}: ${stderr}`);
    return JSON.parse(stdout) as Answer;
  };
  const open = ['accounts', 'open', '--email', 'owner@example.com', '--plan', 'test'];
  const { account_id: accountId } = await command<{ account_id: string }>(...open);
  const { key } = await command<{ key: string }>('keys', 'issue', accountId, '--label', 'test');
  return { accountId, key };
}

test.runIf(whyNoEarlierVersion() === undefined)(
  'while roles are replaced one by one, every request is answered and every download ends, charged once',
  async () => {
    const earlier = unpackEarlierVersion(join(temporaryDirectory(), 'earlier'));
    // Empty: the earlier version makes its schema, and the one under test migrates it beside running processes.
    await using database = await createDatabase();
    await using installation = await startInstallation({ DATABASE_URL: database.url, PLANS_FILE: plans });
    const running = await startAll(installation, earlier.startedBy);
    const { accountId, key } = await openAccount(installation, earlier.startedBy);
    await using balancer = await startBalancer(running.api.url);
    await waitForLookup(balancer.url, key, installation.sampleUrl('bars'));
    const load = startLoad(balancer.url, key, installation.sampleUrl('bars'));
    const goOn = (what: string) => {
      const target = load.ended() + downloadsBetweenSteps;
      return waitFor(() => load.ended() >= target, {
        what: `downloads to end ${what}`,
        pollMs: 50,
      });
    };
    await goOn('on the earlier version alone');
    for (const role of order) {
      const [old, next] = [running[role], await installation.startRole(role)];
      if (role === 'api') balancer.lead(old.url, next.url);
      await goOn(`beside a second ${role}`);
      if (role === 'api') balancer.lead(next.url);
      expect(await old.stop()).toBe(0);
      expect(unexpectedLines(old.log())).toEqual([]);
      running[role] = next;
      await goOn(`after the old ${role}`);
    }
    const tokens = await load.stop();
    const isSuccess = (name: string) => /^20[02] /.test(name);
    expect([...load.answers.keys()].filter((name) => !isSuccess(name))).toEqual([]);
    const downloads = await downloadsOf(installation.environment.EVENTSTORE_URL, accountId);
    expect(downloads).toHaveLength(tokens.size);
    for (const [idempotencyKey, token] of tokens) expect(standing(downloads, idempotencyKey)).toEqual([token]);
    expect(await installation.cli(['ledger', 'verify'])).toMatchObject({ divergences: [] });
    for (const process of Object.values(running)) expect(unexpectedLines(process.log())).toEqual([]);
  },
);
