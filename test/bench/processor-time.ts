import { readdirSync } from 'node:fs';
import { familyOf, listPids, listProcesses, readProcessFile } from '../../src/system/processes.ts';
import { sum } from '../support/sum.ts';

/** What a process and its living descendants have used of the processors so far, in microseconds, as the kernel counts it. */
export function processorMicros(pid: number): number {
  const children = new Map<number, number[]>();
  const ticks = new Map<number, number>();
  for (const each of listPids()) {
    const stat = readProcessFile(each, 'stat');
    if (stat === undefined) continue;
    // The numbers behind the name of the program, from the parent's process number on.
    const [parent = 0, ...rest] = stat
      .slice(stat.lastIndexOf(')') + 4)
      .split(' ')
      .map(Number);
    children.set(parent, [...(children.get(parent) ?? []), each]);
    // User and system time, of the process and of its children that have ended.
    ticks.set(
      each,
      [9, 10, 11, 12].map((index) => rest[index] ?? 0).reduce((sum, value) => sum + value, 0),
    );
  }
  const sum = (of: number): number =>
    (children.get(of) ?? []).reduce((total, child) => total + sum(child), ticks.get(of) ?? 0);
  return sum(pid) * microsPerTick;
}

/** Linux counts in hundredths of a second (USER_HZ) wherever it shows times to programs. */
const microsPerTick = 10_000;

/**
 * Counts how often the threads of a process and of its living descendants go to sleep by themselves: see
 * proc_pid_status(5).
 *
 * @returns what gives the count since this call, without that of threads that have ended
 */
export function countVoluntarySwitches(pid: number): () => number {
  const before = switchesByThread(pid);
  return () => sum([...switchesByThread(pid)].map(([thread, count]) => count - (before.get(thread) ?? 0)));
}

function switchesByThread(pid: number): Map<string, number> {
  const pids = familyOf([pid], listProcesses());
  return new Map(pids.flatMap((each) => threadsOf(each).map((thread) => [thread, switchesOf(each, thread)] as const)));
}

const switchesOf = (pid: number, thread: string) =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readProcessFile(pid, `task/${thread}/status`) ?? '')?.[1] ?? 0);

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}
