/** The command line of a child: programs that make its namespaces and drop its privileges, then the child itself. */

import { basename, dirname } from 'node:path';
import type { CallFilter } from './system-calls.ts';
import type { Users } from './users.ts';

/** The files of this machine that children see. */
export interface View {
  /** An empty folder in which the view is mounted for each child. */
  root: string;
  /** The mounts, in the format of fstab. */
  table: string;
  folders: readonly string[];
  files: readonly string[];
  links: readonly (readonly [target: string, path: string])[];
}

/** Each part is present only if it was tried and works. */
export interface Namespaces {
  setpriv?: string;
  /** Refuses system calls; the program can make calls by their numbers, and loads it. */
  filter?: CallFilter & { perl: string };
  /** Makes namespaces of users, processes, mounts and messages. */
  unshare?: string;
  view?: View;
  /** Joins the network: file descriptors of its namespaces. */
  nsenter?: { program: string; user: number; network: number };
  /** Other users for the children of a root process. */
  users?: Users;
}

export interface ProcessLimits {
  /** For one file. */
  maxFileBytes?: number;
  /** Writable memory of one process, without mapped files. */
  maxMemoryBytes?: number;
  /** For one process. */
  maxProcessorSeconds?: number;
}

interface Place {
  directory: string;
  limits: ProcessLimits;
  namespaces: Namespaces;
  /** A number that only this run has. It is set as RLIMIT_LOCKS, by which survivors are found. */
  mark: number;
}

export interface Launch extends Place {
  command: string;
  arguments: readonly string[];
}

const maxOpenFiles = 1_024;
/** For the user: of one attempt, where it has a user or a namespace of users of its own and the kernel counts in it (from 5.14 on). */
const maxProcesses = 1_024;

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const quoted = (texts: readonly string[]): string => texts.map(quote).join(' ');

/** One command for the links of a folder that have the names of their targets, as most do: each program takes time to start. */
function linkCommands(links: View['links'], inside: (path: string) => string): string[] {
  const placeOf = ([target, path]: (typeof links)[number]) =>
    basename(target) === basename(path) ? dirname(path) : path;
  const places = Map.groupBy(links, placeOf);
  return [...places].map(([place, found]) => `ln -s ${quoted([...found.map(([target]) => target), inside(place)])}`);
}

/**
 * Commands that give a process a root with the programs, read-only, and, for a child, the attempt's directory and its own
 * processes, and nothing else.
 */
function viewCommands({ root, table, folders, files, links }: View, directory?: string): string[] {
  const inside = (path: string) => `${root}${path}`;
  const parents = [...files, ...links.map(([, path]) => path)].map((path) => inside(dirname(path)));
  const own = directory === undefined ? [] : [directory];
  const proc = quote(inside('/proc'));
  return [
    `mount -t tmpfs -o size=1m,nr_inodes=1k,mode=755 none ${quote(root)}`,
    `mkdir -p ${quoted([...folders, ...own, '/proc', '/.old', '/tmp'].map(inside))} ${quoted(parents)}`,
    ...(files.length > 0 ? [`touch ${quoted(files.map(inside))}`] : []),
    ...linkCommands(links, inside),
    `mount --all --fstab ${quote(table)}`,
    ...own.map((path) => `mount --rbind ${quoted([path, inside(path)])}`),
    // Without processes of its own, it has those of the machine, which only the commands below need.
    directory === undefined
      ? `mount --rbind /proc ${proc}`
      : // Processes alone; kernels before 5.8 know no such mount, and the child's user may write to nothing else there.
        `mount -t proc -o subset=pid proc ${proc} 2>/dev/null || mount -t proc proc ${proc}`,
    `cd ${quote(root)}`,
    'pivot_root . .old',
    'umount -l /.old',
    ...(directory === undefined ? ['umount -l /proc'] : []),
    // The mount, and not the file system: the options of that one name its owner, whom the namespace knows by another number.
    'mount -o remount,bind,ro /',
  ];
}

function limitCommands({ maxFileBytes, maxMemoryBytes, maxProcessorSeconds }: ProcessLimits, mark: number): string[] {
  const limit = (letter: string, value: number) => `ulimit -${letter} ${Math.ceil(value)}`;
  return [
    'ulimit -c 0',
    // A limit that is lower already stays.
    `${limit('n', maxOpenFiles)} 2>/dev/null || :`,
    `${limit('u', maxProcesses)} 2>/dev/null || ${limit('p', maxProcesses)} 2>/dev/null || :`,
    `${limit('w', mark)} 2>/dev/null || ${limit('x', mark)} 2>/dev/null || :`,
    ...(maxFileBytes === undefined ? [] : [limit('f', maxFileBytes / 512)]),
    ...(maxMemoryBytes === undefined ? [] : [limit('d', maxMemoryBytes / 1024)]),
    ...(maxProcessorSeconds === undefined ? [] : [limit('t', maxProcessorSeconds)]),
  ];
}

/** Descriptors after 0, 1 and 2, in the order of `handles`. */
interface Started {
  command: string;
  arguments: string[];
  handles: number[];
}

const ownPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** A failure before the child starts is ours, and is told by its message. */
const begin = [
  'set -e; trap \'[ "$started" ] || echo "The child could not be put into its place." >&2\' EXIT',
  `path=$PATH; PATH=${ownPath}`,
];
const end = 'PATH=$path; started=1; set +e; unset PWD OLDPWD';
/** Loads a filter of system calls, and becomes the child. Perl tells about locales that are not installed, but for its variable. */
const loadFilter = [
  'delete $ENV{PERL_BADLANG}; my ($call, $filter) = (shift, pack "H*", shift)',
  // PR_SET_SECCOMP, SECCOMP_MODE_FILTER, and a struct sock_fprog.
  'syscall($call + 0, 22, 2, pack("S x6 P", length($filter) / 8, $filter), 0, 0) == 0 or die "The child could not be put into its place.\\n"',
  'exec { $ARGV[0] } @ARGV or die "$ARGV[0] cannot be started.\\n"',
].join('; ');
const closeHandles = 'exec 3<&- 4<&-';
const dropAll = '--no-new-privs --inh-caps=-all --bounding-set=-all';
/** Those of root's children are of the users' namespace that they have joined: a new one would know root alone. */
const ownNamespaces = ({ users }: Pick<Namespaces, 'users'>): string[] => [
  ...(users === undefined ? ['--user', '--map-root-user'] : []),
  ...['--mount', '--pid', '--ipc', '--fork', '--kill-child'],
];

/** Joins the network, if there is one, before the command line. */
function joined(nsenter: Namespaces['nsenter'], [command = '', ...rest]: readonly string[]): Started {
  if (nsenter === undefined) return { command, arguments: rest, handles: [] };
  const { program, user, network } = nsenter;
  const join = ['--preserve-credentials', '--user=/proc/self/fd/3', '--net=/proc/self/fd/4', '--'];
  return { command: program, arguments: [...join, command, ...rest], handles: [user, network] };
}

const shell = (commands: readonly string[], words: readonly string[] = []): string[] => [
  ...['/bin/sh', '-c', commands.join('\n'), 'sh'],
  ...words,
];

/** The commands that bring a child's shell into its place. */
function placeCommands({ namespaces, directory, limits, mark }: Place): string[] {
  const { view, nsenter } = namespaces;
  return [
    ...begin,
    ...(nsenter === undefined ? [] : [closeHandles]),
    ...(view === undefined ? [] : viewCommands(view, directory)),
    `cd ${quote(directory)}`,
    ...limitCommands(limits, mark),
  ];
}

/**
 * The command line that starts a child in its namespaces and under its limits. If one of them fails, the child does not start.
 * `handles` are to be inherited as file descriptors from 3 on.
 */
export function launch(run: Launch): Started {
  const { setpriv, filter, unshare, nsenter, users } = run.namespaces;
  // Only the root user, of a namespace or of the machine, has capabilities to lose.
  const isRoot = process.getuid?.() === 0 && (users === undefined || users.shared !== undefined);
  const drops = unshare !== undefined || isRoot ? dropAll : '--no-new-privs --inh-caps=-all';
  const becomes = users?.shared && `--reuid=${users.shared.uid} --regid=${users.shared.gid} --clear-groups `;
  const privileges =
    setpriv === undefined
      ? ''
      : `${quote(setpriv)} ${becomes ?? ''}${drops} -- ${filter === undefined ? '' : filtered(filter)}`;
  // The first process of a namespace ignores signals without a handler, and adopts orphans: it stays the shell.
  const first = [
    `trap : TERM; ${privileges}"$@" & child=$!`,
    'wait "$child"; code=$?; if kill -0 "$child" 2>/dev/null; then wait "$child"; code=$?; fi; exit "$code"',
  ];
  const commands = [
    ...placeCommands(run),
    // The view may not show the program.
    '[ -x "$1" ] || { echo "$1 cannot be started." >&2; exit 126; }',
    end,
    ...(setpriv === undefined || filter === undefined ? [] : ['export PERL_BADLANG=0']),
    ...(unshare === undefined ? [`exec ${privileges}"$@"`] : first),
  ];
  const child = shell(commands, [run.command, ...run.arguments]);
  return joined(nsenter, unshare === undefined ? child : [unshare, ...ownNamespaces(run.namespaces), '--', ...child]);
}

const filtered = ({ perl, prctl, program }: NonNullable<Namespaces['filter']>): string =>
  `${quoted([perl, '-e', loadFilter, String(prctl), program])} `;

/** All parts: what a child needs that is forked elsewhere and enters them. */
export type AllNamespaces = Required<Pick<Namespaces, 'setpriv' | 'unshare' | 'view' | 'nsenter'>> &
  Pick<Namespaces, 'users' | 'filter'>;

export function hasAll(namespaces: Namespaces): namespaces is AllNamespaces {
  const { setpriv, unshare, view, nsenter } = namespaces;
  return setpriv !== undefined && unshare !== undefined && view !== undefined && nsenter !== undefined;
}

/** The file descriptor, after those of the network, by which a holder says that it is in its place, and a child is told its job. */
export const jobDescriptor = 5;

/**
 * A holder: the first process of the namespaces of a child that is forked elsewhere. It says so once they are made, and ends
 * with the exit code that it reads.
 */
export function launchHolder(run: Place & { namespaces: AllNamespaces }): Started {
  const { unshare, nsenter } = run.namespaces;
  const commands = [...placeCommands(run), end, `echo >&${jobDescriptor}; read -r code; exit "$code"`];
  return joined(nsenter, [unshare, ...ownNamespaces(run.namespaces), '--', ...shell(commands)]);
}

/**
 * The process from which such children are forked. It sees the programs, and has no network and no folder to write to. It
 * belongs to the users' namespace in which those of its children are made, since only so may they enter these.
 */
export function launchParent(command: readonly string[], { nsenter, unshare, view }: AllNamespaces): Started {
  const commands = [...begin, closeHandles, ...viewCommands(view), end, 'exec "$@"'];
  return joined(nsenter, [unshare, '--mount', '--ipc', '--net', '--', ...shell(commands, command)]);
}
