import {
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FileKey, FileStore } from '../../ports/files.ts';
import { syncToDisk } from '../../system/disk.ts';
import { writePrivateFile } from '../../system/private-files.ts';
import { checkedToken, contentTypeOf, isToken, keyPath, notePath } from './file-key.ts';
import { createSignedLinks, type LinkOptions } from './signed-links.ts';

export interface LocalFileStoreOptions extends LinkOptions {
  directory: string;
}

type LinkVerdict =
  | { ok: true; file: FileKey; path: string; link: string; downloadName: string; mime: string; sizeBytes: number }
  | { ok: false; status: 403 | 404 | 410 };

export interface LocalFileStore extends FileStore {
  /**
   * Verifies the path and query of a request: 403 unless we signed exactly this link, then 410 from the second of its expiry
   * on, then 404 if the file is gone.
   */
  verifyLink(url: string, nowMs: number): Promise<LinkVerdict>;
  /** Opens a file that `verifyLink` named; undefined when it has gone meanwhile. */
  openFile(path: string): Promise<FileHandle | undefined>;
}

function isCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Moves a file. To another disk it is copied, and gets its name when it is complete. */
async function moveFile(from: string, to: string, temporary: string): Promise<void> {
  try {
    await syncToDisk(from);
    await rename(from, to);
  } catch (error) {
    if (!isCode(error, 'EXDEV')) throw error;
    try {
      await copyFile(from, temporary);
      await syncToDisk(temporary);
      await rename(temporary, to);
    } finally {
      await rm(temporary, { force: true });
    }
    await rm(from, { force: true });
  }
}

/** A missing directory has no entries. */
async function entries(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  });
}

const tokensAtOnce = 500;

/** Other names in the directory are not tokens. */
async function* listTokens(directory: string): AsyncGenerator<readonly string[]> {
  const opened = await opendir(directory, { bufferSize: tokensAtOnce }).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  let page: string[] = [];
  for await (const entry of opened ?? []) {
    if (entry.isDirectory() && isToken(entry.name)) page.push(entry.name);
    if (page.length < tokensAtOnce) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Removes a directory if it is empty. */
async function removeIfEmpty(directory: string): Promise<void> {
  await rmdir(directory).catch((error: unknown) => {
    if (!isCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  });
}

/**
 * Keeps finished files in a local directory, as token/claim revision/name, and issues signed links. A file appears complete, by
 * a rename; one that is purged while it is being read can be read to its end.
 */
export function createLocalFileStore(options: LocalFileStoreOptions): LocalFileStore {
  const links = createSignedLinks(options);
  const pathOf = (key: FileKey) => join(options.directory, keyPath(key));

  async function sizeOf(path: string): Promise<number | undefined> {
    try {
      const stats = await lstat(path);
      return stats.isFile() ? stats.size : undefined;
    } catch (error) {
      if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw error;
    }
  }

  return {
    async put(key, path, mime) {
      const target = pathOf(key);
      if (contentTypeOf(key) !== mime) throw new RangeError(`${key.name} is not served as ${mime}.`);
      const directory = dirname(target);
      const isNew = (await mkdir(directory, { recursive: true, mode: 0o700 })) !== undefined;
      // No link can have this name, and it is never taken for a finished file.
      await moveFile(path, target, join(directory, `.${key.name}.incoming`));
      await syncToDisk(directory);
      if (!isNew) return;
      // A new folder is an entry of the one above it: of the token, and of all.
      await syncToDisk(dirname(directory));
      await syncToDisk(options.directory);
    },
    sizeBytes: (key) => sizeOf(pathOf(key)),
    async remove(key) {
      const path = pathOf(key);
      await rm(path, { force: true });
      await removeIfEmpty(dirname(path));
      await removeIfEmpty(dirname(dirname(path)));
    },
    async purge(token, except) {
      const directory = join(options.directory, checkedToken(token));
      const kept = except?.token === token ? pathOf(except) : undefined;
      const removed = { files: 0, bytes: 0 };
      for (const revision of await entries(directory)) {
        const attempt = join(directory, revision);
        for (const name of await entries(attempt)) {
          const path = join(attempt, name);
          if (path === kept) continue;
          const sizeBytes = await sizeOf(path);
          await rm(path, { recursive: true, force: true });
          if (sizeBytes !== undefined) removed.files += 1;
          removed.bytes += sizeBytes ?? 0;
        }
        await removeIfEmpty(attempt);
      }
      await removeIfEmpty(directory);
      return removed;
    },
    tokens: () => listTokens(options.directory),
    link: async (key, served) => links.link(key, served),
    async readNote(name) {
      return readFile(join(options.directory, notePath(name)), 'utf8').catch((error: unknown) => {
        if (isCode(error, 'ENOENT')) return undefined;
        throw error;
      });
    },
    async keepNote(name, text) {
      const path = join(options.directory, notePath(name));
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      writePrivateFile(path, text);
      await syncToDisk(dirname(path));
    },
    async verifyLink(url, nowMs) {
      const genuine = links.read(url);
      if (genuine === undefined) return { ok: false, status: 403 };
      if (nowMs >= genuine.expiresSeconds * 1000) return { ok: false, status: 410 };
      const { file, signature: link, downloadName } = genuine;
      const path = pathOf(file);
      const sizeBytes = await sizeOf(path);
      const mime = contentTypeOf(file);
      if (sizeBytes === undefined || mime === undefined) return { ok: false, status: 404 };
      return { ok: true, file, path, link, downloadName, mime, sizeBytes };
    },
    async openFile(path) {
      return open(path, 'r').catch((error: unknown) => {
        if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
        throw error;
      });
    },
  };
}
