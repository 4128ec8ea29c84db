import { hash } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  createEgressGuard,
  type Destination,
  type EgressGuard,
  type EgressGuardOptions,
} from '../downloader/egress/connection-guard.ts';
import type { Egress } from '../downloader/egress/credentials.ts';
import { startEgressProxy } from '../downloader/egress/proxy.ts';
import { type Reaper, startReaper } from '../downloader/sandbox/child-reaper.ts';
import type { Namespaces } from '../downloader/sandbox/launch.ts';
import { openSandbox, type Sandbox, type SandboxKind, sandboxKindOf } from '../downloader/sandbox/open-sandbox.ts';
import { openUsers, type Users } from '../downloader/sandbox/users.ts';
import { type GuardReport, testSandbox } from '../downloader/self-test.ts';
import { copyOf, installTree, treeSha256 } from '../downloader/yt-dlp/installed-tree.ts';
import { connectionsOf } from '../http/connection-limit.ts';
import type { EgressObserver } from '../ports/observers.ts';
import { othersCanReach, sharedDirectory } from '../system/access-of-other-users.ts';
import { maxOpenFiles } from '../system/processes.ts';
import { type InstalledDownloader, isRoot, othersCanPassTo, passable } from './downloader.ts';
import { type Config, projectDirectory } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';
import { isLoopback } from './settings/setting-kinds.ts';

/** The folder of plugin packages. */
const pluginsDirectory = join(projectDirectory, 'src/downloader/yt-dlp/plugins');

/** Root directory of the sandbox, in which the guards are tried as well. */
export const sandboxDirectoryOf = (workDirectory: string): string => join(workDirectory, 'cell');

/** The sandbox of yt-dlp and ffmpeg, with its way out. */
export interface DownloaderSandbox {
  /** Guards every other connection to an address that a client or a platform named. */
  guard: EgressGuard;
  egress: Egress;
  namespaces: Namespaces;
  sandbox: SandboxKind;
  /** The work directory, which children can reach. */
  workDirectory: string;
  pluginsDirectory: string;
  /** Closing it alone ends the children that still run. */
  reaper: Reaper;
  /** The state of each guard, as real children found it. */
  guards: readonly GuardReport[];
  close(): Promise<void>;
}

/** A sandbox, and the folders that children can reach in it. */
type Place = Pick<DownloaderSandbox, 'workDirectory' | 'pluginsDirectory'> & {
  sandbox: Sandbox;
};

interface PlaceOptions {
  downloader: InstalledDownloader;
  workDirectory: string;
}

/** Opens namespaces, else a sandbox by other users, else the weak one. */
async function openPlace({ downloader, workDirectory }: PlaceOptions): Promise<Place> {
  const sandbox = await openSandbox({
    directory: sandboxDirectoryOf(workDirectory),
    programs: [downloader.ytDlpPath, downloader.ffmpegPath, downloader.ffprobePath],
    readable: [pluginsDirectory, downloader.directory],
  });
  const own = { sandbox, workDirectory, pluginsDirectory };
  const users = openUsers();
  if (sandboxKindOf(sandbox.namespaces) !== 'weak' || users === undefined) return own;
  const others = await openPlaceForOthers(users, {
    downloader,
    workDirectory,
    why: sandbox.missing.map(({ why }) => why),
  });
  if (sandboxKindOf(others.sandbox.namespaces) === 'weak') {
    await others.sandbox.close();
    return own;
  }
  await sandbox.close();
  return others;
}

/** Uses folders that other users can pass, with copies of our plugins: the service may be installed where they cannot reach. */
async function openPlaceForOthers(
  users: Users,
  { downloader, workDirectory: wanted, why }: PlaceOptions & { why: readonly string[] },
): Promise<Place> {
  for (const path of [downloader.ytDlpPath, downloader.ffmpegPath, downloader.ffprobePath]) {
    if (!othersCanReach(path))
      throw new ConfigurationRefused(
        `downloads run as another user here (${[...new Set(why)].join('; ')}), who cannot run ${path}: ` +
          'move it to a folder open to other users, such as /usr/local/bin, or, if npm installed it, set ENGINE_DIRECTORY to such a folder.',
      );
  }
  const name = `work-${hash('sha256', resolve(wanted)).slice(0, 12)}`;
  const workDirectory = othersCanPassTo(wanted) ? wanted : join(sharedDirectory, name);
  await passable(sandboxDirectoryOf(workDirectory), 'WORK_DIRECTORY');
  for (const ours of [workDirectory, sandboxDirectoryOf(workDirectory)]) await chmod(ours, 0o711);
  const copied = async (from: string, called: string) =>
    installTree(copyOf(from), { directory: downloader.directory, name: called, sha256: await treeSha256(from) });
  return {
    sandbox: await openSandbox({ directory: sandboxDirectoryOf(workDirectory), programs: [], readable: [], users }),
    workDirectory,
    pluginsDirectory: await copied(pluginsDirectory, 'plugins'),
  };
}

