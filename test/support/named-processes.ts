import { readFileSync, readdirSync } from 'node:fs';

/** Ids of the processes, other than the test's own, that have a directory in their command line or environment. */
export function processesNaming(directory: string): string[] {
  return readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return false;
    try {
      return ['cmdline', 'environ'].some((file) => readFileSync(`/proc/${entry}/${file}`, 'utf8').includes(directory));
    } catch {
      return false;
    }
  });
}
