/**
 * Kills the processes of every container of a running deployment in turn, while downloads are asked for through the proxy, and tells
 * whether each download ended and was charged once. With `--promote` it then loses the primary of Postgres for good, and promotes
 * its standby. By hand, after `images.sh` and `docker compose … up`:
 *
 *     node test/deploy/drill/kill-each.ts --url https://localhost:8443 --rounds 1 [--promote] [--json]
 *
 * DRILL_COMPOSE: the command for `docker compose` with its files.
 */

import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createApiClient } from '../../../src/client/client.ts';
import { ClientError } from '../../../src/client/client-error.ts';
import { type EndedDownload, waitForDownload } from '../../../src/client/wait-for-download.ts';
import { sendWithRetries } from '../../../src/client/with-retries.ts';
import { waitFor } from '../../support/wait-for.ts';
import { isLeader } from './leaders.ts';
import { postgresServices, promote, psql } from './promotion.ts';
import { chargedDownloads, compose, containersOf, docker, openAccount, reeltally, trustProxy } from './run-compose.ts';

const { values: flags } = parseArgs({
  options: {
    url: { type: 'string', default: 'https://localhost' },
    rounds: { type: 'string', default: '1' },
    promote: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (flags.help) {
  process.stdout.write(
    'usage: kill-each.ts [--url URL] [--rounds N] [--promote] [--json]   DRILL_COMPOSE: the compose command\n',
  );
  process.exit();
}

const say = (text: string) => flags.json || process.stdout.write(`${text}\n`);

/** The services that are killed, one container after the other; those that do not run are left out. */
const killed = [
  ...['api', 'projector', 'dispatcher', 'worker'],
  ...['nats', 'nats-2', 'nats-3', 'postgres', 'postgres-standby'],
  ...['event-store', 'event-store-2', 'event-store-3', 'proxy'],
];
// Of the sample platform: a video that ends well, and others that fail for reasons of their own.
const videos = ['bars', 'song', 'private', 'gone', 'geo'];

await trustProxy();
const { account, key } = await openAccount('drill@example.com');
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

/** Workers make the films at the first request for them. */
async function firstEnd(): Promise<string> {
  await Promise.all(videos.map((video) => download(video)));
  return ended.join(', ');
}

async function load(): Promise<void> {
  const all: Promise<void>[] = [];
  for (let count = 0; isLoading; count += 1) {
    all.push(download(videos[count % videos.length]!));
    await delay(500);
  }
  await Promise.all(all);
}

const stateFormat = '{{.State.Pid}} {{.RestartCount}} {{if .State.Health}}{{.State.Health.Status}}{{end}}';
const stateOf = async (id: string) => {
  const [pid, restarts, health] = (await docker('inspect', '--format', stateFormat, id)).split(' ');
  return { pid: Number(pid), restarts: Number(restarts), health };
};

/** As a crash would: a container that is stopped by its engine is not started again. @returns seconds until it is healthy */
async function kill(name: string, id: string): Promise<number> {
  const before = await stateOf(id);
  const killedAt = performance.now();
  process.kill(before.pid, 'SIGKILL');
  const isBack = async () => {
    const { pid, restarts, health } = await stateOf(id);
    return pid > 0 && restarts > before.restarts && (health ?? 'healthy') === 'healthy';
  };
  await waitFor(isBack, { timeoutMs: 600_000, pollMs: 500, what: `${name} to be back` });
  return (performance.now() - killedAt) / 1_000;
}

/**
 * Cuts the standby off for a while, so that it lacks rows, and loses the primary. Then the steps of docs/operations.md, without the
 * new standby.
 */
async function loseThePrimary(): Promise<{ seconds: number; missingBytes: number }> {
  const services = await postgresServices();
  const { primary, standby } = services;
  const [id = ''] = await containersOf(standby);
  const network = await docker(
    'inspect',
    '--format',
    '{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}',
    id,
  );
  await docker('network', 'disconnect', network, id);
  await delay(20_000);
  const written = await psql(primary, 'select pg_current_wal_lsn()');
  const lostAt = performance.now();
  await compose('kill', primary);
  await compose('rm', '--force', primary);
  await docker('network', 'connect', '--alias', standby, network, id);
  const missingBytes = Number(await psql(standby, `select '${written}' - pg_last_wal_replay_lsn()`));
  await promote(services);
  await sendWithRetries(() => api.GET('/credits'), retries);
  return { seconds: Number(((performance.now() - lostAt) / 1_000).toFixed(1)), missingBytes };
}

say(`before anything is killed, downloads end like this: ${await firstEnd()}`);
const loading = load();
const seconds: Record<string, number> = {};
for (let round = 0; round < Number(flags.rounds); round += 1)
  for (const service of killed)
    for (const [index, id] of (await containersOf(service)).entries()) {
      await delay(5_000);
      const name = `${service} ${String(index + 1)}${(await isLeader(service, id)) ? ', leading' : ''}`;
      seconds[name] = Number((await kill(name, id)).toFixed(1));
      say(
        `${name} was killed, and is healthy after ${String(seconds[name])} s; ${String(ended.length)} downloads have ended`,
      );
    }
const promoted = flags.promote ? await loseThePrimary() : undefined;
if (promoted) {
  say(
    `the standby leads without ${String(promoted.missingBytes)} bytes; the API answers after ${String(promoted.seconds)} s`,
  );
  await delay(20_000);
}
isLoading = false;
await loading;

const charged = await chargedDownloads(account);
const verified = await reeltally<object>('ledger', 'verify');
const counted = (status: string) => ended.filter((each) => each === status).length;
const result = {
  asked: tokens.size,
  charged,
  done: counted('done'),
  failed: counted('failed'),
  seconds,
  promoted,
  refusals: Object.fromEntries(refusals),
  verified,
};
process.stdout.write(`${JSON.stringify(result, null, flags.json ? 0 : 2)}\n`);
process.exitCode = charged === tokens.size && ended.length === tokens.size ? 0 : 1;
