import { mkdtemp, open, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Free bytes on the file system of a directory, or of the nearest folder above that exists. */
export async function diskFreeBytes(directory: string): Promise<number> {
  try {
    const { bavail: freeBlocks, bsize: blockBytes } = await statfs(directory);
    return freeBlocks * blockBytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(directory) === directory) throw error;
    return diskFreeBytes(dirname(directory));
  }
}

/** Returns once a file, or the names in a directory, would survive a loss of power. */
export async function syncToDisk(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** Makes a folder of a new name, which is removed with all that is in it at the end of the block. */
export async function makeTemporaryFolder(prefix: string): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(prefix);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
