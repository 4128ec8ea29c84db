import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { freePort } from '../../src/embedded/free-port.ts';
import { startServerProcess } from '../../src/embedded/server-process.ts';
import { thisMachine } from '../../src/system/machine-parts.js';
import { composeFile, deployFile } from './compose-file.ts';
import { deployment } from './deployment.ts';

const { natsServer } = thisMachine().packages;
export const canStartNatsCluster = natsServer !== undefined;

const names = ['nats', 'nats-2', 'nats-3'];

/**
 * Starts three servers on this machine, with the files that compose.yaml gives to the containers but for ports and paths.
 *
 * @param within a folder for all that they need
 */
export async function startNatsCluster(within: string) {
  const { read, prepare } = deployment(within);
  await prepare('--cluster');
  const ports = await Promise.all(names.map(async () => ({ clients: await freePort(), routes: await freePort() })));
  const onThisMachine = (text: string) =>
    text.replace(/\b(nats(?:-\d)?):(4222|6222)/g, (_, name: string, port) => {
      const { clients, routes } = ports[names.indexOf(name)]!;
      return `127.0.0.1:${String(port === '4222' ? clients : routes)}`;
    });
  const { services, secrets } = composeFile();
  const start = async (name: string, { clients, routes }: (typeof ports)[number]) => {
    const directory = join(within, name);
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
  const authority = join(within, 'ca.crt');
  writeFileSync(authority, read('secrets/trusted/ca.crt'));
  return {
    servers,
    /** By the name that NATS has for it. */
    serverOf: (name: string) => servers[names.indexOf(name)]!,
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
    url: onThisMachine(read('secrets/nats_url').trim()).replace(/[^=]*$/, authority),
  };
}
