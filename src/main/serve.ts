import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { freePort } from '../embedded/free-port.ts';
import { lockDataDirectory } from '../embedded/data-directory.ts';
import type { DataDirectory } from '../embedded/data-directory.ts';
import type { Config } from './config.ts';
import { connect } from './connect.ts';
import type { Connections } from './connect.ts';
import { prepareDemo } from './demo.ts';
import type { Demo } from './demo.ts';
import { startEngines } from './engines.ts';
import type { Engines } from './engines.ts';
import { findAddresses, removeInstance, writeInstance } from './instance.ts';
import { createLogger } from './logger.ts';
import { roles } from './role.ts';
import type { Role } from './role.ts';
import { startHealthServer, startRole } from './roles.ts';
import { readSecrets, requireSharedSecret } from './secrets.ts';

export interface ServeOptions {
  role: Role | 'all';
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
}

/** What was started, in order; it is stopped in the reverse order. */
type Stops = { name: string; stop: () => Promise<unknown> }[];

/**
 * Runs one role, or all of them with the engines that are not given by address, until it is told to stop (SIGTERM, Ctrl-C)
 * or a part that it cannot do without ends.
 *
 * @returns the exit code
 * @throws {ConfigurationRefused} and other errors of a start that failed; what was started by then is stopped
 */
export async function serve(config: Config, { role, progress, ready }: ServeOptions): Promise<number> {
  const logger = createLogger(config, role, role === 'all' ? 'warn' : 'info');
  const stops: Stops = [];
  const told = Promise.withResolvers<number>();
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // The second time, somebody is out of patience: children end with this process.
      if (stop.signal.aborted) process.exit(130);
      stop.abort();
      told.resolve(0);
    });
  }
  // npm passes no signal on when it is killed alone: what it has started would go on without anybody to stop it.
  const watch = config.npm_lifecycle_event ? watchParent(() => told.resolve(0)) : undefined;
  try {
    const started =
      role === 'all'
        ? await startAll(config, { logger, progress, stops, failed: told.resolve })
        : await startOne(config, role, { logger, stops });
    if (!stop.signal.aborted) ready({ role, dataDirectory: config.dataDirectory, ...started });
    const code = await told.promise;
    progress(code === 0 ? 'stopping: no new requests, finishing what is under way' : 'stopping');
    return code;
  } finally {
    clearInterval(watch);
    for (const part of stops.toReversed()) {
      // Everything here may be killed at any instant, so a part that takes too long is left to that.
      const late = sleep(stopLimitMs, undefined, { ref: false }).then(() => {
        throw new Error(`it took longer than ${String(stopLimitMs)} ms`);
      });
      await Promise.race([part.stop(), late]).catch((error: unknown) => {
        logger.error({ err: error, part: part.name }, 'a part did not stop in order');
      });
    }
    if (stops.length > 0) progress('stopped');
  }
}

const parentCheckMs = 500;
const stopLimitMs = 20_000;

function watchParent(gone: () => void): NodeJS.Timeout {
  const parent = process.ppid;
  return setInterval(() => {
    if (process.ppid !== parent) gone();
  }, parentCheckMs).unref();
}

type StartedParts = Omit<Started, 'role' | 'dataDirectory'>;

async function startAll(
  given: Config,
  context: { logger: Logger; progress: (step: string) => void; stops: Stops; failed: (code: number) => void },
): Promise<StartedParts> {
  const { logger, progress, stops, failed } = context;
  const demo = given.DEMO ?? given.allEmbedded;
  const lock: DataDirectory = lockDataDirectory(given.dataDirectory);
  stops.push({ name: 'data directory', stop: async () => lock.release() });
  const config = await withPort(given);
  const secrets = readSecrets(config);
  progress(`data directory ${config.dataDirectory}`);
  const engines: Engines = await startEngines(config, { demo, progress });
  stops.push({ name: 'engines', stop: () => engines.stop() });
  void engines.failed.then((name) => {
    logger.fatal(`${name} has ended by itself; see its log in ${config.dataDirectory}`);
    failed(1);
  });
  const connections = await connect(config, engines.addresses, { logger, role: 'all', secrets });
  stops.push({ name: 'connections', stop: () => connections.close() });
  connections.metrics.watchProcess();
  await requireSharedSecret(connections.pool, secrets);
  let url: string | null = null;
  // The API is started last, so that its first request finds everything else at work, and stopped first.
  for (const role of roles.toReversed()) {
    const running = await startRole(role, connections, secrets);
    stops.push({ name: role, stop: () => running.close() });
    url = running.url ?? url;
    progress(`${role} is ready`);
  }
  const prepared = demo && url !== null ? await prepareDemo(connections, url) : null;
  stops.push({ name: 'instance file', stop: async () => removeInstance(config.dataDirectory) });
  writeInstance(config.dataDirectory, { pid: process.pid, publicUrl: url ?? '', ...engines.addresses });
  return { url, samplePlatformUrl: engines.addresses.samplePlatformUrl, demo: prepared };
}

async function startOne(
  given: Config,
  role: Role,
  { logger, stops }: { logger: Logger; stops: Stops },
): Promise<StartedParts> {
  const addresses = findAddresses(given);
  const config = await withPort(given);
  const secrets = readSecrets(config);
  const connections: Connections = await connect(config, addresses, { logger, role, secrets });
  stops.push({ name: 'connections', stop: () => connections.close() });
  connections.metrics.watchProcess();
  await requireSharedSecret(connections.pool, secrets);
  const running = await startRole(role, connections, secrets);
  stops.push({ name: role, stop: () => running.close() });
  if (running.url !== undefined)
    return { url: running.url, samplePlatformUrl: addresses.samplePlatformUrl, demo: null };
  const health = await startHealthServer(connections);
  stops.push({ name: 'health', stop: () => health.close() });
  return { url: health.url ?? null, samplePlatformUrl: addresses.samplePlatformUrl, demo: null };
}

/** Links name the port, so a free one is chosen before anything that makes them. */
async function withPort(config: Config): Promise<Config> {
  return config.PORT === 0 ? { ...config, PORT: await freePort() } : config;
}
