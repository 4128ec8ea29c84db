import type { Logger } from 'pino';
import { freePort } from '../embedded/free-port.ts';
import { lockDataDirectory } from '../embedded/data-directory.ts';
import type { Config } from './config.ts';
import { connect } from './connect.ts';
import { isLocalDemo } from './containment.ts';
import { prepareDemo } from './demo.ts';
import type { Demo } from './demo.ts';
import { startEngines } from './engines.ts';
import { findAddresses, removeInstance, writeInstance } from './instance.ts';
import { createLogger } from './logger.ts';
import { roles } from './role.ts';
import type { Role } from './role.ts';
import { startHealthServer, startRole } from './roles.ts';
import { readSecrets, requireSharedSecret } from './secrets.ts';
import { Stops } from './stops.ts';

export interface ServeOptions {
  role: Role | 'all';
  /** Pid of the process that started this one, read at the very beginning. */
  parentPid: number;
  /** Told each step of the start, for a person who waits. */
  progress: (step: string) => void;
  /** Told once, when everything is ready. */
  ready: (started: Started) => void;
}

export interface Started {
  role: Role | 'all';
  url: string | null;
  dataDirectory: string;
  samplePlatformUrl: string | null;
  demo: Demo | null;
  /** What a person should know, a line each. */
  notices: string[];
}

/**
 * Runs one role, or all of them with the engines that are not given by address, until it is told to stop (SIGTERM, Ctrl-C)
 * or a part that it cannot do without ends.
 *
 * @returns the exit code
 * @throws {ConfigurationRefused} and other errors of a start that failed; what was started by then is stopped
 */
export async function serve(config: Config, { role, parentPid, progress, ready }: ServeOptions): Promise<number> {
  const logger = createLogger(config, role, role === 'all' ? 'warn' : 'info');
  const stops = new Stops(logger);
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<number>();
  let isTold = false;
  const tell = () => {
    // The second time, somebody is out of patience: children end with this process.
    if (isTold) process.exit(130);
    isTold = true;
    end(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, tell);
  // npm passes no signal on when it is killed alone: what it has started would go on without anybody to stop it.
  const watch = config.npm_lifecycle_event ? watchParent(parentPid, () => end(0)) : undefined;
  try {
    const starting =
      role === 'all'
        ? startAll(config, { logger, progress, stops, failed: end })
        : startOne(config, role, { logger, stops });
    // A start that waits for a server is not waited for once it is to stop.
    starting
      .then((started) => {
        if (!isTold) ready({ role, dataDirectory: config.dataDirectory, ...started });
      })
      .catch(fail);
    const code = await ended;
    progress(code === 0 ? 'stopping: no new requests, finishing what is under way' : 'stopping');
    return code;
  } finally {
    clearInterval(watch);
    await stops.stop();
    progress('stopped');
  }
}

const parentCheckMs = 500;

function watchParent(parentPid: number, gone: () => void): NodeJS.Timeout {
  return setInterval(() => {
    if (process.ppid !== parentPid) gone();
  }, parentCheckMs).unref();
}

type StartedParts = Omit<Started, 'role' | 'dataDirectory'>;

async function startAll(
  given: Config,
  context: { logger: Logger; progress: (step: string) => void; stops: Stops; failed: (code: number) => void },
): Promise<StartedParts> {
  const { logger, progress, stops, failed } = context;
  const demo = given.DEMO ?? given.allEmbedded;
  const lock = lockDataDirectory(given.dataDirectory);
  stops.add('data directory', async () => lock.release());
  const ported = await withPort(given);
  const config: Config = isLocalDemo(ported, demo) ? { ...ported, SANDBOX: 'weak' } : ported;
  const secrets = readSecrets(config);
  progress(`data directory ${config.dataDirectory}`);
  const engines = startEngines(config, { demo, progress });
  stops.add('engines', () => engines.stop());
  const addresses = await engines.addresses;
  void engines.failed.then((name) => {
    logger.fatal(`${name} has ended by itself; see its log in ${config.dataDirectory}`);
    failed(1);
  });
  const connections = await connect(config, addresses, { logger, role: 'all', secrets });
  stops.add('connections', () => connections.close());
  connections.metrics.watchProcess();
  await requireSharedSecret(connections.pool, secrets);
  let url: string | null = null;
  const notices: string[] = [];
  // The API is started last, so that its first request finds everything else at work, and stopped first.
  for (const role of roles.toReversed()) {
    const running = await startRole(role, connections, secrets);
    stops.add(role, () => running.close(), role === 'api' ? role : 'what works behind the API');
    url = running.url ?? url;
    if (running.notice !== undefined) notices.push(running.notice);
    progress(`${role} is ready`);
  }
  const prepared = demo && url !== null ? await prepareDemo(connections, url) : null;
  stops.add('instance file', async () => removeInstance(config.dataDirectory));
  writeInstance(config.dataDirectory, { pid: process.pid, publicUrl: url ?? '', ...addresses });
  return { url, samplePlatformUrl: addresses.samplePlatformUrl, demo: prepared, notices };
}

async function startOne(
  given: Config,
  role: Role,
  { logger, stops }: { logger: Logger; stops: Stops },
): Promise<StartedParts> {
  const addresses = findAddresses(given);
  const config = await withPort(given);
  const secrets = readSecrets(config);
  const connections = await connect(config, addresses, { logger, role, secrets });
  stops.add('connections', () => connections.close());
  connections.metrics.watchProcess();
  await requireSharedSecret(connections.pool, secrets);
  const running = await startRole(role, connections, secrets);
  stops.add(role, () => running.close());
  const notices = running.notice === undefined ? [] : [running.notice];
  if (running.url !== undefined)
    return { url: running.url, samplePlatformUrl: addresses.samplePlatformUrl, demo: null, notices };
  const health = await startHealthServer(connections);
  stops.add('health', () => health.close());
  return { url: health.url ?? null, samplePlatformUrl: addresses.samplePlatformUrl, demo: null, notices };
}

/** Links name the port, so a free one is chosen before anything that makes them. */
async function withPort(config: Config): Promise<Config> {
  return config.PORT === 0 ? { ...config, PORT: await freePort() } : config;
}
