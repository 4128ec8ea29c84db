/**
 * The sandbox of children, made of namespaces if the kernel lets an ordinary user make them: a network in which only our proxy
 * can be reached, a set of processes that ends with its first one, and a view of the files with the programs, read-only, and
 * the directory of one attempt. Each part that is missing is reported with its reason.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, writeFile } from 'node:fs/promises';
import { Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { sleep } from '../../async/sleep.ts';
import { makeTemporaryFolder } from '../../system/disk.ts';
import { listPids } from '../../system/processes.ts';
import { startTimeoutMs } from '../start-timeout.ts';
import { launch, type Namespaces, type View } from './launch.ts';
import { callFilter } from './system-calls.ts';
import { openUsers, shareUser, type User, type Users } from './users.ts';

/** The reason why children cannot read this process's files: a view without them, another user, or none (`weak`). */
export type SandboxKind = 'namespaces' | 'another user' | 'weak';

export function sandboxKindOf({ view, users }: Namespaces): SandboxKind {
  if (view !== undefined) return 'namespaces';
  return users === undefined ? 'weak' : 'another user';
}

export interface Sandbox {
  namespaces: Namespaces;
  /** Listens inside the children's network; its connections arrive in this process. Undefined without such a network. */
  listener: Server | undefined;
  /** The guards that this machine does not allow, each with the reason. */
  missing: { guard: 'network' | 'processes' | 'files' | 'privileges' | 'calls' | 'memory'; why: string }[];
  close(): Promise<void>;
}

export interface SandboxOptions {
  /** For the view; made if it is not there. Processes that run the same programs may share it. */
  directory: string;
  /** Programs that children run. Their folders, and the folders beside these, can be read in the view, like those of Node. */
  programs: readonly string[];
  /** Further folders that can be read. */
  readable: readonly string[];
  /** Used instead of namespaces; they must be able to pass through `directory`. */
  users?: Users;
}

const programDirectories = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** Of a process that sees nothing of this one. */
const apart = { cwd: '/', detached: true, env: { PATH: programDirectories.join(':') } };

/**
 * Runs in the new network: opens a listening socket there, hands it over, and ends with its standard input, which its parent
 * closes. Node does not tell of a parent that is killed before it has taken the socket: no `disconnect` follows.
 */
const listenerProgram = `
  const server = require('node:net').createServer();
  process.stdin.once('end', () => process.exit()).resume();
  server.listen(0, '127.0.0.1', () => process.send('listening', server));
`;

function findProgram(name: string): string | undefined {
  return programDirectories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}

async function exitOf(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-2_000)));
  const drained = new Promise((resolve) => child.stderr?.once('close', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs);
  const code = await new Promise<number | null>((resolve) => {
    // Not 'close', which a child that has handed over a socket does not emit.
    child.once('exit', (exitCode) => void drained.then(() => resolve(exitCode)));
    child.once('error', (error) => {
      stderr = error.message;
      resolve(null);
    });
  });
  clearTimeout(timer);
  return { code, stderr: stderr.trim().split('\n').at(-1) ?? '' };
}

interface Network {
  user: FileHandle;
  network: FileHandle;
  listener: Server;
}

/** The programs that make a network, or join one. */
interface NetworkTools {
  unshare: string;
  nsenter: string;
}

/**
 * Maps root, who prepares each child's place, and the user as whom the child then runs. The map of a user's own namespace
 * holds that user alone, so it is written from outside.
 */
async function mapUsers(pid: number, { uid, gid }: User): Promise<void> {
  const map = (id: number) => `0 0 1\n${id} ${id} 1\n`;
  await writeFile(`/proc/${pid}/uid_map`, map(uid));
  await writeFile(`/proc/${pid}/gid_map`, map(gid));
}

/**
 * Makes a network with only a loopback interface and one listening socket, which is ours.
 *
 * @param user as whom the children of root run
 */
