import { sleep } from '../../async/sleep.ts';
import type { ChildEnding } from '../../ports/observers.ts';
import { familyOf, listProcesses } from '../../system/processes.ts';
import type { ProcessLimits } from './launch.ts';
import { measureDirectory, memoryBytes, namelessBytes, processesOf } from './resource-use.ts';

/** A child that exceeds one of these limits is ended. */
export interface ResourceLimits {
  /** The child's working directory, which belongs to this run alone; HOME and TMPDIR are inside it. */
  directory: string;
  timeoutMs: number;
  /** The directory never holds more than this on disk; the child is killed a little before. */
  maxDirectoryBytes?: number;
  /** For the child and all its descendants together; one process may have half of it. */
  maxMemoryBytes?: number;
}

const maxFiles = 1_000;
const maxProcesses = 64;
const defaultMemoryBytes = 4 * 1024 ** 3;
/** Room in the directory for bytes that the child writes between the last measurement and its end. */
const maxReserveBytes = 256 * 1024 * 1024;
/** The speed at which several processes together fill the page cache. */
const assumedBytesPerMs = 4_000_000;
const [minPollMs, maxPollMs] = [5, 50];
/** Listing processes costs more than measuring a directory. */
const familyPollMs = 500;

/** Measures the child's use of resources until `stopped`, and once more; calls `over` for each limit that it exceeds. */
export async function watchUse(
  limits: ResourceLimits,
  { leaders, uid, stopped }: { leaders: readonly number[]; uid: number | undefined; stopped: AbortSignal },
  over: (what: ChildEnding) => void,
): Promise<void> {
  const { maxDirectoryBytes = Infinity, maxMemoryBytes = defaultMemoryBytes } = limits;
  const allowedBytes = maxDirectoryBytes - Math.min(maxDirectoryBytes / 2, maxReserveBytes);
  let family: readonly number[] = leaders;
  let lookedMs = performance.now();
  for (let last = false; !last;) {
    last = stopped.aborted;
    const { bytesOnDisk, entries } = await measureDirectory(limits.directory, maxFiles);
    const leftBytes = allowedBytes - bytesOnDisk - namelessBytes(family);
    if (leftBytes < 0) over('directory_full');
    if (entries > maxFiles) over('too_many_files');
    if (!last && performance.now() - lookedMs > familyPollMs) {
      family = uid === undefined ? familyOf(leaders, listProcesses()) : processesOf(uid);
      if (family.length > maxProcesses) over('too_many_processes');
      if (memoryBytes(family) > maxMemoryBytes) over('memory_full');
      lookedMs = performance.now();
    }
    // The less room is left, the more often it is measured.
    const pollMs = Math.min(Math.max(leftBytes / assumedBytesPerMs / 2, minPollMs), maxPollMs);
    await sleep(pollMs, stopped);
  }
}

/** The limits that the kernel enforces. They are exact, and each holds for one process or one file. */
export function kernelLimits({ maxDirectoryBytes, maxMemoryBytes, timeoutMs }: ResourceLimits): ProcessLimits {
  return {
    ...(maxDirectoryBytes !== undefined && { maxFileBytes: maxDirectoryBytes }),
    maxMemoryBytes: (maxMemoryBytes ?? defaultMemoryBytes) / 2,
    // Enough for four processors at a time; the timeout ends anything longer.
    maxProcessorSeconds: (timeoutMs / 1000) * 4 + 1,
  };
}
