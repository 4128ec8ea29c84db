import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** A file system in memory, which most Linux machines have; containers often have one of 64 MB. */
export const memory = '/dev/shm';
const wantedBytes = 4 * 2 ** 30;

/**
 * Where to put what makes and removes many small files. For a minute after a file was removed, ext4 does not give its inode
 * away, and searches past all such inodes whenever a file is made. A new database has hundreds of files. Asked for each folder
 * anew, so that a full memory is left alone, and a worker, which wants 2 GB to be free, takes jobs.
 *
 * @returns the usual folder for temporary files where there is no file system in memory with enough room
 */
export function inMemoryIfPossible(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize >= wantedBytes) return memory;
  } catch {
    // macOS has none.
  }
  return tmpdir();
}
