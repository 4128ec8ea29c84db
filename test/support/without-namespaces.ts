import { hash } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { sharedDirectory } from '../../src/system/access-of-other-users.ts';
import { linkEngine } from './films-and-engine-of-run.ts';
import type { StartedBy } from './service.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const script = fileURLToPath(new URL('without-namespaces.sh', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** `daemon`, whom every system knows by name, as Postgres wants it. `nobody` may stand for others in a namespace of users. */
export const plainUser = 1;

/** As a root in a container of Docker's defaults, which can make no user namespaces. */
export const rootWithout: StartedBy = (command) => [script, ...command];

/** As a plain user who can make none either. */
export const userWithout: StartedBy = (command) => ['env', `AS_USER=${plainUser}`, script, ...command];

/** As a plain user of a machine that allows namespaces. */
export const asPlainUser: StartedBy = (command) => [
  ...['setpriv', `--reuid=${plainUser}`, `--regid=${plainUser}`, '--clear-groups', '--', ...command],
];

/** As on macOS, as far as Linux can play it: no /proc, and none of the programs that make namespaces or drop privileges. */
export const withoutProc: StartedBy = (command) => {
  const hidden = 'for name in unshare nsenter setpriv; do mount --bind /dev/null "$(command -v $name)"; done';
  return ['unshare', '--mount', '/bin/sh', '-ec', `${hidden}; mount -t tmpfs none /proc; exec "$@"`, 'sh', ...command];
};

/** The same root, and the service is installed below a folder that nobody else may pass. */
export function rootWithoutBelow(privateDirectory: string): StartedBy {
  const install = join(privateDirectory, 'install');
  mkdirSync(install);
  chmodSync(privateDirectory, 0o700);
  const moved = (word: string) => (word.startsWith(`${root}/`) ? join(install, word.slice(root.length)) : word);
  const mounted = 'mount --bind "$1" "$2"; shift 2; exec "$@"';
  return (command) => [
    ...['unshare', '--mount', '/bin/sh', '-ec', mounted, 'sh', root, install],
    ...rootWithout(command).map(moved),
  ];
}

/** A folder that everybody may pass, as a program of the system's lies in one. */
export function openDirectory(): string {
  const directory = temporaryDirectory();
  chmodSync(directory, 0o755);
  return directory;
}

/** The engine, where everybody may run it. */
export function openEngine(): { ENGINE_DIRECTORY: string } {
  const directory = openDirectory();
  linkEngine(directory);
  chmodSync(join(directory, 'engine'), 0o711);
  return { ENGINE_DIRECTORY: join(directory, 'engine') };
}

/** A data folder that nobody but its owner may pass. What is made for other users instead goes with the test. */
export function dataDirectoryOf(uid: number): string {
  const directory = join(openDirectory(), 'data');
  mkdirSync(directory, { mode: 0o700 });
  chownSync(directory, uid, uid);
  const forOthers = join(sharedDirectory, `work-${hash('sha256', join(directory, 'work')).slice(0, 12)}`);
  onTestFinished(() => {
    rmSync(forOthers, { recursive: true, force: true });
  });
  return directory;
}
