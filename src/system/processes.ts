/** The processes of this machine, as /proc shows them; there are none to be seen where there is no /proc (macOS). */

import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface ProcessFacts {
  pid: number;
  /** A letter such as `R`; `Z` for a zombie. */
  state: string;
  parent: number;
  group: number;
  session: number;
}

export function listPids(): number[] {
  if (!existsSync('/proc/self')) return [];
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function ifThere(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** @returns undefined where the process has ended, or may not be looked at */
export const readProcessFile = (pid: number, name: string) =>
  ifThere(() => readFileSync(`/proc/${pid}/${name}`, 'utf8'));

/** The target of one of a process's links, such as `exe`. @returns undefined as `readProcessFile` */
export const readProcessLink = (pid: number, name: string) => ifThere(() => readlinkSync(`/proc/${pid}/${name}`));

/** The number of files and connections that this process may have open; undefined if it is unknown or unlimited. */
export function maxOpenFiles(): number | undefined {
  const [, limit] = /^Max open files\s+(\d+)/m.exec(readProcessFile(process.pid, 'limits') ?? '') ?? [];
  return limit === undefined ? undefined : Number(limit);
}

/** @returns undefined where the process has ended and its parent has taken notice */
export function readProcess(pid: number): ProcessFacts | undefined {
  const stat = readProcessFile(pid, 'stat');
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses, which may itself contain anything.
  const [state = '', parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, state, parent: Number(parent), group: Number(group), session: Number(session) };
}

export function listProcesses(): ProcessFacts[] {
  return listPids().flatMap((pid) => readProcess(pid) ?? []);
}

/** Processes, their descendants, and every process of their groups or sessions. */
export function familyOf(leaders: readonly number[], processes: readonly ProcessFacts[]): number[] {
  const family = new Set(leaders);
  for (let before = 0; before < family.size;) {
    before = family.size;
    for (const { pid, parent, group, session } of processes) {
      if (family.has(parent) || leaders.includes(group) || leaders.includes(session)) family.add(pid);
    }
  }
  return [...family];
}

/**
 * Sends a signal to a process.
 *
 * @param target a process number, or the negative number of a process group
 * @returns false where there is no such process any more
 */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch {
    return false;
  }
}
