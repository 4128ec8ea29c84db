import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A probe takes some seconds; a directory of one that is this old has nobody any more. */
const probeLeftoverMs = 3_600_000;

/**
 * The place for a worker's attempts, named by the worker. What workers that are gone left there, and in the directories of
 * their probes, is removed: their jobs are done by others, in directories of their own.
 *
 * @param living ids of the workers whose hearts beat, on whatever machine
 * @param nowMs by the real clock, in milliseconds since 1970
 */
export async function openAttemptsDirectory(
  workDirectory: string,
  { workerId, living, nowMs }: { workerId: string; living: ReadonlySet<string>; nowMs: number },
): Promise<string> {
  const parent = join(workDirectory, 'attempts');
  const directory = join(parent, workerId);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of await readdir(parent)) {
    if (!living.has(name)) await rm(join(parent, name), { recursive: true, force: true });
  }
  for (const name of await readdir(workDirectory)) {
    if (!name.startsWith('probe-')) continue;
    const probe = join(workDirectory, name);
    // Another worker may end its own just now.
    const stats = await stat(probe).catch(() => undefined);
    if (stats && stats.mtimeMs < nowMs - probeLeftoverMs) await rm(probe, { recursive: true, force: true });
  }
  return directory;
}
