/**
 * A real nats-server with JetStream on this machine.
 *
 * In the data directory: `password` (of the only user), `nats-server.conf`, `jetstream`, `nats-server.log`. The password stands
 * in the configuration file and not on the command line, which every user of the machine can read.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'nats';
import { thisMachine } from '../system/machine-parts.js';
import { folderInPackage } from '../system/package-folder.ts';
import { readOrMakeSecret, writePrivateFile } from '../system/private-files.ts';
import { requireFreePort } from './free-port.ts';
import { endLeftoverServer } from './leftover-server.ts';
import { type RunningServer, type ServerProcess, startOnPort, startServerProcess } from './server-process.ts';

const clientName = 'reeltally';
const stopLimitMs = 10_000;
const readyLimitMs = 60_000;

export interface NatsServerOptions {
  dataDirectory: string;
  /** A port of 127.0.0.1; default: a free one. */
  port?: number;
  /** The program; default: that of the npm package, else the one on the PATH. */
  serverPath?: string;
}

/**
 * Starts nats-server on a data directory and waits until JetStream answers. It ends with this process.
 *
 * The returned address has user name and password, which the client library for NATS does not read by itself.
 *
 * @throws with a message that says why and what to do: port taken, directory in use, no nats-server on this machine.
 */
export async function launchNatsServer(options: NatsServerOptions): Promise<RunningServer> {
  const { dataDirectory } = options;
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const program = options.serverPath ?? packagedServer() ?? 'nats-server';
  const password = readOrMakeSecret(join(dataDirectory, 'password'));
  await endLeftoverServer({
    programs: ['nats-server'],
    workingDirectory: dataDirectory,
    stopSignal: 'SIGTERM',
    limitMs: stopLimitMs,
  });

  await requireFreePort(options.port, 'nats-server');
  const { server, port } = await startOnPort({
    name: 'nats-server',
    dataDirectory,
    port: options.port,
    start: (wanted) => {
      writePrivateFile(join(dataDirectory, 'nats-server.conf'), configuration(wanted, password));
      return start(program, dataDirectory);
    },
    isReady: (_server, wanted) => answers(wanted, password),
    readyLimitMs,
  });
  return { ...server, url: `nats://${clientName}:${password}@127.0.0.1:${port}` };
}

function packagedServer(): string | undefined {
  const { natsServer } = thisMachine().packages;
  const folder = natsServer && folderInPackage(natsServer);
  return folder && join(folder, 'bin', 'nats-server');
}

function configuration(port: number, password: string): string {
  return [
    `listen: "127.0.0.1:${port}"`,
    'server_name: "reeltally"',
    `authorization { user: "${clientName}", password: "${password}" }`,
    // Messages are small hints that can be published again. The limits only keep a fault from filling the disk.
    'jetstream { store_dir: ".", max_memory_store: 64MB, max_file_store: 2GB }',
    '',
  ].join('\n');
}

async function start(program: string, dataDirectory: string): Promise<ServerProcess> {
  const task = {
    command: program,
    args: ['--config', 'nats-server.conf'],
    workingDirectory: dataDirectory,
    environment: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    stopSignal: 'SIGTERM',
    stopLimitMs,
  } as const;
  try {
    return await startServerProcess(task, join(dataDirectory, 'nats-server.log'));
  } catch (error) {
    throw new Error(
      `${(error as Error).message} Set NATS_SERVER_PATH to a nats-server of this machine, or NATS_URL to the address of one ` +
        'that runs.',
      { cause: error },
    );
  }
}

async function answers(port: number, password: string): Promise<boolean> {
  try {
    const connection = await connect({
      servers: `127.0.0.1:${port}`,
      user: clientName,
      pass: password,
      reconnect: false,
      timeout: 5000,
    });
    try {
      await (await connection.jetstreamManager()).getAccountInfo();
    } finally {
      await connection.close();
    }
    return true;
  } catch {
    return false;
  }
}
