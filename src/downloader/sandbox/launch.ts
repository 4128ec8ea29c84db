/** The command line of a child: programs that make its namespaces and drop its privileges, then the child itself. */

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
  /** Makes namespaces of users, processes, mounts and messages. */
  unshare?: string;
  view?: View;
  /** Joins the network: file descriptors of its namespaces. */
  nsenter?: { program: string; user: number; network: number };
  /** Without namespaces: other users for the children of a root process. */
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

export interface Launch {
  command: string;
  arguments: readonly string[];
  directory: string;
  limits: ProcessLimits;
  namespaces: Namespaces;
  /** A number that only this run has. It is set as RLIMIT_LOCKS, by which survivors are found. */
  mark: number;
}

const maxOpenFiles = 1_024;
/** For the user, in the child's own user namespace if it has one. */
const maxProcesses = 1_024;

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const quoted = (texts: readonly string[]): string => texts.map(quote).join(' ');

/** Commands that give the child a root with the programs, read-only, and the attempt's directory, and nothing else. */
function viewCommands({ root, table, folders, files, links }: View, directory: string): string[] {
  const inside = (path: string) => `${root}${path}`;
  const parents = [...files, ...links.map(([, path]) => path)].map((path) => inside(path.replace(/\/[^/]*$/, '')));
  return [
    `mount -t tmpfs -o size=1m,nr_inodes=1k,mode=755 none ${quote(root)}`,
    `mkdir -p ${quoted([...folders, directory, '/proc', '/.old', '/tmp'].map(inside))} ${quoted(parents)}`,
    ...(files.length > 0 ? [`touch ${quoted(files.map(inside))}`] : []),
    ...links.map(([target, path]) => `ln -s ${quoted([target, inside(path)])}`),
    `mount --all --fstab ${quote(table)}`,
    `mount --rbind ${quoted([directory, inside(directory)])}`,
    `mount -t proc proc ${quote(inside('/proc'))}`,
    `cd ${quote(root)}`,
    'pivot_root . .old',
    'umount -l /.old',
    'mount -o remount,ro /',
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

/**
 * The command line that starts a child in its namespaces and under its limits. If one of them fails, the child does not start.
 * `handles` are to be inherited as file descriptors from 3 on.
 */
export function launch(run: Launch): { command: string; arguments: string[]; handles: number[] } {
  const { setpriv, unshare, view, nsenter, users } = run.namespaces;
  const ownPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const isolated = unshare !== undefined;
  const commands = [
    // A failure before the child starts is ours, and is told by its message.
    'set -e; trap \'[ "$started" ] || echo "The child could not be put into its place." >&2\' EXIT',
    `path=$PATH; PATH=${ownPath}`,
    ...(nsenter === undefined ? [] : ['exec 3<&- 4<&-']),
    ...(view === undefined ? [] : viewCommands(view, run.directory)),
    // From Linux 6.14 on, this limits only the namespace; before, the file cannot be written.
    ...(isolated ? ['{ echo 512 > /proc/sys/kernel/pid_max; } 2>/dev/null || :'] : []),
    `cd ${quote(run.directory)}`,
    ...limitCommands(run.limits, run.mark),
    // The view may not show the program.
    '[ -x "$1" ] || { echo "$1 cannot be started." >&2; exit 126; }',
    'PATH=$path; started=1; set +e; unset PWD OLDPWD',
  ];
  // Only the root user, of a namespace or of the machine, has capabilities to lose.
  const drop = '--no-new-privs --inh-caps=-all --bounding-set=-all';
  const isRoot = process.getuid?.() === 0 && users === undefined;
  const drops = isolated || isRoot ? drop : '--no-new-privs --inh-caps=-all';
  const privileges = setpriv === undefined ? '' : `${quote(setpriv)} ${drops} -- `;
  if (isolated) {
    // The first process of a namespace ignores signals without a handler, and adopts orphans: it stays the shell.
    commands.push(`trap : TERM; ${privileges}"$@" & child=$!`);
    commands.push(
      'wait "$child"; code=$?; if kill -0 "$child" 2>/dev/null; then wait "$child"; code=$?; fi; exit "$code"',
    );
  } else {
    commands.push(`exec ${privileges}"$@"`);
  }
  const shell = ['/bin/sh', '-c', commands.join('\n'), 'sh', run.command, ...run.arguments];
  const separate = isolated
    ? [unshare, '--user', '--map-root-user', '--mount', '--pid', '--ipc', '--fork', '--kill-child', '--', ...shell]
    : shell;
  const joined =
    nsenter === undefined
      ? separate
      : [
          ...[nsenter.program, '--preserve-credentials', '--user=/proc/self/fd/3', '--net=/proc/self/fd/4', '--'],
          ...separate,
        ];
  const [command = '', ...rest] = joined;
  return { command, arguments: rest, handles: nsenter === undefined ? [] : [nsenter.user, nsenter.network] };
}
