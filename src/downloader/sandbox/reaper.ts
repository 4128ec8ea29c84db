/**
 * Ends children whose parent was killed. A process that gets SIGKILL cannot end its own children, and Node cannot ask the
 * kernel to do it, so a small second process holds the list of process groups and waits on a pipe: when the parent is gone,
 * however it went, the pipe ends and the groups are killed. The same file is the reaper itself, started by `startReaper`.
 */

import { spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { sendSignal } from '../../system/processes.ts';
import { endMarked } from './survivors.ts';
import type { Marked } from './survivors.ts';

export interface Reaper {
  /** From now on the group, and whatever else is of the run, dies with this process. */
  watch(processGroup: number, run: Marked): void;
  /** The group has ended; its number may soon belong to somebody else. */
  release(processGroup: number): void;
  /** Ends the reaper and, with it, every group that is still watched. */
  close(): void;
}

/** Starts the reaper. It neither keeps this process alive nor takes the signals of its terminal. */
export function startReaper(): Reaper {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    detached: true,
    // Nothing but where its sources are kept compiled, where they are.
    env: { NODE_COMPILE_CACHE: getCompileCacheDir() },
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a reaper the children are still ended by every way out but SIGKILL, so its loss is no reason to fail.
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  const { stdin } = child;
  if (stdin instanceof Socket) stdin.unref();
  return {
    watch: (processGroup, { mark, uid = 0 }) => stdin.write(`+${processGroup} ${mark} ${uid}\n`),
    release: (processGroup) => stdin.write(`-${processGroup}\n`),
    close: () => stdin.end(),
  };
}

async function reap(): Promise<void> {
  const groups = new Map<number, Marked>();
  for await (const line of createInterface({ input: process.stdin })) {
    const [group = 0, mark = 0, uid = 0] = line.slice(1).split(' ').map(Number);
    if (!Number.isSafeInteger(group) || group <= 1) continue;
    if (line.startsWith('+')) groups.set(group, { mark, uid: uid > 0 ? uid : undefined });
    else groups.delete(group);
  }
  for (const group of groups.keys()) sendSignal(-group, 'SIGKILL');
  for (const run of groups.values()) if (run.mark > 0) await endMarked(run);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await reap();
