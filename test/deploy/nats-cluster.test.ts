import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { connectNats } from '../../src/adapters/nats/connection.ts';
import { createJobQueue } from '../../src/adapters/nats/job-queue.ts';
import { freePort } from '../../src/embedded/free-port.ts';
import { startServerProcess } from '../../src/embedded/server-process.ts';
import type { JobMessage } from '../../src/ports/job-queue.ts';
import { sendSignal } from '../../src/system/processes.ts';
import { thisMachine } from '../../src/system/machine-parts.js';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { composeFile, deployFile } from './compose-file.ts';
import { deployment } from './deployment.ts';

const silent = pino({ level: 'silent' });
const { natsServer } = thisMachine().packages;
const names = ['nats', 'nats-2', 'nats-3'];

/** Starts three servers on this machine, with the files that compose.yaml gives to the containers but for ports and paths. */
async function startCluster() {
  const { read, prepare } = deployment();
  await prepare('--cluster');
  const ports = await Promise.all(names.map(async () => ({ clients: await freePort(), routes: await freePort() })));
  const onThisMachine = (text: string) =>
    text.replace(/\b(nats(?:-\d)?):(4222|6222)/g, (_, name: string, port) => {
      const { clients, routes } = ports[names.indexOf(name)]!;
      return `127.0.0.1:${String(port === '4222' ? clients : routes)}`;
    });
  const { services, secrets } = composeFile();
  const start = async (name: string, { clients, routes }: (typeof ports)[number]) => {
    const directory = temporaryDirectory();
    const [settings, mounted] = [join(directory, 'etc/nats'), join(directory, 'run/secrets')];
    for (const folder of [settings, mounted]) mkdirSync(folder, { recursive: true });
    for (const secret of services[name]!.secrets)
      writeFileSync(join(mounted, secret), onThisMachine(read(secrets[secret]!.file)));
    for (const file of ['nats.conf', 'cluster.conf']) {
      const text = deployFile(`nats/${file}`)
        .replace(/: \/run\/secrets\/(\w+)/g, `: "${mounted}/$1"`)
        .replace('/data', JSON.stringify(join(directory, 'data')))
        .replace('port: 4222', `listen: "127.0.0.1:${String(clients)}"`)
        .replace('port: 6222', `listen: "127.0.0.1:${String(routes)}"`)
        .replace(/^http: .*$/m, '');
      writeFileSync(join(settings, file), text);
    }
    return await startServerProcess(
      {
        command: join(dirname(createRequire(import.meta.url).resolve(natsServer!)), 'bin/nats-server'),
        args: ['--config', join(settings, 'cluster.conf')],
        workingDirectory: directory,
        environment: { SERVER_NAME: name },
        stopSignal: 'SIGTERM',
        stopLimitMs: 10_000,
      },
      join(directory, 'log'),
    );
  };
  const servers = await Promise.all(names.map((name, index) => start(name, ports[index]!)));
  onTestFinished(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });
  const authority = join(temporaryDirectory(), 'ca.crt');
  writeFileSync(authority, read('secrets/trusted/ca.crt'));
  return { servers, url: onThisMachine(read('secrets/nats_url').trim()).replace(/[^=]*$/, authority) };
}

const messageOf = (number: number): JobMessage => ({
  token: `TokenOfDownload-${String(number).padStart(4, '0')}`,
  usageStream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101',
  usageRevision: number * 2,
});

it.skipIf(natsServer === undefined)(
  'three servers of NATS with the files of the profile cluster keep the queue while any one of them is away',
  // Most of it is spent on two elections.
  { timeout: 120_000 },
  async () => {
    const { servers, url } = await startCluster();
    const connected = () => connectNats(url, { name: 'test', logger: silent }).catch(() => false as const);
    const connection = await waitFor(connected, { what: 'a server that listens' });
    onTestFinished(() => connection.close());
    // The others may not listen yet, and the client gives the reason of the last one that it tried.
    const withoutAuthority = url.replace(/@.*/, `@${connection.getServer()}`);
    await expect(connectNats(withoutAuthority, { name: 'test', logger: silent })).rejects.toThrow(/certificate/);
    const queue = createJobQueue(connection, { replicas: 3, logger: silent });
    const waiting = { timeoutMs: 40_000, what: 'the queue to work' };
    const publish = (number: number) => {
      const attempt = () => queue.publish(messageOf(number), String(number));
      return waitFor(
        () =>
          attempt().then(
            () => true,
            () => false,
          ),
        waiting,
      );
    };
    const take = () => waitFor(() => queue.next(new AbortController().signal).catch(() => undefined), waiting);

    await publish(0);
    const { streams } = await connection.jetstreamManager();
    const { config, cluster } = await streams.info('DOWNLOADS');
    expect(config.num_replicas).toBe(3);
    // The one that leads the queue.
    sendSignal(servers[names.indexOf(cluster?.leader ?? '')]!.pid, 'SIGKILL');
    await publish(1);
    const taken = [await take(), await take()];
    expect(taken.map((job) => job.message)).toEqual([messageOf(0), messageOf(1)]);
    await expect(streams.delete('DOWNLOADS')).rejects.toThrow();
  },
);
