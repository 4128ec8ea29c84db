/** Folders of programs, copied to where only this service writes, and run from there: what is run is what was hashed. */

import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readlink, rename, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { realNowMs } from '../../system/clock-and-chance.ts';
import { fileSha256, hashBuffer } from '../file-sha256.ts';

/** Nobody takes so long to make a folder. */
const leftoverMs = 3_600_000;

/**
 * One SHA-256 over all that a folder holds: the path of each file with the hash of its bytes, of each link with where it leads,
 * in the order of the paths. What is changed, added, taken away or called otherwise changes it; rights and times do not.
 */
export async function treeSha256(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = new Map(entries.map((entry) => [relative(directory, join(entry.parentPath, entry.name)), entry]));
  const hash = createHash('sha256');
  const buffer = hashBuffer();
  for (const [path, entry] of [...paths].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (entry.isDirectory()) continue;
    if (!entry.isFile() && !entry.isSymbolicLink()) throw new Error(`${path} is neither a file nor a link.`);
    const whole = join(directory, path);
    const content = entry.isFile() ? await fileSha256(whole, { buffer }) : `-> ${await readlink(whole)}`;
    hash.update(`${path}\0${content}\n`);
  }
  return hash.digest('hex');
}

/** For all to read and run, and for nobody to write by mistake. The folders stay ours, so that they can be removed. */
async function letAllRead(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    const isExecutable = entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0;
    await chmod(path, entry.isDirectory() ? 0o755 : isExecutable ? 0o555 : 0o444);
  }
}

/** Of processes that were killed while they made a folder. */
async function removeLeftovers(directory: string): Promise<void> {
  // A folder of another user's may be passed and not listed; then they are that user's to remove.
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter((each) => each.startsWith('making-'))) {
    const stats = await stat(join(directory, name)).catch(() => undefined);
    if (stats && stats.mtimeMs < realNowMs() - leftoverMs)
      await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** What was to be installed is not what it should be. */
export class TreeDiffers extends Error {
  override readonly name = 'TreeDiffers';
}

interface Installation {
  directory: string;
  name: string;
  sha256: string;
}

export const installedAt = ({ directory, name, sha256 }: Installation): string =>
  join(directory, `${name}-${sha256.slice(0, 12)}`);

/**
 * Puts a folder below `directory`, under a name that its hash is part of, unless it is there already; each process hashes what
 * is there once. What was damaged is made anew.
 *
 * @param make makes the folder at the path that it is given
 * @returns where it is
 * @throws {TreeDiffers} when what was made has another hash
 */
export async function installTree(
  make: (path: string) => Promise<void>,
  { directory, name, sha256 }: Installation,
): Promise<string> {
  const target = installedAt({ directory, name, sha256 });
  const isWhole = async () => (await treeSha256(target).catch(() => undefined)) === sha256;
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await removeLeftovers(directory);
  if (await isWhole()) return target;
  const isDamaged = existsSync(target);
  const making = await mkdtemp(join(directory, 'making-'));
  try {
    const made = join(making, 'made');
    await make(made);
    const found = await treeSha256(made);
    if (found !== sha256) throw new TreeDiffers(`its files have the SHA-256 ${found}, expected ${sha256}`);
    await letAllRead(made);
    if (isDamaged) await rename(target, join(making, 'damaged')).catch(() => undefined);
    await rename(made, target).catch(async (error: unknown) => {
      // Another process may have been quicker, with the same files.
      if (!(await isWhole())) throw error;
    });
    return target;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** Where the file system can, the copy takes no room. */
export const copyOf = (source: string) => (path: string) =>
  cp(source, path, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
