import { readFileSync } from 'node:fs';

/** The number of files and connections that this process may have open; undefined if it is unknown or unlimited. */
export function maxOpenFiles(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
