import { readRefusal } from '../../projections/runner/refused-readers.ts';
import type { Secrets } from '../adapters/derive-keys.ts';
import { createSignInLinks } from '../adapters/postgres/sign-in-links.ts';
import { createStaffLinks } from '../adapters/postgres/staff-links.ts';
import type { Started } from '../cli/start-screen.ts';
import { onInterrupt } from '../client/interruption.ts';
import { type DemoDependencies, prepareDemo } from '../demo/prepare-demo.ts';
import { tellStory } from '../demo/tell-story.ts';
import { lockDataDirectory } from '../embedded/data-directory.ts';
import { newId, newUuid, randomBits } from '../system/clock-and-chance.ts';
import { putPendingVoidsBack, putPersonalKeysBack } from './backups/backups.ts';
import { connect, type Connections, endStart } from './connect.ts';
import { findTestedDownloader } from './downloader.ts';
import { isDemo, isLocalDemo } from './downloader-sandbox.ts';
import { startEmbeddedServers } from './embedded-servers.ts';
import { orFullDisk } from './full-disk.ts';
import { watchAppends, watchLog, watchServers } from './gauges.ts';
import { requireFreePort } from './listen.ts';
import { createServiceLog, type ServiceLog } from './logger.ts';
import { whatWaits } from './readiness.ts';
import { requireParts } from './required-parts.ts';
import type { Role } from './roles/role.ts';
import { loadRoles, startHealthServer, startRole } from './roles/start-roles.ts';
import { warnOfExcessRights, warnOfWaitingCommits } from './server-warnings.ts';
import { bundledPlansFile, type Config, misspeltText } from './settings/config.ts';
import { keepSettings, requireSharedSecret } from './settings/installation.ts';
import { type Addresses, findAddresses, removeInstance, servedAt, writeInstance } from './settings/instance.ts';
import { createTokens, readSecrets } from './settings/secrets.ts';
import { Shutdown } from './shutdown.ts';

export interface ServeOptions {
  role: Role | 'all';
  /** Pid of the process that started this one, read at the very beginning. */
  parentPid: number;
  /** Told each step of the start, for a person who waits. */
  progress: (step: string) => void;
  /** Told once, when everything is ready. */
  ready: (started: Started) => void;
}

/**
 * Runs one role, or all of them with the servers that are not given by address, until it is told to stop (SIGTERM, Ctrl-C)
 * or a server ends that it cannot do without.
 *
 * @returns the exit code
 * @throws {ConfigurationRefused} and other errors of a start that failed, {ServerEnded}, {DiskIsFull} where that is why;
 *   everything that was started by then is stopped
 */
export async function serve(config: Config, { role, parentPid, progress, ready }: ServeOptions): Promise<number> {
  const log = createServiceLog(config, role);
  const { logger } = log;
  for (const misspelt of config.similarNames) logger.warn(misspeltText(misspelt));
  requireParts(config, role);
  const shutdown = new Shutdown(logger);
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<number>();
  let isTold = false;
  // Children end with this process, also at a second signal.
  onInterrupt(() => {
    isTold = true;
    end(0);
  });
  // npm passes no signal on when it is killed alone: the service would go on with nobody left to stop it.
  const watch = config.npm_lifecycle_event ? watchParent(parentPid, () => end(0)) : undefined;
  const starting =
    role === 'all'
      ? startAll(config, { log, progress, shutdown, failed: fail })
      : startOne(config, role, { log, shutdown });
  try {
    starting
      .then((started) => {
        if (!isTold) ready({ role, version: config.version, dataDirectory: config.dataDirectory, ...started });
      })
      .catch(fail);
    const code = await ended;
    progress('stopping: finishing work under way');
    return code;
  } catch (error) {
    progress('stopping');
    throw await orFullDisk(error, config);
  } finally {
    clearInterval(watch);
    await shutdown.stop(starting);
  }
}

const parentCheckMs = 500;

function watchParent(parentPid: number, gone: () => void): NodeJS.Timeout {
  return setInterval(() => {
    if (process.ppid !== parentPid) gone();
  }, parentCheckMs).unref();
}

type StartedParts = Omit<Started, 'role' | 'version' | 'dataDirectory'>;

