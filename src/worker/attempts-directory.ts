import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The place for a worker's attempts, named by the worker. What workers that are gone left there is removed: their jobs are
 * done by others, in directories of their own.
 *
 * @param living ids of the workers whose hearts beat, on whatever machine
 */
export async function openAttemptsDirectory(
  workDirectory: string,
  { workerId, living }: { workerId: string; living: ReadonlySet<string> },
): Promise<string> {
  const parent = join(workDirectory, 'attempts');
  const directory = join(parent, workerId);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of await readdir(parent)) {
    if (!living.has(name)) await rm(join(parent, name), { recursive: true, force: true });
  }
  return directory;
}
