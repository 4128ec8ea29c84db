import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { listProcesses, processesOf } from './resource-use.ts';

/** The environment variable that carries a run's mark. */
export const markVariable = 'REELTALLY_RUN';

const maxRounds = 100;
const roundMs = 10;

/** What the processes of a run are known by. */
export interface Marked {
  mark: number;
  /** Where it has a user of its own. */
  uid?: number | undefined;
}

/**
 * Processes of one run, wherever they have gone: by a number in their environment, which a new program may have dropped, or by
 * the limit of something that has no limit any more, which they inherit and have no reason to change. Where the run has a user
 * of its own, that user's processes are all of it.
 */
function findMarked({ mark, uid }: Marked): number[] {
  if (uid !== undefined) return processesOf(uid);
  const variable = `${markVariable}=${mark}`;
  const limit = new RegExp(`^Max file locks +${mark} `, 'm');
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => {
      if (pid === process.pid) return false;
      try {
        if (readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(variable)) return true;
        return limit.test(readFileSync(`/proc/${pid}/limits`, 'latin1'));
      } catch {
        return false;
      }
    })
    .filter((pid) => !isZombie(pid));
}

function isZombie(pid: number): boolean {
  try {
    return / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\)/s, ''));
  } catch {
    return true;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

/** Ends every process of a run. They are stopped first: one that still runs could start another meanwhile. */
export async function endMarked(run: Marked): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    const found = findMarked(run);
    if (found.length === 0) return;
    for (const pid of found) signal(pid, 'SIGSTOP');
    for (const pid of findMarked(run)) signal(pid, 'SIGKILL');
    await sleep(roundMs);
  }
}
