import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { openSandbox, sandboxKindOf } from '../downloader/sandbox/sandbox.ts';
import type { Sandbox, SandboxKind } from '../downloader/sandbox/sandbox.ts';
import type { Namespaces } from '../downloader/sandbox/launch.ts';
import { startReaper } from '../downloader/sandbox/reaper.ts';
import type { Reaper } from '../downloader/sandbox/reaper.ts';
import { openUsers } from '../downloader/sandbox/users.ts';
import type { Users } from '../downloader/sandbox/users.ts';
import { testSandbox } from '../downloader/self-test.ts';
import type { GuardReport } from '../downloader/self-test.ts';
import { createEgressGuard } from '../downloader/egress/guard.ts';
import type { Destination, EgressGuard, EgressGuardOptions } from '../downloader/egress/guard.ts';
import { startEgressProxy } from '../downloader/egress/proxy.ts';
import type { Egress } from '../downloader/egress/credentials.ts';
import { copyOf, installTree, treeSha256 } from '../downloader/yt-dlp/installed-tree.ts';
import { installEngine, locateEngine } from '../downloader/yt-dlp/programs.ts';
import type { Engine } from '../downloader/yt-dlp/programs.ts';
import { localFfmpeg } from '../downloader/yt-dlp/run.ts';
import type { EgressObserver } from '../ports/observers.ts';
import { othersCanReach, sharedDirectory } from '../system/reach.ts';
import { ConfigurationRefused, projectDirectory } from './settings/config.ts';
import type { Config } from './settings/config.ts';

/** The folder of plugin packages. */
const pluginsDirectory = join(projectDirectory, 'src/downloader/yt-dlp/plugins');

export const workDirectoryOf = ({ WORK_DIRECTORY, dataDirectory }: Config): string =>
  WORK_DIRECTORY ?? join(dataDirectory, 'work');

/** The programs, and the folder in which copies of npm's are: it holds whatever else is installed for children. */
export interface InstalledEngine extends Engine {
  directory: string;
}

const isRoot = () => process.getuid?.() === 0;

/** Whether others can reach what does not need to be there yet. */
function othersCanPassTo(directory: string): boolean {
  const parent = dirname(directory);
  return existsSync(parent) ? othersCanReach(parent) : othersCanPassTo(parent);
}

/** In the order in which they are tried: users of a root's children may not reach the data folder. */
function engineDirectories(config: Config): string[] {
  if (config.ENGINE_DIRECTORY !== undefined) return [config.ENGINE_DIRECTORY];
  const own = join(workDirectoryOf(config), 'engine');
  // A data folder is closed to others from its first start on.
  const isOpen = config.WORK_DIRECTORY !== undefined && othersCanPassTo(config.WORK_DIRECTORY);
  return isRoot() && !isOpen ? [join(sharedDirectory, 'engine'), own] : [own];
}

/**
 * Makes a folder and the one above it so that others can pass them, and see nothing; those above are ours alone, but for the
 * shared one. What is there already stays as it is.
 */
async function passable(directory: string, setting: string): Promise<string> {
  try {
    const isShared = directory.startsWith(`${sharedDirectory}/`);
    if (!isShared) await mkdir(dirname(dirname(directory)), { recursive: true, mode: 0o700 });
    for (const each of [...(isShared ? [sharedDirectory] : []), dirname(directory), directory]) {
      if ((await mkdir(each, { recursive: true })) !== undefined) await chmod(each, 0o711);
    }
    return directory;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationRefused(`A folder for downloads cannot be made; set ${setting} to another one: ${why}`);
  }
}

async function openEngineDirectory(config: Config): Promise<string> {
  if (config.WORK_DIRECTORY !== undefined) await mkdir(config.WORK_DIRECTORY, { recursive: true, mode: 0o711 });
  const [first = '', ...others] = engineDirectories(config);
  const open = (directory: string) => passable(directory, 'ENGINE_DIRECTORY');
  return await others.reduce((before, next) => before.catch(() => open(next)), open(first));
}

const engines = new WeakMap<Config, Promise<InstalledEngine>>();

/**
 * The programs, copied and checked once per process, which has one configuration.
 *
 * @throws {EngineUnusable} where a program is missing, or not the one that it should be
 */
export function findEngine(config: Config): Promise<InstalledEngine> {
  const { YTDLP_PATH, FFMPEG_PATH, FFPROBE_PATH, PATH } = config;
  const given = { ytDlpPath: YTDLP_PATH, ffmpegPath: FFMPEG_PATH, ffprobePath: FFPROBE_PATH };
  const find = async () => {
    const located = await locateEngine(given, PATH);
    const directory = await openEngineDirectory(config);
    return { ...(await installEngine(located, { directory })), directory };
  };
  const found = engines.get(config) ?? find();
  engines.set(config, found);
  return found;
}

/** What children see of this machine, and where they are tried. */
export const cellDirectoryOf = (workDirectory: string): string => join(workDirectory, 'cell');

/** What children are held in. */
export interface Containment {
  /** For whatever else a worker fetches because a client or a platform named it. */
  guard: EgressGuard;
  egress: Egress;
  namespaces: Namespaces;
  sandbox: SandboxKind;
  /** Where children can reach what they need. */
  workDirectory: string;
  pluginsDirectory: string;
  localFfmpegDirectory: string;
  /** Closed by itself, it ends the children that still run. */
  reaper: Reaper;
  /** Each guard, as it was found by real children. */
  guards: readonly GuardReport[];
  close(): Promise<void>;
}

