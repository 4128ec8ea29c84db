import {
  access,
  constants,
  type FileHandle,
  mkdtemp,
  open,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ClientError, reasonOf } from './client-error.ts';

/** A file that a command writes its result to. */
export interface OutputFile {
  /** Takes the bytes. */
  readonly handle: FileHandle;
  /** Written straight into, as a device or a pipe is: what was written cannot be taken back. */
  readonly isDirect: boolean;
  /** The file is whole, and gets its name. @throws {ClientError} `not_writable` */
  finish: () => Promise<void>;
  /** Closes it. Nothing remains of a file that is not finished. */
  close: () => Promise<void>;
}

interface Replaced {
  uid: number;
  gid: number;
  /** As `stat` has it, with the kind of the file. */
  mode: number;
}

/**
 * Opens the file for writing. A regular file that exists is replaced, with its owner and mode, once the new one is whole; until
 * then the new one lies in a folder `{file}.part-{random}`. Links are followed. A device or a pipe is written straight into.
 *
 * @param isPrivate only this user may read a new file
 * @throws {ClientError} `not_writable`, such as for a folder
 */
export async function openOutputFile(file: string, { isPrivate = false } = {}): Promise<OutputFile> {
  try {
    // An empty name is the folder that it is relative to.
    const existing = await stat(file === '' ? '.' : file).catch(absent);
    if (existing?.isDirectory())
      throw new ClientError('not_writable', `${file || '""'} is a folder: name a file in it`);
    return existing === undefined || existing.isFile()
      ? await openReplacement(file, existing, isPrivate ? 0o600 : 0o666)
      : await openDirect(file);
  } catch (error) {
    throw notWritable(file, error);
  }
}

async function openDirect(file: string): Promise<OutputFile> {
  const handle = await open(file, constants.O_WRONLY);
  const close = () => handle.close();
  return { handle, isDirect: true, finish: close, close };
}

async function openReplacement(file: string, existing: Replaced | undefined, mode: number): Promise<OutputFile> {
  const target = await withoutLinks(file);
  // A file that may not be written is not replaced either.
  if (existing) await access(target, constants.W_OK);
  // Beside the target, so that it can be moved there; of its own, so that two commands never write the same file.
  const folder = await mkdtemp(`${target}.part-`);
  const incomplete = join(folder, 'incomplete');
  const remove = () => rm(folder, { recursive: true, force: true });
  const handle = await open(incomplete, 'wx', mode).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  const finish = async (): Promise<void> => {
    if (existing) await takeOver(handle, existing);
    await handle.sync();
    await handle.close();
    await rename(incomplete, target);
  };
  return {
    handle,
    isDirect: false,
    finish: () =>
      finish().catch((error: unknown) => {
        throw notWritable(file, error);
      }),
    close: async () => {
      await handle.close();
      await remove();
    },
  };
}

/** Only root may give a file to its owner; for anybody else a replacement is a new file. */
async function takeOver(handle: FileHandle, { uid, gid, mode }: Replaced): Promise<void> {
  try {
    await handle.chown(uid, gid);
  } catch {
    return;
  }
  await handle.chmod(mode & 0o777);
}

/** Follows the links of a path step by step: the file at their end need not exist. */
async function withoutLinks(file: string): Promise<string> {
  for (let path = file; ;) {
    const target = await readlink(path).catch(() => undefined);
    if (target === undefined) return path;
    path = resolve(await realpath(dirname(path)), target);
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function notWritable(file: string, error: unknown): ClientError {
  if (error instanceof ClientError) return error;
  return new ClientError('not_writable', `${file} cannot be written: ${reasonOf(error)}`, { cause: error });
}
