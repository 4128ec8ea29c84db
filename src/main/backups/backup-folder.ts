/** A backup is a folder: a manifest, and below `data` a data folder without what is made again. */

import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { CommandFailed } from '../../cli/output.ts';
import { fileSha256, hashBuffer } from '../../downloader/file-sha256.ts';
import { diskFreeBytes, syncToDisk } from '../../system/disk.ts';
import { logFacts, readLogFacts } from './log-facts.ts';

export const manifestFile = 'manifest.json';
export const logFile = join('event-store', 'events.sqlite');
export const pendingVoidsFile = 'pending-voids.json';
export const personalKeysFile = 'personal-keys.sql';

const manifest = z.object({
  format: z.literal('reeltally-backup'),
  version: z.literal(1),
  service: z.string(),
  createdAt: z.string(),
  /** EVENTSTORE_PREFIX of the installation. */
  prefix: z.string(),
  log: logFacts,
  files: z.array(z.object({ path: z.string(), bytes: z.int(), sha256: z.string() })),
});
export type Manifest = z.infer<typeof manifest>;
export type BackedUpFile = Manifest['files'][number];

export const dataOf = (backup: string): string => join(backup, 'data');

/** All files below a folder, by their paths within it; a missing folder has none. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(ignoreMissing);
  const files = (entries ?? []).filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
}

/** @returns undefined for a file that has gone meanwhile */
export async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(ignoreMissing))?.size;
}

/** Copies files that nobody changes; one that is removed meanwhile is left out. */
export async function copyFiles(from: string, to: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(to, file)), { recursive: true, mode: 0o700 });
    await copyFile(join(from, file), join(to, file), constants.COPYFILE_FICLONE).catch(ignoreMissing);
  }
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** Writes everything below a folder to the disk, so that a loss of power leaves no file of it empty. */
export async function syncFolder(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of entries) await syncToDisk(join(parentPath, name));
  await syncToDisk(folder);
}

/** Sizes and checksums of all files below a folder. */
export async function describeFiles(folder: string): Promise<BackedUpFile[]> {
  const buffer = hashBuffer();
  const described: BackedUpFile[] = [];
  for (const path of await filesBelow(folder)) {
    const file = join(folder, path);
    described.push({ path, bytes: (await sizeOf(file)) ?? 0, sha256: await fileSha256(file, { buffer }) });
  }
  return described;
}

/** Left free: a log that finds no room ends its server. */
const leastFreeBytes = 128 * 1024 * 1024;

/** @throws {CommandFailed} */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const freeBytes = await diskFreeBytes(folder);
  if (freeBytes - bytes >= leastFreeBytes) return;
  const mebibytes = (count: number) => `${String(Math.ceil(count / 2 ** 20))} MiB`;
  throw new CommandFailed(
    `${folder} has no room: ${mebibytes(bytes + leastFreeBytes)} are needed, ${mebibytes(freeBytes)} are free`,
  );
}

/**
 * Reads a backup from its first byte to its last.
 *
 * @throws {CommandFailed} unless it is what its manifest says
 */
export async function checkBackup(backup: string): Promise<Manifest> {
  const said = await readManifest(backup);
  const found = new Map((await describeFiles(dataOf(backup))).map((file) => [file.path, file]));
  for (const { path, bytes, sha256 } of said.files) {
    const file = found.get(path);
    found.delete(path);
    if (!file) throw new CommandFailed(`the backup ${backup} is damaged: ${path} is missing`);
    if (file.bytes !== bytes || file.sha256 !== sha256)
      throw new CommandFailed(`the backup ${backup} is damaged: ${path} was changed`);
  }
  const [surplus] = found.keys();
  if (surplus !== undefined) throw new CommandFailed(`the backup ${backup} has a file that is not its own: ${surplus}`);
  const facts = factsOf(backup, said.prefix);
  if (JSON.stringify(facts) !== JSON.stringify(said.log))
    throw new CommandFailed(`the backup ${backup} is damaged: its log is not what its manifest says`);
  return said;
}

/** @throws {CommandFailed} if the copy of the log cannot be read to its end */
export function factsOf(backup: string, prefix: string): Manifest['log'] {
  try {
    return logFacts.parse(readLogFacts(join(dataOf(backup), logFile), prefix));
  } catch (error) {
    throw new CommandFailed(`the log of the backup ${backup} is damaged: ${(error as Error).message}`);
  }
}

async function readManifest(backup: string): Promise<Manifest> {
  const file = join(backup, manifestFile);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) throw new CommandFailed(`${backup} is no backup: it has no ${manifestFile}`);
  try {
    return manifest.parse(JSON.parse(text));
  } catch {
    throw new CommandFailed(`${file} is damaged, or of another version`);
  }
}
