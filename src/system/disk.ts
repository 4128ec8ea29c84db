import { open, statfs } from 'node:fs/promises';
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
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
