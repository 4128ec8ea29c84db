/**
 * The folder with all data of an instance on this machine. One process at a time has it. It contains the number of its format.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { writePrivateFile } from '../system/private-files.ts';

/** Raised whenever an older version could not read the folder, or this one cannot read what an older version wrote. */
export const dataFormat = 6;

const lockFile = 'lock.sqlite';
const holderFile = 'holder.pid';
const formatFile = 'format';

/** A data directory that cannot be used; the message says why and what to do. */
export class DataDirectoryRefused extends Error {
  override readonly name = 'DataDirectoryRefused';
}

/**
 * Takes the folder for this process, making it (readable by this user only) where it is missing.
 *
 * The lock is SQLite's, on a file of its own. The kernel releases it when the process dies, even after a SIGKILL.
 * Nothing else may open that file, because closing any handle of a file gives up the process's locks on it.
 *
 * @param servedAt finds the address of the service that runs on a folder, to name it where the folder is in use
 * @throws {DataDirectoryRefused}
 */
export function lockDataDirectory(
  directory: string,
  servedAt: (directory: string) => string | undefined = () => undefined,
) {
  const path = makeDirectory(directory);
  const lock = takeLock(path, servedAt);
  try {
    checkFormat(path);
    writePrivateFile(join(path, holderFile), `${process.pid}\n`);
  } catch (error) {
    lock.close();
    throw error;
  }
  return {
    /** Absolute, without symbolic links. */
    path,
    /** Lets the next process have it. The death of this process does the same. */
    release: () => {
      if (lock.isOpen) lock.close();
    },
  };
}

function makeDirectory(directory: string): string {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return realpathSync(directory);
  } catch (error) {
    throw new DataDirectoryRefused(
      `The data folder ${directory} cannot be made or opened: ${(error as Error).message}`,
    );
  }
}

function takeLock(path: string, servedAt: (directory: string) => string | undefined): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(path, lockFile), { timeout: 0 });
    lock.exec('begin exclusive');
    return lock;
  } catch (error) {
    lock?.close();
    if (!(error as Error).message.includes('locked')) {
      throw new DataDirectoryRefused(`The data folder ${path} cannot be locked: ${(error as Error).message}`);
    }
    const url = servedAt(path);
    const holder = `${holderName(path)}${url ? `, which serves ${url}` : ''}`;
    throw new DataDirectoryRefused(
      `The data folder ${path} is in use by ${holder}. Stop that process, or choose another folder with REELTALLY_DATA.`,
    );
  }
}

function holderName(path: string): string {
  try {
    return `process ${readFileSync(join(path, holderFile), 'utf8').trim()}`;
  } catch {
    return 'another process';
  }
}

function checkFormat(path: string): void {
  const file = join(path, formatFile);
  if (!existsSync(file)) {
    // The files of a start that was interrupted here are ours; any other file is not.
    const strange = readdirSync(path).filter(
      (name) => !name.startsWith(lockFile) && !name.startsWith(holderFile) && !name.startsWith(formatFile),
    );
    if (strange.length > 0) {
      throw new DataDirectoryRefused(
        `The folder ${path} holds other files (${strange.slice(0, 3).join(', ')}) and no format number, ` +
          'so it is not a data folder. Choose an empty folder, or one that does not exist yet.',
      );
    }
    writePrivateFile(file, `${dataFormat}\n`);
    return;
  }
  const text = readFileSync(file, 'utf8').trim();
  if (text === String(dataFormat)) return;
  const written = /^\d+$/.test(text) ? Number(text) : undefined;
  const age = written === undefined ? 'an unknown' : written > dataFormat ? 'a newer' : 'an older';
  throw new DataDirectoryRefused(
    `The data folder ${path} was written by ${age} version (format ${written ?? '?'}; this version reads format ${dataFormat}). ` +
      'Start the version that wrote it, or move the folder away, or choose another folder.',
  );
}
