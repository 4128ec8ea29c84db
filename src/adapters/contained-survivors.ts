import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { listProcesses } from './contained-watch.ts';

/** The environment variable that carries a run's mark. */
export const markVariable = 'REELTALLY_RUN';

const maxRounds = 100;
const roundMs = 10;

/**
 * Processes of one run, wherever they have gone: by a number in their environment, which a new program may have dropped, or by
 * the limit of something that has no limit any more, which they inherit and have no reason to change.
 */
function findMarked(mark: number): number[] {
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

/** Ends every process that carries a mark. They are stopped first: one that still runs could start another meanwhile. */
export async function endMarked(mark: number): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    const found = findMarked(mark);
    if (found.length === 0) return;
    for (const pid of found) signal(pid, 'SIGSTOP');
    for (const pid of findMarked(mark)) signal(pid, 'SIGKILL');
    await sleep(roundMs);
  }
}
