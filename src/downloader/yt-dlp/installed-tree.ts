/** Folders of programs, copied to a place that only this service writes, hashed there, and run from there. */

import { once } from 'node:events';
import { constants, existsSync } from 'node:fs';
import { chmod, cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { realNowMs } from '../../system/clock-and-chance.ts';
import { makeTemporaryFolder } from '../../system/disk.ts';

/** Making a folder never takes so long. */
const leftoverMs = 3_600_000;

/**
 * One SHA-256 for a whole folder: over the path of each file with the hash of its bytes, and of each link with its target, in
 * the order of the paths. Any change, addition, removal or renaming changes it; permissions and times do not. Half a gigabyte takes
 * half a second of processor time, so it has a thread of its own.
 */
export async function treeSha256(directory: string): Promise<string> {
  const thread = new Worker(new URL('./hash-tree.js', import.meta.url), { workerData: directory });
  const [sha256] = (await once(thread, 'message')) as [string];
  return sha256;
}

/** Lets everybody read and run the files, and nobody write them by mistake. The folders stay writable for their removal. */
async function letAllRead(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    const isExecutable = entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0;
    await chmod(path, entry.isDirectory() ? 0o755 : isExecutable ? 0o555 : 0o444);
  }
}

/** Removes the unfinished folders of processes that were killed. */
async function removeLeftovers(directory: string): Promise<void> {
  // A folder of another user may be closed to listing; its owner then removes them.
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter((each) => each.startsWith('making-'))) {
    const stats = await stat(join(directory, name)).catch(() => undefined);
    if (stats && stats.mtimeMs < realNowMs() - leftoverMs)
      await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** The files to be installed have another hash than expected. */
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
 * Installs a folder below `directory`, under a name that contains its hash, unless it is there already. Each process verifies
 * an installed folder once, and replaces a damaged one.
 *
 * @param make makes the folder at the given path
 * @returns the path of the folder
 * @throws {TreeDiffers} when the new folder has another hash
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
  await using making = await makeTemporaryFolder(join(directory, 'making-'));
  const made = join(making.path, 'made');
  await make(made);
  const found = await treeSha256(made);
  if (found !== sha256) throw new TreeDiffers(`its files have the SHA-256 ${found}, expected ${sha256}`);
  await letAllRead(made);
  if (isDamaged) await rename(target, join(making.path, 'damaged')).catch(() => undefined);
  await rename(made, target).catch(async (error: unknown) => {
    // Another process may have installed the same files meanwhile.
    if (!(await isWhole())) throw error;
  });
  return target;
}

/** Copies a folder, without using disk space if the file system supports that. */
export const copyOf = (source: string) => (path: string) =>
  cp(source, path, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