async function startAll(
  given: Config,
  context: { log: ServiceLog; progress: (step: string) => void; shutdown: Shutdown; failed: (reason: Error) => void },
): Promise<StartedParts> {
  const { log, progress, shutdown, failed } = context;
  const demo = isDemo(given);
  const lock = lockDataDirectory(given.dataDirectory, servedAt);
  shutdown.add('data directory', async () => lock.release());
  // Whoever runs everything in one process has the staff console too.
  const ported = { ...given, STAFF_PORT: given.STAFF_PORT ?? 0 };
  const config: Config = isLocalDemo(ported) ? { ...ported, SANDBOX: 'weak' } : ported;
  await requireFreePort({ host: config.HOST, port: config.PORT, setting: 'PORT' });
  await requireStaffPort(config);
  const secrets = readSecrets(config);
  const servers = startEmbeddedServers(config, { demo, progress, abandoned: shutdown.abandoned });
  shutdown.add('servers', () => servers.stop());
  // Its files are hashed meanwhile. Whoever uses it is told of a failure.
  void findTestedDownloader(config).catch(() => undefined);
  // Their code takes as long to load as the servers take to start.
  const [addresses] = await Promise.all([servers.addresses, loadRoles()]);
  void servers.failed.then((ended) => {
    log.logger.fatal(ended.message);
    failed(ended);
  });
  const connections = await openConnections(config, addresses, { log, role: 'all', secrets, shutdown });
  await putPersonalKeysBack(config.dataDirectory, connections.pool);
  await putPendingVoidsBack(config.dataDirectory, connections.pool);
  const notices: string[] = [];
  const start = async (role: Role) => {
    const running = await startRole(role, connections, secrets);
    shutdown.add(role, () => running.close(), role === 'api' ? role : 'the roles behind the API');
    notices.push(...(running.notices ?? []));
    progress(`${role} is ready`);
    return running;
  };
  const { abandoned } = shutdown;
  const demoService = demoOf(connections);
  const tokens = createTokens(secrets);
  const telling = demo && hasStory(config) ? tellStory(demoService, { tokens, progress, abandoned }) : undefined;
  // The story comes before everything that acts on what it tells. A worker without a dispatcher has nothing to do.
  const [accountOfStory, { warmedUp }] = await Promise.all([telling, start('worker')]);
  // The API is started last, so that its first request finds everything else at work, and stopped first.
  await start('dispatcher');
  await start('projector');
  const { url = null, staffUrl = null } = await start('api');
  // While the log is another one, no key comes into force, and the command that mends it needs the servers.
  const refusal = await readRefusal(connections.pool);
  if (refusal !== undefined) notices.push(refusal);
  const prepared =
    demo && url !== null && refusal === undefined ? await prepareDemo(demoService, accountOfStory) : null;
  connections.demo = prepared ?? undefined;
  await warmedUp;
  shutdown.add('instance file', async () => removeInstance(config.dataDirectory));
  writeInstance(config.dataDirectory, { pid: process.pid, publicUrl: url ?? '', staffUrl, ...addresses });
  notices.push(...(await waitingNotices(connections)));
  endStart(connections);
  return { url, staffUrl, samplePlatformUrl: addresses.samplePlatformUrl, demo: prepared, notices };
}

/** Not with the operator's own servers, nor with other plans than those that the story was written for. */
const hasStory = ({ DEMO, allEmbedded, PLANS_FILE }: Config): boolean =>
  allEmbedded && DEMO !== 'empty' && PLANS_FILE === bundledPlansFile;

const demoOf = (connections: Connections): DemoDependencies => ({
  ...connections,
  plans: connections.config.plans,
  newUuid,
  newId,
  randomBits,
  signInLinks: createSignInLinks(connections.pool, { ...connections, randomBits }),
  staffLinks: createStaffLinks(connections.pool, { ...connections, randomBits }),
});

async function startOne(
  config: Config,
  role: Role,
  { log, shutdown }: { log: ServiceLog; shutdown: Shutdown },
): Promise<StartedParts> {
  const addresses = findAddresses(config);
  const setting = role === 'api' ? 'PORT' : 'HEALTH_PORT';
  await requireFreePort({ host: config.HOST, port: config[setting], setting });
  if (role === 'api') await requireStaffPort(config);
  const secrets = readSecrets(config);
  const connections = await openConnections(config, addresses, { log, role, secrets, shutdown });
  const running = await startRole(role, connections, secrets);
  shutdown.add(role, () => running.close());
  await running.warmedUp;
  const { samplePlatformUrl } = addresses;
  // A process of one role often has no screen: the notices go to its log.
  for (const notice of running.notices ?? []) log.logger.warn(notice);
  const { staffUrl = null } = running;
  endStart(connections);
  const started = { samplePlatformUrl, staffUrl, demo: null, notices: await waitingNotices(connections) };
  if (running.url !== undefined) return { ...started, url: running.url };
  const health = await startHealthServer(connections);
  shutdown.add('health', () => health.close());
  return { ...started, url: health.url ?? null };
}

async function openConnections(
  config: Config,
  addresses: Addresses,
  options: { log: ServiceLog; role: Role | 'all'; secrets: Secrets; shutdown: Shutdown },
): Promise<Connections> {
  const { log, shutdown, ...connecting } = options;
  const connections = await connect(config, addresses, { ...connecting, logger: log.logger });
  shutdown.add('connections', () => connections.close());
  const { metrics, store, pool } = connections;
  metrics.watchProcess();
  watchLog(metrics, log.output);
  watchAppends(metrics, store);
  watchServers(connections);
  await requireSharedSecret(pool, options.secrets);
  await keepSettings(pool, config, options.role);
  warnOfExcessRights(connections);
  warnOfWaitingCommits(connections);
  return connections;
}

const waitingNotices = async (connections: Connections) =>
  Object.entries(await whatWaits(connections)).map(([what, why]) => `${what} ${why}`);

async function requireStaffPort({ STAFF_HOST: host, STAFF_PORT: port }: Config): Promise<void> {
  if (port !== undefined && port !== 0) await requireFreePort({ host, port, setting: 'STAFF_PORT' });
}
