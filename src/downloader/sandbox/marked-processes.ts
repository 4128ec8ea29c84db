import { sleep } from '../../async/sleep.ts';
import { listPids, readProcess, readProcessFile, sendSignal } from '../../system/processes.ts';
import { processesOf } from './resource-use.ts';

/** The environment variable that carries a run's mark. */
export const markVariable = 'REELTALLY_RUN';

const maxRounds = 100;
const roundMs = 10;

/** The marks by which the processes of a run are found. */
export interface Marked {
  mark: number;
  /** If the run has a user of its own. */
  uid?: number | undefined;
}

/**
 * Finds the processes of one run, also those that left its process group. The mark is in their environment, which a new
 * program may have dropped, and is their RLIMIT_LOCKS, which Linux no longer enforces, so that they have no reason to change
 * it. A run with a user of its own consists of that user's processes.
 */
function findMarked({ mark, uid }: Marked): number[] {
  if (uid !== undefined) return processesOf(uid);
  const variable = `${markVariable}=${mark}`;
  const limit = new RegExp(`^Max file locks +${mark} `, 'm');
  return listPids().filter((pid) => {
    if (pid === process.pid) return false;
    const isMarked =
      readProcessFile(pid, 'environ')?.split('\0').includes(variable) === true ||
      limit.test(readProcessFile(pid, 'limits') ?? '');
    return isMarked && hasNotEnded(pid);
  });
}

function hasNotEnded(pid: number): boolean {
  const state = readProcess(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Ends every process of a run. All are stopped first, since a running one could start another meanwhile. */
export async function endMarked(run: Marked): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    const found = findMarked(run);
    if (found.length === 0) return;
    for (const pid of found) sendSignal(pid, 'SIGSTOP');
    for (const pid of findMarked(run)) sendSignal(pid, 'SIGKILL');
    await sleep(roundMs);
  }
}
