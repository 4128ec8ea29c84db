import { readFileSync, readdirSync } from 'node:fs';

/** What a process and its living descendants have used of the processors so far, in microseconds, as the kernel counts it. */
export function processorMicros(pid: number): number {
  const children = new Map<number, number[]>();
  const ticks = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(name);
    if (!fields) continue;
    const [parent = 0, ...rest] = fields;
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    // User and system time, of the process and of its children that have ended.
    ticks.set(
      Number(name),
      [9, 10, 11, 12].map((index) => rest[index] ?? 0).reduce((sum, value) => sum + value, 0),
    );
  }
  const sum = (of: number): number =>
    (children.get(of) ?? []).reduce((total, child) => total + sum(child), ticks.get(of) ?? 0);
  return sum(pid) * microsPerTick;
}

/** Linux counts in hundredths of a second (USER_HZ) wherever it shows times to programs. */
const microsPerTick = 10_000;

/** The numbers behind the name of the program, from the parent's process number on. */
function statOf(pid: string): number[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text
      .slice(text.lastIndexOf(')') + 4)
      .split(' ')
      .map(Number);
  } catch {
    return undefined;
  }
}