/**
 * Opens the sandbox that this machine allows, starts the egress proxy, which is the only way out, and tries every guard.
 *
 * @param samplePlatformUrl in demo and test mode: reached besides the public internet, by this host and port alone
 */
export async function openDownloaderSandbox(
  { samplePlatformUrl, ...given }: PlaceOptions & { samplePlatformUrl: string | null },
  {
    observer,
    ...outgoing
  }: Pick<EgressGuardOptions, 'onRefused' | 'routeTo' | 'onRouteFailed'> & { observer?: EgressObserver },
): Promise<DownloaderSandbox> {
  const { sandbox, ...place } = await openPlace(given);
  const guard = createEgressGuard({ allowed: destinationsOf(samplePlatformUrl), ...outgoing });
  const proxy = await startEgressProxy({
    guard,
    maxConnections: connectionsOf('egress', maxOpenFiles()),
    ...(observer && { observer }),
    ...(sandbox.listener && { listener: sandbox.listener }),
  });
  const reaper = startReaper();
  const close = async () => {
    reaper.close();
    await proxy.close();
    await sandbox.close();
  };
  try {
    const directory = sandboxDirectoryOf(place.workDirectory);
    const guards = await testSandbox({ sandbox, egress: proxy, directory, reaper });
    const { namespaces } = sandbox;
    return { ...place, guard, egress: proxy, namespaces, sandbox: sandboxKindOf(namespaces), reaper, guards, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws {ConfigurationRefused} if a guard that should hold does not */
export function requireGuards(guards: readonly GuardReport[]): void {
  const failed = guards.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return;
  const faults = failed.map(({ guard, detail }) => `  ${guard}: ${detail.slice(0, 300)}`);
  throw new ConfigurationRefused(
    `No downloads are taken: a guard of the sandbox that should hold does not.\n${faults.join('\n')}\n` +
      'docs/containment.md says what each guard needs; "reeltally engine show" tries them again.',
  );
}

export const isDemo = ({ DEMO, allEmbedded }: Config): boolean => (DEMO === undefined ? allEmbedded : DEMO !== '0');

/**
 * A demo with embedded servers that only this machine reaches downloads films of the sample platform: it may run in a weak
 * sandbox.
 */
export function isLocalDemo(config: Config): boolean {
  return isDemo(config) && config.allEmbedded && isLoopback(config.HOST);
}

/** One line of the start screen. */
export const weakSandboxNotice = 'Weak sandbox: downloads can read the files of this user (docs/containment.md).';

/** @throws {ConfigurationRefused} if the sandbox is weak, and no setting allows that */
export function requireSandbox(
  { sandbox, guards }: Pick<DownloaderSandbox, 'sandbox' | 'guards'>,
  { SANDBOX }: Pick<Config, 'SANDBOX'>,
): void {
  if (sandbox !== 'weak' || SANDBOX === 'weak') return;
  const why = guards.find(({ guard }) => guard === 'files')?.detail ?? '';
  throw new ConfigurationRefused(
    'No downloads are taken: yt-dlp and ffmpeg could read all files of this user, including the secret of this service.\n' +
      `  There are no user namespaces for a sandbox: ${why.slice(0, 300)}\n` +
      `  No other user can run them: ${isRoot() ? 'this root may not change users' : 'that needs root'}.\n` +
      'Allow user namespaces, or start the worker as root with the capabilities SETUID, SETGID, CHOWN and KILL: ' +
      'docs/containment.md says how. SANDBOX=weak takes downloads nevertheless.',
  );
}

function destinationsOf(url: string | null): Destination[] {
  if (url === null) return [];
  const { hostname, port, protocol } = new URL(url);
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (protocol === 'https:' ? 443 : 80)) }];
}
