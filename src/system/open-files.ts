import { readFileSync } from 'node:fs';

/** How many files and connections this process may have open at a time; undefined where that is not known or not limited. */
export function maxOpenFiles(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
