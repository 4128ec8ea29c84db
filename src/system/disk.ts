import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Room on the file system of a directory, in bytes. One that is not there yet will be made where its parent lies. */
export async function diskFreeBytes(directory: string): Promise<number> {
  try {
    const { bavail: freeBlocks, bsize: blockBytes } = await statfs(directory);
    return freeBlocks * blockBytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(directory) === directory) throw error;
    return diskFreeBytes(dirname(directory));
  }
}
