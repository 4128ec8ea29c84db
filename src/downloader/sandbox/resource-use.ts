import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const blockBytes = 512;
const pageBytes = 4_096;

export interface DirectoryUse {
  bytesOnDisk: number;
  entries: number;
}

/**
 * What everything below a directory takes on disk; holes of a file take nothing. What vanishes while it is counted counts as
 * nothing, and what cannot be reached, because its path is too long, as more entries than any limit.
 *
 * @param maxEntries counting ends there
 */
export async function measureDirectory(directory: string, maxEntries: number): Promise<DirectoryUse> {
  const use: DirectoryUse = { bytesOnDisk: 0, entries: 0 };
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

export interface ProcessFacts {
  pid: number;
  parent: number;
  group: number;
  session: number;
}

/** Every process of this machine that can be seen; none where there is no /proc. */
export function listProcesses(): ProcessFacts[] {
  const processes: ProcessFacts[] = [];
  for (const name of existsSync('/proc/self') ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      // The name of the program may hold anything, brackets included.
      const [, parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      processes.push({ pid: Number(name), parent: Number(parent), group: Number(group), session: Number(session) });
    } catch {
      // It has ended meanwhile.
    }
  }
  return processes;
}

/** Who a process is: user and group, and every further group, with all their variants. */
export interface ProcessStatus {
  pid: number;
  uid: number;
  ids: number[];
}

/** Of every process that can be seen and has not ended; none where there is no /proc. */
export function readStatuses(): ProcessStatus[] {
  return listProcesses().flatMap(({ pid }) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      if (/^State:\s+[ZX]/m.test(status)) return [];
      const idsOf = (name: string) => {
        const line = new RegExp(`^${name}:(.*)$`, 'm').exec(status)?.[1]?.trim() ?? '';
        return line === '' ? [] : line.split(/\s+/).map(Number);
      };
      const [uid = 0, ...others] = idsOf('Uid');
      return [{ pid, uid, ids: [uid, ...others, ...idsOf('Gid'), ...idsOf('Groups')] }];
    } catch {
      return [];
    }
  });
}

/** The processes of a user of a run's own: they cannot become anybody else's. */
export function processesOf(uid: number): number[] {
  return readStatuses()
    .filter((process) => process.uid === uid)
    .map(({ pid }) => pid);
}

/** A process, whatever descends from it, and whatever is of its group or session. */
export function familyOf(leader: number, processes: readonly ProcessFacts[]): number[] {
  const family = new Set([leader]);
  for (let before = 0; before < family.size;) {
    before = family.size;
    for (const { pid, parent, group, session } of processes) {
      if (family.has(parent) || group === leader || session === leader) family.add(pid);
    }
  }
  return [...family];
}

/** Memory that nobody else could have: what is mapped from files is left out. */
export function memoryBytes(pids: readonly number[]): number {
  let pages = 0;
  for (const pid of pids) {
    try {
      const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ').map(Number);
      pages += resident - shared;
      // Shared memory that is no file counts too, once for each who has it.
      const inMemory = /^RssShmem:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
      pages += (Number(inMemory ?? 0) * 1024) / pageBytes;
    } catch {
      // It has ended meanwhile.
    }
  }
  return pages * pageBytes;
}

/** What open files without a name any more take on disk: no directory shows them. */
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
