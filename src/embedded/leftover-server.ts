/**
 * Finds and ends a server that an earlier run left behind.
 *
 * Normally a server's reaper ends it. If the reaper was killed too, the server lives on and holds its files. It is told from
 * other processes by its program and its working directory, which is its data directory. The number in a pid file would not
 * do, because process numbers are used again.
 */

import { existsSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { until } from '../async/until.ts';
import { listPids, readProcess, readProcessFile, readProcessLink, sendSignal } from '../system/processes.ts';
import { reaperFile } from './server-process.ts';

export interface LeftoverSearch {
  /** File names of the programs, such as `postgres`. */
  programs: readonly string[];
  workingDirectory: string;
  stopSignal: NodeJS.Signals;
  /** How long the server may take to end before it is killed. */
  limitMs: number;
}

/**
 * Ends every process of that kind and waits until it is gone. Does nothing where there is no /proc (macOS): there only the
 * reaper ends servers.
 *
 * @throws when the server belongs to a process that is alive, or does not end.
 */
export async function endLeftoverServer(search: LeftoverSearch): Promise<void> {
  if (!existsSync('/proc/self/stat') || !existsSync(search.workingDirectory)) return;
  const pids = serverPids(search);
  if (pids.length === 0) return;

  for (const pid of pids) {
    const owner = livingOwner(pid);
    if (owner === undefined) continue;
    throw new Error(`${search.workingDirectory} is in use: process ${owner} runs a server (process ${pid}) on it.`);
  }
  // Only the first process of the server understands the signal as meant; its children follow it.
  for (const pid of pids.filter((candidate) => !pids.includes(readProcess(candidate)?.parent ?? 0)))
    sendSignal(pid, search.stopSignal);
  if (await until(() => serverPids(search).length === 0, { limitMs: search.limitMs })) return;
  for (const pid of serverPids(search)) sendSignal(pid, 'SIGKILL');
  if (await until(() => serverPids(search).length === 0, { limitMs: 5_000 })) return;
  throw new Error(
    `A server left behind on ${search.workingDirectory} does not end (process ${serverPids(search).join(', ')}).`,
  );
}

/** Every process that runs one of the programs in the directory. */
export function serverPids(search: Pick<LeftoverSearch, 'programs' | 'workingDirectory'>): number[] {
  const directory = realpathSync(search.workingDirectory);
  return listPids().filter((pid) => {
    const program = readProcessLink(pid, 'exe')?.replace(/ \(deleted\)$/, '');
    return (
      program !== undefined && search.programs.includes(basename(program)) && readProcessLink(pid, 'cwd') === directory
    );
  });
}

/** The owner of a server, if it is alive: it is then the parent of the server's reaper, whose command line names it. */
function livingOwner(pid: number): number | undefined {
  const reaper = readProcess(pid)?.parent;
  if (reaper === undefined) return undefined;
  const words = (readProcessFile(reaper, 'cmdline') ?? '').split('\0');
  const position = words.indexOf(reaperFile);
  if (position === -1) return undefined;
  const owner = Number(words[position + 1]);
  return readProcess(reaper)?.parent === owner ? owner : undefined;
}
