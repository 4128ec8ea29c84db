import { diskFreeBytes } from '../system/disk.ts';
import { workDirectoryOf } from './downloader.ts';
import { ServerEnded } from './embedded-servers.ts';
import { filesDirectory } from './file-store.ts';
import type { Config } from './settings/config.ts';

/** The cause of other failures, for the person who has to mend it. */
class DiskIsFull extends Error {
  override readonly name = 'DiskIsFull';
}

/** The words of the kernel, Postgres, nats-server and SQLite for a full disk. */
const saysFull = /ENOSPC|EDQUOT|no space left on device|disk quota exceeded|disk is full/i;
/** Below this, SQLite and Postgres cannot even write their own error. */
const leastBytes = 1024 * 1024;

/** @returns the same error; or, if it comes from a full disk, one that names the disk and says what to do */
export async function orFullDisk(error: unknown, config: Config): Promise<unknown> {
  const directories = [config.dataDirectory, workDirectoryOf(config), filesDirectory(config) ?? config.dataDirectory];
  const full = await firstFull(directories);
  // A refusal of the settings names its own reason, however much room there is.
  const isRefusal = error instanceof Error && error.name.endsWith('Refused');
  if (!saysFull.test(wordsOf(error)) && (full === undefined || isRefusal)) return error;
  const [what = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return new DiskIsFull(
    `The disk that holds ${full ?? config.dataDirectory} is full: free some space, and start again. ` +
      `No acknowledged data is lost. (${what})`,
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
  const own = error instanceof ServerEnded ? error.lastWords : '';
  return `${error.message}\n${own}\n${error.cause === undefined ? '' : wordsOf(error.cause)}`;
}
