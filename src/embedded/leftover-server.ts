/**
 * Finds and ends a server that an earlier run left behind.
 *
 * Normally a server's keeper ends it. Where the keeper was killed too, the server lives on and holds its files. It is told
 * from any other process by its program and its working directory, which is its data directory; a number in a pid file would
 * say less, because process numbers are used again.
 */

import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';

import { keeperFile } from './kept-process.ts';
import { until } from './until.ts';

export interface LeftoverSearch {
  /** File names of the programs, such as `postgres`. */
  programs: readonly string[];
  workingDirectory: string;
  stopSignal: NodeJS.Signals;
  /** How long the server may take to end before it is killed. */
  limitMs: number;
}

/**
 * Ends every process of that kind and waits until it is gone. Does nothing where there is no /proc (macOS): there the keeper
 * alone has to do.
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
  for (const pid of pids.filter((candidate) => !pids.includes(parentOf(candidate) ?? 0)))
    signal(pid, search.stopSignal);
  if (await until(() => serverPids(search).length === 0, search.limitMs)) return;
  for (const pid of serverPids(search)) signal(pid, 'SIGKILL');
  if (await until(() => serverPids(search).length === 0, 5000)) return;
  throw new Error(
    `A server left behind on ${search.workingDirectory} does not end (process ${serverPids(search).join(', ')}).`,
  );
}

/** Every process that runs one of the programs in the directory. */
export function serverPids(search: Pick<LeftoverSearch, 'programs' | 'workingDirectory'>): number[] {
  const directory = realpathSync(search.workingDirectory);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const program = readLink(`/proc/${pid}/exe`)?.replace(/ \(deleted\)$/, '');
      return (
        program !== undefined &&
        search.programs.includes(basename(program)) &&
        readLink(`/proc/${pid}/cwd`) === directory
      );
    });
}

/** The process for which the server's keeper works, if that process is still there: while it lives it is the keeper's parent. */
function livingOwner(pid: number): number | undefined {
  const keeper = parentOf(pid);
  if (keeper === undefined) return undefined;
  const words = (readText(`/proc/${keeper}/cmdline`) ?? '').split('\0');
  const position = words.indexOf(keeperFile);
  if (position === -1) return undefined;
  const owner = Number(words[position + 1]);
  return parentOf(keeper) === owner ? owner : undefined;
}

function parentOf(pid: number): number | undefined {
  // The second field is the program's name in parentheses and may itself contain anything.
  const fields = readText(`/proc/${pid}/stat`)?.replace(/^.*\)/s, '').trim().split(' ');
  return fields?.[1] === undefined ? undefined : Number(fields[1]);
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended in the meantime.
  }
}