async function openNetwork(
  { unshare, nsenter }: NetworkTools,
  user: User | undefined,
): Promise<Network | { why: string }> {
  if (user === undefined) return await listenIn([unshare, '--user', '--map-root-user', '--net', '--']);
  const maker = spawn(unshare, ['--user', '--net', '--', '/bin/sh', '-c', 'echo; read -r end'], {
    ...apart,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = exitOf(maker);
  try {
    const isMade = new Promise<boolean>((resolve) => maker.stdout.once('data', () => resolve(true)));
    if (maker.pid === undefined || !(await Promise.race([isMade, ended.then(() => false)])))
      return { why: (await ended).stderr || 'the network was not made' };
    await mapUsers(maker.pid, user);
    const of = `/proc/${maker.pid}/ns`;
    return await listenIn([nsenter, `--user=${of}/user`, `--net=${of}/net`, '--']);
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  } finally {
    maker.stdin.destroy();
    await ended;
  }
}

async function listenIn([command = '', ...enter]: readonly string[]): Promise<Network | { why: string }> {
  const up =
    'ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null || { echo "neither ip nor ifconfig" >&2; exit 1; }';
  const child = spawn(
    command,
    [...enter, '/bin/sh', '-c', `${up}; exec "$@"`, 'sh', process.execPath, '-e', listenerProgram],
    { ...apart, stdio: ['pipe', 'ignore', 'pipe', 'ipc'] },
  );
  const ended = exitOf(child);
  const listening = new Promise<Server | undefined>((resolve) => {
    child.once('message', (_message, handle) => resolve(handle instanceof Server ? handle : undefined));
  });
  const listener = await Promise.race([listening, ended.then(() => undefined)]);
  if (listener === undefined || child.pid === undefined) {
    child.stdin?.destroy();
    return { why: (await ended).stderr || 'the network did not come up' };
  }
  const [user, network] = await Promise.all(['user', 'net'].map((name) => open(`/proc/${child.pid}/ns/${name}`)));
  child.stdin?.destroy();
  await ended;
  return user === undefined || network === undefined ? { why: 'no handle of it' } : { user, network, listener };
}

/** Folders that every program needs, as they are on this machine: a link stays a link. */
const systemPaths = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc/alternatives', '/etc/ld.so.cache'],
  ...['/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/ssl', '/etc/pki', '/etc/ca-certificates', '/etc/localtime'],
  ...['/etc/nsswitch.conf', '/nix/store', '/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'],
];

/** Folders that hold only programs. In other folders, files that a child must not read may be beside a program, such as keys. */
const programFolder = /^\/(?:usr|opt|nix)\/|\/node_modules\//;

/** A program in a folder `bin` may need the folders beside it. A program elsewhere is shown by itself. */
function shownFor(program: string): string {
  const folder = dirname(program);
  const shown = basename(folder) === 'bin' ? dirname(folder) : folder;
  return programFolder.test(`${shown}/`) ? shown : program;
}

async function writeView(options: SandboxOptions): Promise<View> {
  const programs = [...options.programs, process.execPath].filter((path) => existsSync(path));
  const programPaths = programs.flatMap((path) => [shownFor(path), shownFor(realpathSync(path))]);
  const paths = [...systemPaths, ...programPaths, ...options.readable];
  const links: [target: string, path: string][] = [];
  const [folders, files, shown]: [string[], string[], { name: string; how: string }[]] = [[], [], []];
  for (const path of new Set(paths)) {
    if (!existsSync(path)) continue;
    const stats = lstatSync(path);
    if (stats.isSymbolicLink() && systemPaths.includes(path)) {
      links.push([readlinkSync(path), path]);
      continue;
    }
    if (folders.some((folder) => path.startsWith(`${folder}/`))) continue;
    (stats.isDirectory() ? folders : files).push(path);
    const name = path.replace(/[\s\\#]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`);
    shown.push({ name, how: path.startsWith('/dev/') ? 'bind' : 'rbind,ro' });
  }
  // Named by its content, because children of another process, perhaps of another version, need another table.
  const directory = join(options.directory, hash('sha256', JSON.stringify(shown)).slice(0, 16));
  const [root, table] = [join(directory, 'root'), join(directory, 'mounts')];
  await mkdir(root, { recursive: true, mode: 0o700 });
  const lines = shown.map(({ name, how }) => `${name} ${root}${name} none ${how} 0 0\n`);
  await using written = await makeTemporaryFolder(join(directory, 'writing-'));
  await writeFile(join(written.path, 'mounts'), lines.join(''), { mode: 0o600 });
  await rename(join(written.path, 'mounts'), table);
  return { root, table, folders, files, links };
}

/** Runs a program that does nothing in these namespaces. @returns why it failed; undefined if it did not */
async function trial(options: SandboxOptions, namespaces: Namespaces): Promise<string | undefined> {
  await using folder = await makeTemporaryFolder(join(options.directory, 'trial-'));
  const directory = folder.path;
  try {
    const user = await namespaces.users?.of(directory);
    const started = launch({ command: '/bin/sh', arguments: ['-c', ':'], directory, limits: {}, namespaces, mark: 1 });
    const child = spawn(started.command, started.arguments, {
      ...apart,
      stdio: ['ignore', 'ignore', 'pipe', ...started.handles],
      ...(namespaces.users?.shared === undefined ? user : {}),
    });
    const { code, stderr } = await exitOf(child);
    return code === 0 ? undefined : stderr || `it ended with ${String(code)}`;
  } catch (error) {
    // Node throws if this process may not start processes of another user.
    return error instanceof Error ? error.message : String(error);
  }
}

/** Makes the parts that the kernel allows, tries each, and leaves out those that fail. Never throws for a missing one. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const opening: Opening = { options, namespaces: {}, missing: [], network: undefined };
  const { missing } = opening;
  const { users } = options;
  if (listPids().length === 0) missing.push({ guard: 'memory', why: 'no /proc shows what a process uses' });
  if (users !== undefined) await attempt(opening, 'files', { users });
  const setpriv = findProgram('setpriv');
  if (setpriv === undefined) missing.push({ guard: 'privileges', why: 'there is no setpriv' });
  else await attempt(opening, 'privileges', { setpriv });
  await addFilter(opening);
  if (users !== undefined) missing.push({ guard: 'network', why: 'it needs user namespaces' });
  else await addNamespaces(opening);
  const close = async () => {
    const { network } = opening;
    await network?.user.close();
    await network?.network.close();
    if (network?.listener.listening === true) network.listener.close();
    await sleep(0);
  };
  const { namespaces, network } = opening;
  return { namespaces, listener: namespaces.nsenter && network?.listener, missing, close };
}

interface Opening extends Pick<Sandbox, 'namespaces' | 'missing'> {
  options: SandboxOptions;
  network: Network | undefined;
}

type MissingGuard = Sandbox['missing'][number]['guard'];

async function attempt({ options, namespaces, missing }: Opening, guard: MissingGuard, more: Namespaces) {
  const why = await trial(options, { ...namespaces, ...more });
  if (why === undefined) Object.assign(namespaces, more);
  else missing.push({ guard, why });
}

async function addFilter(opening: Opening): Promise<void> {
  const [perl, filter] = [findProgram('perl'), callFilter()];
  const leaveOut = (why: string) => opening.missing.push({ guard: 'calls', why });
  // Without the promise to gain no privileges, only root may load one.
  if (opening.namespaces.setpriv === undefined) leaveOut('it needs setpriv');
  else if (perl === undefined) leaveOut('there is no perl, which loads the filter');
  else if (filter === undefined) leaveOut(`the system calls of ${process.arch} are not known`);
  else await attempt(opening, 'calls', { filter: { perl, ...filter } });
}

/**
 * A child is root in namespaces of its own, which stands for the worker's user. Root itself must not be what it stands for: then
 * they are made in those of the network, where another user is known, and the child runs as that user.
 */
async function addNamespaces(opening: Opening): Promise<void> {
  const { namespaces, missing, options } = opening;
  const [unshare, nsenter] = ['unshare', 'nsenter'].map(findProgram);
  const leaveOut = (why: string, ...guards: MissingGuard[]) => missing.push(...guards.map((guard) => ({ guard, why })));
  if (unshare === undefined) {
    leaveOut('there is no unshare', 'processes', 'files', 'network');
    return;
  }
  const users = openUsers();
  const isRoot = process.getuid?.() === 0;
  if (isRoot && (users === undefined || namespaces.setpriv === undefined)) {
    leaveOut('a child of root would be root', 'processes', 'files', 'network');
    return;
  }
  if (users !== undefined) {
    namespaces.users = await shareUser(users, join(options.directory, 'user'));
    await addNetwork(opening, unshare, nsenter);
  }
  if (users === undefined || namespaces.nsenter !== undefined) await attempt(opening, 'processes', { unshare });
  if (namespaces.unshare === undefined) leaveOut('it needs processes of their own', 'files');
  else await attempt(opening, 'files', { view: await writeView(options) });
  if (users === undefined) await addNetwork(opening, unshare, nsenter);
  // Some of them do not keep attempts of one user apart.
  else if (namespaces.view === undefined) {
    const { setpriv = '', filter } = namespaces;
    opening.namespaces = { setpriv, ...(filter && { filter }) };
  }
}

async function addNetwork(opening: Opening, unshare: string, nsenter: string | undefined): Promise<void> {
  const { namespaces, missing } = opening;
  const opened =
    nsenter === undefined
      ? { why: 'there is no nsenter' }
      : await openNetwork({ unshare, nsenter }, namespaces.users?.shared);
  if ('why' in opened) {
    missing.push({ guard: 'network', why: opened.why });
    return;
  }
  opening.network = opened;
  const handles = { user: opened.user.fd, network: opened.network.fd };
  await attempt(opening, 'network', { nsenter: { program: nsenter ?? '', ...handles } });
}
