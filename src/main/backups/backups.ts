import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Pool } from 'pg';
import { notesFolder } from '../../adapters/files/file-key.ts';
import {
  type PendingVoidRow,
  readPendingVoidRows,
  restorePendingVoidRows,
  timeBeforeCopy,
} from '../../adapters/postgres/pending-voids.ts';
import { personalKeysAsSql } from '../../adapters/postgres/personal-keys.ts';
import type { Backups } from '../../cli/backup.ts';
import { CommandFailed } from '../../cli/output.ts';
import { requestBackup } from '../../embedded/event-store/online-backup.ts';
import { syncToDisk } from '../../system/disk.ts';
import { writePrivateFile } from '../../system/private-files.ts';
import { filesDirectory } from '../file-store.ts';
import type { Config } from '../settings/config.ts';
import { readStreamPrefix } from '../settings/installation.ts';
import { findAddresses } from '../settings/instance.ts';
import { proofKeyFile } from '../settings/proof-signing.ts';
import {
  checkBackup,
  copyFiles,
  dataOf,
  describeFiles,
  factsOf,
  filesBelow,
  logFile,
  type Manifest,
  manifestFile,
  pendingVoidsFile,
  personalKeysFile,
  requireRoom,
  sizeOf,
  syncFolder,
} from './backup-folder.ts';

/** Backups of a data folder: see docs/operations.md. */
export const createBackups = (config: Config): Backups => ({
  create: (backup, service) => createBackup(config, backup, service),
  verify: checkBackup,
  restore: (backup) => restoreBackup(config, backup),
});

/**
 * The log comes first: whatever is copied later may be newer than it, and belongs to events that it does not have.
 */
async function createBackup(
  config: Config,
  backup: string,
  { pool, now, withFiles }: Parameters<Backups['create']>[1],
): Promise<Manifest> {
  const { dataDirectory } = config;
  if (config.EVENTSTORE_URL !== undefined)
    throw new CommandFailed('EVENTSTORE_URL is set: back up that event store with deploy/backup.sh');
  const { eventStoreUrl } = findAddresses(config);
  if (existsSync(backup)) throw new CommandFailed(`${backup} exists: name a new folder`);
  const copied = await copiedFiles(config, withFiles);
  const sizes = await Promise.all(
    [logFile, `${logFile}-wal`, ...copied].map((file) => sizeOf(join(dataDirectory, file))),
  );
  await requireRoom(
    dirname(resolve(backup)),
    sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0),
  );
  const prefix = await readStreamPrefix(pool, config);
  return wholeOrNothing(resolve(backup), async (incomplete) => {
    const data = dataOf(incomplete);
    await mkdir(join(data, dirname(logFile)), { recursive: true, mode: 0o700 });
    const copiedSince = await timeBeforeCopy(pool);
    await requestBackup(eventStoreUrl, join(data, logFile)).catch((error: unknown) => {
      throw new CommandFailed(`the event store cannot copy its log: ${(error as Error).message}`);
    });
    const pending = await readPendingVoidRows(pool, copiedSince);
    // After the log, which then has no event whose key is not among them.
    writePrivateFile(join(data, personalKeysFile), await personalKeysAsSql(pool));
    if (pending.length > 0) writePrivateFile(join(data, pendingVoidsFile), JSON.stringify(pending));
    await copyFiles(dataDirectory, data, await copiedFiles(config, withFiles));
    const made: Manifest = {
      format: 'reeltally-backup',
      version: 1,
      service: config.version,
      createdAt: now(),
      prefix,
      log: factsOf(incomplete, prefix),
      files: await describeFiles(data),
    };
    writePrivateFile(join(incomplete, manifestFile), `${JSON.stringify(made, null, 2)}\n`);
    return made;
  });
}

/** What of a data folder is neither in the log nor made again from it, beside the log. */
async function copiedFiles(config: Config, withFiles: boolean): Promise<string[]> {
  const { dataDirectory } = config;
  const isInside = filesDirectory(config) === join(dataDirectory, 'files');
  const folders = ['mails', ...(withFiles && isInside ? ['files'] : [])];
  const inFolders = await Promise.all(
    folders.map(async (folder) => (await filesBelow(join(dataDirectory, folder))).map((file) => join(folder, file))),
  );
  const single = ['format', 'secret', proofKeyFile];
  // A restored log is compared with the newest signed head that was kept, and not with one of its own age.
  const isKept = (file: string) => !file.startsWith(join('files', notesFolder));
  return [...single, ...inFolders.flat().filter(isKept)];
}

/** @throws {CommandFailed} unless the backup is whole, and the data folder empty or missing */
async function restoreBackup({ dataDirectory }: Config, backup: string): Promise<Manifest> {
  const there = await readdir(dataDirectory).catch(() => []);
  if (there.length > 0)
    throw new CommandFailed(
      `the data folder ${dataDirectory} is not empty: set REELTALLY_DATA to an empty or a new one`,
    );
  const checked = await checkBackup(backup);
  await mkdir(dirname(dataDirectory), { recursive: true });
  await requireRoom(
    dirname(dataDirectory),
    checked.files.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  return wholeOrNothing(dataDirectory, async (incomplete) => {
    await copyFiles(
      dataOf(backup),
      incomplete,
      checked.files.map(({ path }) => path),
    );
    const isSame = JSON.stringify(await describeFiles(incomplete)) === JSON.stringify(checked.files);
    if (!isSame) throw new CommandFailed(`${backup} was changed while it was restored`);
    return checked;
  });
}

/** A restored data folder has no Postgres yet: its first start puts the pending voids back, before anything is charged. */
export async function putPendingVoidsBack(dataDirectory: string, pool: Pool): Promise<void> {
  const file = join(dataDirectory, pendingVoidsFile);
  if (!existsSync(file)) return;
  await restorePendingVoidRows(pool, JSON.parse(readFileSync(file, 'utf8')) as PendingVoidRow[]);
  rmSync(file);
}

/**
 * The keys of personal data, likewise: from a backup, or from `log export --keys` beside a log that was imported. Before the read
 * models are built, which would take the data for erased.
 */
export async function putPersonalKeysBack(dataDirectory: string, pool: Pool): Promise<void> {
  const file = join(dataDirectory, personalKeysFile);
  if (!existsSync(file)) return;
  await pool.query(readFileSync(file, 'utf8'));
  rmSync(file);
}

/** Makes a folder under another name, which only this user may enter, and renames it once it is complete and on the disk. */
async function wholeOrNothing<Made>(folder: string, make: (incomplete: string) => Promise<Made>): Promise<Made> {
  const incomplete = await mkdtemp(`${folder}.incomplete-`);
  try {
    const made = await make(incomplete);
    await syncFolder(incomplete);
    await rename(incomplete, folder);
    await syncToDisk(dirname(folder));
    return made;
  } catch (error) {
    await rm(incomplete, { recursive: true, force: true });
    throw error;
  }
}
