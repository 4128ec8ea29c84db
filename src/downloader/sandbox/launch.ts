/** How a child is started: the programs that put it in its place and take its rights away, and then the child. */

import type { Users } from './users.ts';

/** What the children of this machine see of its files. */
export interface View {
  /** An empty folder, in which the view is put together for each child. */
  root: string;
  /** In the form of fstab: what is shown, and how. */
  table: string;
  folders: readonly string[];
  files: readonly string[];
  links: readonly (readonly [target: string, path: string])[];
}

/** Each part is there only where it was tried and works. */
export interface Namespaces {
  setpriv?: string;
  /** For users, processes, mounts and messages. */
  unshare?: string;
  view?: View;
  /** For the network: handles of the namespaces to join. */
  nsenter?: { program: string; user: number; network: number };
  /** Where there are no namespaces: for a child of a root that is to be somebody else. */
  users?: Users;
}

export interface ProcessLimits {
  /** Of one file. */
  maxFileBytes?: number;
  /** Of one process: what it may write to, files left aside. */
  maxMemoryBytes?: number;
  /** Of one process. */
  maxProcessorSeconds?: number;
}

export interface Launch {
  command: string;
  arguments: readonly string[];
  directory: string;
  limits: ProcessLimits;
  namespaces: Namespaces;
  /** A number of this run's own, by which its processes are known: the limit of something that has no limit any more. */
  mark: number;
}

const maxOpenFiles = 1_024;
/** Of the user, in the child's own user namespace where there is one. */
const maxProcesses = 1_024;

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const quoted = (texts: readonly string[]): string => texts.map(quote).join(' ');

/** A root of its own with the programs, read-only, and the attempt's directory; the rest of the machine is not there. */
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
    // Where the limit is lower already, it stays.
    `${limit('n', maxOpenFiles)} 2>/dev/null || :`,
    `${limit('u', maxProcesses)} 2>/dev/null || ${limit('p', maxProcesses)} 2>/dev/null || :`,
    `${limit('w', mark)} 2>/dev/null || ${limit('x', mark)} 2>/dev/null || :`,
    ...(maxFileBytes === undefined ? [] : [limit('f', maxFileBytes / 512)]),
    ...(maxMemoryBytes === undefined ? [] : [limit('d', maxMemoryBytes / 1024)]),
    ...(maxProcessorSeconds === undefined ? [] : [limit('t', maxProcessorSeconds)]),
  ];
}

/**
 * The command line that starts a child in its namespaces and under its limits. A child that cannot be put there is not
 * started at all. `handles` are for the places after standard error.
 */
export function launch(run: Launch): { command: string; arguments: string[]; handles: number[] } {
  const { setpriv, unshare, view, nsenter, users } = run.namespaces;
  const ownPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const isolated = unshare !== undefined;
  const commands = [
    // What goes wrong here is ours; a child's own exit codes are smaller.
    'set -e; trap \'[ "$started" ] || echo "The child could not be put into its place." >&2\' EXIT',
    `path=$PATH; PATH=${ownPath}`,
    ...(nsenter === undefined ? [] : ['exec 3<&- 4<&-']),
    ...(view === undefined ? [] : viewCommands(view, run.directory)),
    // A limit for this namespace alone, from Linux 6.14 on; before, the file cannot be written to.
    ...(isolated ? ['{ echo 512 > /proc/sys/kernel/pid_max; } 2>/dev/null || :'] : []),
    `cd ${quote(run.directory)}`,
    ...limitCommands(run.limits, run.mark),
    // Also where it is only not to be seen from here.
    '[ -x "$1" ] || { echo "$1 cannot be started." >&2; exit 126; }',
    'PATH=$path; started=1; set +e; unset PWD OLDPWD',
  ];
  // With capabilities to lose only where it is the root of something.
  const drop = '--no-new-privs --inh-caps=-all --bounding-set=-all';
  const isRoot = process.getuid?.() === 0 && users === undefined;
  const drops = isolated || isRoot ? drop : '--no-new-privs --inh-caps=-all';
  const privileges = setpriv === undefined ? '' : `${quote(setpriv)} ${drops} -- `;
  if (isolated) {
    // The first process of a namespace gets no signal that it does not ask for, and takes in orphans: the shell stays it.
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
