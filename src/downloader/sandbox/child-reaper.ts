/**
 * Ends children whose parent was killed. A process that gets SIGKILL cannot end its own children, and Node cannot ask the
 * kernel to do it. So a small second process holds the list of process groups and waits on a pipe. The pipe ends with the
 * parent, even after a SIGKILL, and the reaper then kills the groups. This file is also the program that `startReaper` runs.
 */

import { spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sendSignal } from '../../system/processes.ts';
import { endMarked, type Marked } from './marked-processes.ts';

export interface Reaper {
  /** From now on the group, and every other process of the run, dies with this process. */
  watch(processGroup: number, run: Marked): void;
  /** The group has ended, and its number may soon be used again. */
  release(processGroup: number): void;
  /** Ends the reaper and, with it, every group that is still watched. */
  close(): void;
}

/** Starts the reaper. It does not keep this process alive, and gets no signals from this process's terminal. */
export function startReaper(): Reaper {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    detached: true,
    // Of our environment, only the directory of compiled sources, if there is one.
    env: { NODE_COMPILE_CACHE: getCompileCacheDir() },
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a reaper, children outlive this process only after a SIGKILL, so losing it is no reason to fail.
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
