import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { StartedBy } from './service.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

/** A file system of its own, small enough to be filled; only what is run `inside` sees it at its place. */
export interface SmallDisk {
  directory: string;
  /** Starts a command on it. */
  inside: StartedBy;
  /** Leaves no room for another byte. */
  fill: () => void;
  /** Removes what has filled it. */
  empty: () => void;
}

const namespaces = [['--mount'], ['--user', '--map-root-user', '--mount']].find(
  (own) => spawnSync('unshare', [...own, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0,
);

/** Whether this machine lets us mount one: for root, or in a user namespace. */
export const canMountSmallDisk = namespaces !== undefined;

export async function mountSmallDisk(sizeMiB: number): Promise<SmallDisk> {
  const directory = makeTemporaryDirectory();
  const mount = `mount -t tmpfs -o size=${String(sizeMiB)}m,mode=700 none '${directory}' && echo mounted && exec cat`;
  const holder = spawn('unshare', [...(namespaces ?? []), 'sh', '-c', mount], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => {
    holder.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  await once(holder.stdout, 'data');
  const seenFromHere = `/proc/${String(holder.pid)}/root${directory}`;
  const filler = join(seenFromHere, 'filler');
  const enter = namespaces?.includes('--user') ? ['--user', '--preserve-credentials', '--mount'] : ['--mount'];
  return {
    directory,
    inside: (command) => ['nsenter', ...enter, '--target', String(holder.pid), '--', ...command],
    fill: () => {
      // Others write too, so the room asked for may be gone before it is taken.
      for (let { bavail, bsize } = statfsSync(seenFromHere); bavail > 0; { bavail } = statfsSync(seenFromHere)) {
        try {
          appendFileSync(filler, Buffer.alloc(bavail * bsize));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    },
    empty: () => {
      rmSync(filler);
    },
  };
}
