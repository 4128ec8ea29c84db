import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The place for this process's attempts, named by its process number. What killed processes left there is removed: their
 * jobs are done by others, in directories of their own.
 */
export async function openAttemptsDirectory(workDirectory: string): Promise<string> {
  const parent = join(workDirectory, 'attempts');
  await mkdir(parent, { recursive: true, mode: 0o700 });
  for (const name of await readdir(parent)) {
    if (Number(name) === process.pid || !isAlive(Number(name)))
      await rm(join(parent, name), { recursive: true, force: true });
  }
  const directory = join(parent, String(process.pid));
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return directory;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