/** What children are put into, and the folders that they can reach there. */
type Place = Pick<Containment, 'workDirectory' | 'pluginsDirectory' | 'localFfmpegDirectory'> & { cell: Sandbox };

interface PlaceOptions {
  engine: InstalledEngine;
  workDirectory: string;
}

/** Namespaces, else other users, else what there is. */
async function openPlace({ engine, workDirectory }: PlaceOptions): Promise<Place> {
  const cell = await openSandbox({
    directory: cellDirectoryOf(workDirectory),
    programs: [engine.ytDlpPath, engine.ffmpegPath, engine.ffprobePath],
    readable: [pluginsDirectory, localFfmpeg, engine.directory],
  });
  const own = { cell, workDirectory, pluginsDirectory, localFfmpegDirectory: localFfmpeg };
  const users = openUsers();
  if (sandboxKindOf(cell.namespaces) !== 'weak' || users === undefined) return own;
  const others = await openPlaceForOthers(users, { engine, workDirectory });
  if (sandboxKindOf(others.cell.namespaces) === 'weak') {
    await others.cell.close();
    return own;
  }
  await cell.close();
  return others;
}

/** Folders that others can pass, with copies of our own programs, since the service may be installed where they cannot. */
async function openPlaceForOthers(users: Users, { engine, workDirectory: wanted }: PlaceOptions): Promise<Place> {
  for (const path of [engine.ytDlpPath, engine.ffmpegPath, engine.ffprobePath]) {
    if (!othersCanReach(path))
      throw new ConfigurationRefused(
        `downloads run as another user here, who cannot run ${path}: move it to a folder open to other users, such as /usr/local/bin, ` +
          'or, if npm installed it, set ENGINE_DIRECTORY to such a folder.',
      );
  }
  const name = `work-${hash('sha256', resolve(wanted)).slice(0, 12)}`;
  const workDirectory = othersCanPassTo(wanted) ? wanted : join(sharedDirectory, name);
  await passable(cellDirectoryOf(workDirectory), 'WORK_DIRECTORY');
  for (const ours of [workDirectory, cellDirectoryOf(workDirectory)]) await chmod(ours, 0o711);
  const copied = async (from: string, called: string) =>
    installTree(copyOf(from), { directory: engine.directory, name: called, sha256: await treeSha256(from) });
  return {
    cell: await openSandbox({ directory: cellDirectoryOf(workDirectory), programs: [], readable: [], users }),
    workDirectory,
    pluginsDirectory: await copied(pluginsDirectory, 'plugins'),
    localFfmpegDirectory: await copied(localFfmpeg, 'local-ffmpeg'),
  };
}

/**
 * Makes the namespaces that this machine allows, or takes other users, starts the one way out, and tries every guard.
 *
 * @param samplePlatformUrl in demo and test mode: reached besides the public internet, by this host and port alone
 */
export async function openContainment(
  { samplePlatformUrl, ...given }: PlaceOptions & { samplePlatformUrl: string | null },
  { onRefused, observer }: { onRefused: EgressGuardOptions['onRefused']; observer?: EgressObserver },
): Promise<Containment> {
  const { cell, ...place } = await openPlace(given);
  const guard = createEgressGuard({ allowed: destinationsOf(samplePlatformUrl), onRefused });
  const proxy = await startEgressProxy({
    guard,
    ...(observer && { observer }),
    ...(cell.listener && { listener: cell.listener }),
  });
  const reaper = startReaper();
  const close = async () => {
    reaper.close();
    await proxy.close();
    await cell.close();
  };
  try {
    const directory = cellDirectoryOf(place.workDirectory);
    const guards = await testSandbox({ sandbox: cell, egress: proxy, directory, reaper });
    const { namespaces } = cell;
    return { ...place, guard, egress: proxy, namespaces, sandbox: sandboxKindOf(namespaces), reaper, guards, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws {ConfigurationRefused} when a guard that should hold does not */
export function requireGuards(guards: readonly GuardReport[]): void {
  const failed = guards.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return;
  const faults = failed.map(({ guard, detail }) => `  ${guard}: ${detail.slice(0, 300)}`);
  throw new ConfigurationRefused(
    `No downloads are taken: a guard of the sandbox that should hold does not.\n${faults.join('\n')}\n` +
      'docs/containment.md says what each guard needs; "reeltally engine show" tries them again.',
  );
}

/**
 * A demo that only this machine reaches, with servers of its own, has the sample platform's films to download: it may do so
 * anywhere.
 */
export function isLocalDemo({ allEmbedded, HOST }: Config, demo: boolean): boolean {
  return demo && allEmbedded && (HOST === 'localhost' || HOST === '::1' || /^127(?:\.\d{1,3}){3}$/.test(HOST));
}

/** In one line of a screen, where children are held by little. */
export const weakSandboxNotice = 'Weak sandbox: downloads can read the files of this user (docs/containment.md).';

/** @throws {ConfigurationRefused} when children would be held by little, and nobody has said that they may */
export function requireSandbox(
  { sandbox, guards }: Pick<Containment, 'sandbox' | 'guards'>,
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
