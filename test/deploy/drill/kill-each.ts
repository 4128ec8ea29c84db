/**
 * Kills the processes of every container of a running deployment in turn, while downloads are asked for through the proxy, and tells
 * whether each download ended and was charged once. By hand, after `images.sh` and `docker compose … up`:
 *
 *     node test/deploy/drill/kill-each.ts --url https://localhost:8443 --rounds 1 [--json]
 *
 * DRILL_COMPOSE: the command for `docker compose` with its files.
 */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { setDefaultCACertificates } from 'node:tls';
import { parseArgs, promisify } from 'node:util';
import { createApiClient } from '../../../src/client/client.ts';
import { ClientError } from '../../../src/client/client-error.ts';
import { waitForDownload } from '../../../src/client/wait-for-download.ts';
import type { EndedDownload } from '../../../src/client/wait-for-download.ts';
import { sendWithRetries } from '../../../src/client/with-retries.ts';
import { waitFor } from '../../support/wait-for.ts';

const { values: flags } = parseArgs({
  options: {
    url: { type: 'string', default: 'https://localhost' },
    rounds: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (flags.help) {
  process.stdout.write('usage: kill-each.ts [--url URL] [--rounds N] [--json]   DRILL_COMPOSE: the compose command\n');
  process.exit();
}

const run = promisify(execFile);
const [command = 'docker', ...words] = (
  process.env['DRILL_COMPOSE'] ??
  'docker compose --project-directory deploy -f deploy/compose.yaml -f test/deploy/drill/compose.yaml'
).split(' ');
const compose = async (...given: string[]) => (await run(command, [...words, ...given])).stdout;
const service = ['node', '--disable-warning=ExperimentalWarning', 'src/main/reeltally.js'];
const reeltally = async <Result>(...given: string[]) =>
  JSON.parse(await compose('exec', '-T', 'api', ...service, ...given, '--json')) as Result;
const say = (text: string) => flags.json || process.stdout.write(`${text}\n`);

const killed = ['api', 'projector', 'dispatcher', 'worker', 'nats', 'postgres', 'event-store', 'proxy'];
// Of the sample platform: a video that ends well, and others that fail for reasons of their own.
const videos = ['bars', 'song', 'private', 'gone', 'geo'];

setDefaultCACertificates([await compose('exec', '-T', 'proxy', 'cat', '/data/caddy/pki/authorities/local/root.crt')]);
const { account_id: account } = await reeltally<{ account_id: string }>(
  ...['accounts', 'open', '--email', 'drill@example.com', '--plan', 'dev_100'],
);
await reeltally('accounts', 'terms', account, '--hourly', '10000');
const { key } = await reeltally<{ key: string }>('keys', 'issue', account);
const api = createApiClient(flags.url, key);
const retries = { attempts: 60, longestPauseSeconds: 60 };

let isLoading = true;
const ended: string[] = [];
const tokens = new Set<string>();
const refusals = new Map<string, number>();

async function download(video: string): Promise<void> {
  const header = { 'Idempotency-Key': randomUUID() };
  const body = { url: `http://127.0.0.1:8095/watch/${video}`, quality: '360' as const };
  const { request_token: token } = await sendWithRetries(
    () => api.POST('/video/download', { params: { header }, body }),
    retries,
  );
  tokens.add(token);
  ended.push((await endOf(token)).status);
}

/** While containers are away the proxy answers for the API, for longer than the client repeats its requests. */
async function endOf(token: string): Promise<EndedDownload> {
  for (;;) {
    try {
      return await waitForDownload(api, token);
    } catch (error) {
      if (!(error instanceof ClientError) || error.code === 'not_found') throw error;
      refusals.set(error.code, (refusals.get(error.code) ?? 0) + 1);
      await delay(1_000);
    }
  }
}

async function load(): Promise<void> {
  const all: Promise<void>[] = [];
  for (let count = 0; isLoading; count += 1) {
    all.push(download(videos[count % videos.length]!));
    await delay(500);
  }
  await Promise.all(all);
}

const container = async (name: string) => (await compose('ps', '--quiet', name)).trim();
const stateOf = async (name: string) => {
  const [pid, restarts, health] = (
    await run('docker', [
      ...[
        'inspect',
        '--format',
        '{{.State.Pid}} {{.RestartCount}} {{if .State.Health}}{{.State.Health.Status}}{{end}}',
      ],
      await container(name),
    ])
  ).stdout
    .trim()
    .split(' ');
  return { pid: Number(pid), restarts: Number(restarts), health };
};

/** As a crash would: a container that is stopped by its engine is not started again. @returns seconds until it is healthy */
async function kill(name: string): Promise<number> {
  const before = await stateOf(name);
  const killedAt = performance.now();
  process.kill(before.pid, 'SIGKILL');
  const isBack = async () => {
    const { pid, restarts, health } = await stateOf(name);
    return pid > 0 && restarts > before.restarts && (health ?? 'healthy') === 'healthy';
  };
  await waitFor(isBack, { timeoutMs: 180_000, pollMs: 500, what: `${name} to be back` });
  return (performance.now() - killedAt) / 1_000;
}

const loading = load();
const seconds: Record<string, number> = {};
for (let round = 0; round < Number(flags.rounds); round += 1)
  for (const name of killed) {
    await delay(5_000);
    seconds[name] = Number((await kill(name)).toFixed(1));
    say(
      `${name} was killed, and is healthy after ${String(seconds[name])} s; ${String(ended.length)} downloads have ended`,
    );
  }
isLoading = false;
await loading;

const { downloads, overage } = await reeltally<{ downloads: { used: number }; overage: { downloads: number } }>(
  ...['accounts', 'show', account],
);
const charged = downloads.used + overage.downloads;
const verified = await reeltally<object>('ledger', 'verify');
const counted = (status: string) => ended.filter((each) => each === status).length;
const result = {
  asked: tokens.size,
  charged,
  done: counted('done'),
  failed: counted('failed'),
  seconds,
  refusals: Object.fromEntries(refusals),
  verified,
};
process.stdout.write(`${JSON.stringify(result, null, flags.json ? 0 : 2)}\n`);
process.exitCode = charged === tokens.size && ended.length === tokens.size ? 0 : 1;
