import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** True if any user may pass through all folders above a path, and enter or run the file or folder itself. */
export function othersCanReach(path: string): boolean {
  for (let each = path; each !== dirname(each); each = dirname(each)) {
    if ((statSync(each).mode & 0o001) === 0) return false;
  }
  return true;
}

/** Holds the programs and folders that a root process shares with the users of its children if its own folders are closed. */
export const sharedDirectory = '/var/lib/reeltally';
