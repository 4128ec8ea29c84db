import { type Dirent, readdirSync, readlinkSync, statSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listPids, readProcessFile } from '../../system/processes.ts';

const blockBytes = 512;

/**
 * Measures the disk space of everything below a directory; holes of a file take none. Entries that vanish meanwhile count as
 * nothing. An entry that cannot be reached, because its path is too long, counts as more entries than any limit.
 *
 * @param maxEntries ends the count
 */
export async function measureDirectory(directory: string, maxEntries: number) {
  const use = { bytesOnDisk: 0, entries: 0 };
  const waiting = [directory];
  for (let next = waiting.pop(); next !== undefined && use.entries <= maxEntries; next = waiting.pop()) {
    const parent = next;
    const entries = await readdir(parent, { withFileTypes: true }).catch((error: unknown): Dirent[] => {
      if (error instanceof Error && 'code' in error && error.code === 'ENAMETOOLONG') use.entries = Infinity;
      return [];
    });
    use.entries += entries.length;
    for (const entry of entries.slice(0, maxEntries + 1)) {
      const path = join(parent, entry.name);
      const stats = await lstat(path).catch(() => undefined);
      use.bytesOnDisk += (stats?.blocks ?? 0) * blockBytes;
      if (entry.isDirectory()) waiting.push(path);
    }
  }
  return use;
}

/**
 * The owners of all processes that have not ended; none where there is no /proc.
 *
 * @returns ids: the user, the group and every further group, with all their variants
 */
export function readOwners(): { pid: number; uid: number; ids: number[] }[] {
  return listPids().flatMap((pid) => {
    const status = readProcessFile(pid, 'status');
    if (status === undefined || /^State:\s+[ZX]/m.test(status)) return [];
    const idsOf = (name: string) => {
      const line = new RegExp(`^${name}:(.*)$`, 'm').exec(status)?.[1]?.trim() ?? '';
      return line === '' ? [] : line.split(/\s+/).map(Number);
    };
    const [uid = 0, ...others] = idsOf('Uid');
    return [{ pid, uid, ids: [uid, ...others, ...idsOf('Gid'), ...idsOf('Groups')] }];
  });
}

/** The processes of a user that one run has for itself: they cannot change to another user. */
export function processesOf(uid: number): number[] {
  return readOwners().flatMap((owner) => (owner.uid === uid ? [owner.pid] : []));
}

/** The resident memory of processes, without pages that are mapped from files. */
export function memoryBytes(pids: readonly number[]): number {
  let bytes = 0;
  for (const pid of pids) {
    // Shared memory that is no file counts too, once for each process that has it. Not in pages, whose size is the machine's.
    const kibibytes = /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm;
    for (const [, size] of (readProcessFile(pid, 'status') ?? '').matchAll(kibibytes)) bytes += Number(size) * 1024;
  }
  return bytes;
}

/** The disk space of open files that were deleted: no directory shows them. */
export function namelessBytes(pids: readonly number[]): number {
  const sizes = new Map<string, number>();
  for (const pid of pids) {
    try {
      for (const handle of readdirSync(`/proc/${pid}/fd`)) {
        const path = `/proc/${pid}/fd/${handle}`;
        const target = readlinkSync(path);
        if (!target.startsWith('/') || !target.endsWith(' (deleted)')) continue;
        const { dev, ino, blocks } = statSync(path);
        sizes.set(`${dev} ${ino}`, blocks * blockBytes);
      }
    } catch {
      // It has ended meanwhile, or closed the file.
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}
