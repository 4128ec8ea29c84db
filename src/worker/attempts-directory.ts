import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** These directories exist for seconds, and their maker removes them unless it was killed: an older one is abandoned. */
const leftoverMs = 3_600_000;
const passing: readonly { parent: string; names: RegExp }[] = [
  { parent: '.', names: /^(?:probe|warm)-/ },
  { parent: 'cell', names: /^(?:self-test|trial|version)-/ },
];

/**
 * Opens the directory of a worker's attempts, which bears the worker's name, and removes those of workers that are gone: other
 * workers do their jobs, in directories of their own.
 *
 * @param listLiving ids of the workers whose hearts beat, on whatever machine; each beats before it makes its directory
 * @param nowMs by the real clock, in milliseconds since 1970
 */
export async function openAttemptsDirectory(
  workDirectory: string,
  { workerId, listLiving, nowMs }: { workerId: string; listLiving: () => Promise<ReadonlySet<string>>; nowMs: number },
): Promise<string> {
  const parent = join(workDirectory, 'attempts');
  const directory = join(parent, workerId);
  await mkdir(directory, { recursive: true });
  // Children of another user pass them on the way to their own, which is closed to everybody else.
  for (const passed of [parent, directory]) await chmod(passed, 0o711);
  // In this order: the directory of a worker that starts at the same moment is not taken for one that was left.
  const found = await readdir(parent);
  const living = await listLiving();
  for (const name of found) {
    if (!living.has(name)) await rm(join(parent, name), { recursive: true, force: true });
  }
  for (const { parent: folder, names } of passing) await removeOld(join(workDirectory, folder), names, nowMs);
  return directory;
}

async function removeOld(directory: string, names: RegExp, nowMs: number): Promise<void> {
  const found = await readdir(directory).catch(() => []);
  for (const name of found.filter((each) => names.test(each))) {
    const path = join(directory, name);
    // Another worker may end its own just now.
    const stats = await stat(path).catch(() => undefined);
    if (stats && stats.mtimeMs < nowMs - leftoverMs) await rm(path, { recursive: true, force: true });
  }
}
