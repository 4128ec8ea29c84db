import { diskFreeBytes } from '../system/disk.ts';
import type { Config } from './settings/config.ts';
import { workDirectoryOf } from './sandbox.ts';
import { EngineEnded } from './embedded-servers.ts';
import { filesDirectory } from './files.ts';

/** What a person has to mend, rather than what has broken for want of it. */
class DiskIsFull extends Error {
  override readonly name = 'DiskIsFull';
}

/** As the kernel, Postgres, nats-server and SQLite say it. */
const saysFull = /ENOSPC|EDQUOT|no space left on device|disk quota exceeded|disk is full/i;
/** Below this, SQLite and Postgres cannot even write what they say about it. */
const leastBytes = 1024 * 1024;

/** @returns the same error, unless it comes from a disk that is full: then the one that says which, and what to do */
export async function orFullDisk(error: unknown, config: Config): Promise<unknown> {
  const directories = [config.dataDirectory, workDirectoryOf(config), filesDirectory(config) ?? config.dataDirectory];
  const full = await firstFull(directories);
  // A refusal of the settings names its own reason, however much room there is.
  const isRefusal = error instanceof Error && error.name.endsWith('Refused');
  if (!saysFull.test(wordsOf(error)) && (full === undefined || isRefusal)) return error;
  const [what = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return new DiskIsFull(
    `The disk that holds ${full ?? config.dataDirectory} is full: make room there, and start again. ` +
      `Nothing that was acknowledged is lost. (${what})`,
    { cause: error },
  );
}

async function firstFull(directories: readonly string[]): Promise<string | undefined> {
  for (const directory of directories) {
    if ((await diskFreeBytes(directory).catch(() => leastBytes)) < leastBytes) return directory;
  }
  return undefined;
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error instanceof EngineEnded ? error.lastWords : '';
  return `${error.message}\n${own}\n${error.cause === undefined ? '' : wordsOf(error.cause)}`;
}
