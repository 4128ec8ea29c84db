import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sendSignal } from '../../src/system/processes.ts';
import { memory } from './memory-folder.ts';
import { processesNaming } from './processes-naming.ts';

/**
 * Ends every process of a run, and removes its folders. Servers are asked first.
 *
 * @param mark what the names of the run's folders begin with: `TEST_RUN` in the environment of what it starts
 */
export async function endWhatIsLeft(mark: string): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const untilMs = performance.now() + 3_000;
    for (const pid of processesNaming(mark)) sendSignal(pid, signal);
    while (processesNaming(mark).length > 0 && performance.now() < untilMs) await delay(50);
  }
  for (const parent of [tmpdir(), memory])
    for (const name of namesIn(parent))
      if (name.startsWith(mark)) rmSync(join(parent, name), { recursive: true, force: true });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
