import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Whether any user may pass every folder on the way to what is there, and pass or run that too. */
export function othersCanReach(path: string): boolean {
  for (let each = path; each !== dirname(each); each = dirname(each)) {
    if ((statSync(each).mode & 0o001) === 0) return false;
  }
  return true;
}

/** Where programs and folders lie that a root shares with users of its children, should its own folders be closed to them. */
export const sharedDirectory = '/var/lib/reeltally';
