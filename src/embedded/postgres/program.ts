/**
 * Makes the Postgres programs of the npm package runnable: the package ships them without their symbolic links (an install
 * script would make those), and Postgres refuses to run as root, so another user must be able to reach the files.
 */

import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { othersCanReach } from '../../system/access-of-other-users.ts';
import { thisMachine } from '../../system/machine-parts.js';
import { folderInPackage } from '../../system/package-folder.ts';

export type PostgresProgram = ReturnType<typeof programAt>;

/**
 * @param options.forOtherUser true if a user other than this one is to run the programs.
 * @param options.copyTo where to put a copy, should one be needed; a folder per version is made in it.
 * @throws when this machine has no such package, or the copy cannot be made; the message says what to do.
 */
export function preparePostgresProgram(options: { forOtherUser: boolean; copyTo: string }): PostgresProgram {
  const packaged = packagedProgram();
  if (options.forOtherUser && !othersCanReach(join(packaged.native, 'bin', 'postgres')))
    return copied(packaged, options.copyTo);
  if (linksArePresent(packaged.native)) return programAt(packaged.native, packaged.version);
  try {
    accessSync(join(packaged.native, 'lib'), constants.W_OK);
  } catch {
    return copied(packaged, options.copyTo);
  }
  makeLinks(packaged.native);
  return programAt(packaged.native, packaged.version);
}

function packagedProgram(): { native: string; version: string } {
  const { name, packages } = thisMachine();
  // Its entry is in a folder of the package.
  const directory = packages.postgres && folderInPackage(packages.postgres);
  if (directory === undefined) {
    const why = packages.postgres === undefined ? `npm has none for ${name}` : `${packages.postgres} is not installed`;
    throw new Error(
      `There is no Postgres for this machine: ${why}. Set DATABASE_URL to the address of a Postgres of your own.`,
    );
  }
  const { version } = JSON.parse(readFileSync(join(directory, '../package.json'), 'utf8')) as { version: string };
  return { native: join(directory, '../native'), version };
}

function programAt(native: string, version: string) {
  return {
    initdb: join(native, 'bin', 'initdb'),
    postgres: join(native, 'bin', 'postgres'),
    /** The content of PG_VERSION in a database. */
    majorVersion: version.split('.', 1)[0] ?? version,
  };
}

function links(native: string): { path: string; target: string }[] {
  const entries = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  return entries.map(({ source, target }) => {
    const path = join(dirname(native), target);
    if (dirname(source) !== dirname(target)) throw new Error(`${native} links ${target} to another folder.`);
    return { path, target: basename(source) };
  });
}

function linksArePresent(native: string): boolean {
  return links(native).every(({ path }) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
}

function makeLinks(native: string): void {
  for (const { path, target } of links(native)) {
    try {
      symlinkSync(target, path);
    } catch (error) {
      // Another start may be making the same links at this moment.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** A strict umask at installation may have kept others out of the files. */
function letOthersRead(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, (statSync(path).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

/** A copy per version, complete as soon as it has its name, so that an interrupted or concurrent start does no harm. */
function copied(packaged: { native: string; version: string }, copyTo: string): PostgresProgram {
  const directory = join(copyTo, `postgres-${packaged.version}`);
  const native = join(directory, 'native');
  if (existsSync(native)) return programAt(native, packaged.version);
  try {
    // Again, because the umask restricts the mode of mkdir.
    if (mkdirSync(copyTo, { recursive: true, mode: 0o755 }) !== undefined) chmodSync(copyTo, 0o755);
    const incomplete = mkdtempSync(`${directory}.incomplete-`);
    try {
      chmodSync(incomplete, 0o755);
      cpSync(packaged.native, join(incomplete, 'native'), { recursive: true, verbatimSymlinks: true });
      makeLinks(join(incomplete, 'native'));
      letOthersRead(incomplete);
      if (!existsSync(native)) renameSync(incomplete, directory);
    } catch (error) {
      // Another start has finished the same copy first.
      if (!existsSync(native)) throw error;
    } finally {
      rmSync(incomplete, { recursive: true, force: true });
    }
  } catch (error) {
    throw new Error(
      `Postgres must be copied to ${directory}, and that is not possible: ${(error as Error).message}. ` +
        'Run as a user other than root, or set DATABASE_URL to the address of a Postgres of your own.',
      { cause: error },
    );
  }
  return programAt(native, packaged.version);
}
