import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const blockBytes = 512;

/** Bytes on disk of everything below a directory. What vanishes while it is counted counts as nothing. */
export async function directorySizeBytes(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  let sizeBytes = 0;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    const stats = await lstat(path).catch(() => undefined);
    sizeBytes += (stats?.blocks ?? 0) * blockBytes;
    if (entry.isDirectory()) sizeBytes += await directorySizeBytes(path);
  }
  return sizeBytes;
}
