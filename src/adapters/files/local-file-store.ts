import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { copyFile, lstat, mkdir, open, opendir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { FileKey, FileStore } from '../../ports/files.ts';
import { checkedToken, contentTypeOf, isFileName, isToken, keyPath } from './file-key.ts';

export interface SigningKey {
  /** Contained in every link, so that links outlive a change of the key. */
  id: string;
  /** A KeyObject rather than bytes: signing with it is eight times as fast. */
  key: KeyObject;
}

export interface LocalFileStoreOptions {
  directory: string;
  /** The part of links before `/files/`, without a slash at its end. */
  downloadBaseUrl: string;
  signingKeys: { current: SigningKey; others: readonly SigningKey[] };
  /** Differs at every call, so that every link is different. */
  nonce: () => string;
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

const signatureVersion = 'v1';
const pathPattern = /^\/files\/([A-Za-z0-9_-]{1,200})\/(0|[1-9]\d{0,14})\/([a-z0-9._-]{1,110})$/;
const parameterNames = ['download', 'key', 'expires', 'nonce', 'signature'] as const;

/** The signed text: one line per part, since no encoded part contains a line break. */
function sign(key: KeyObject, path: string, query: Readonly<Record<string, string>>): Buffer {
  const signed = parameterNames.slice(0, -1).map((name) => `${name}=${encodeURIComponent(query[name] ?? '')}`);
  return createHmac('sha256', key)
    .update([signatureVersion, 'GET', path, ...signed].join('\n'))
    .digest();
}

/** The link's parameters, if it has each of them once and no others. */
function readQuery(query: string): Record<(typeof parameterNames)[number], string> | undefined {
  const parameters = new URLSearchParams(query);
  if (parameters.size !== parameterNames.length) return undefined;
  const values = parameterNames.map((name) => parameters.get(name));
  const [download, key, expires, nonce, signature] = values;
  if (!download || !key || !expires || !nonce || !signature) return undefined;
  return { download, key, expires, nonce, signature };
}

async function fsyncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Moves a file. To another disk it is copied, and gets its name when it is complete. */
async function moveFile(from: string, to: string, temporary: string): Promise<void> {
  try {
    await fsyncPath(from);
    await rename(from, to);
  } catch (error) {
    if (!isCode(error, 'EXDEV')) throw error;
    try {
      await copyFile(from, temporary);
      await fsyncPath(temporary);
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

/** The content of a link. */
interface GenuineLink {
  file: FileKey;
  downloadName: string;
  expiresSeconds: number;
  signature: string;
}

function createLinks(options: LocalFileStoreOptions) {
  const { current, others } = options.signingKeys;
  const keys = new Map([...others, current].map(({ id, key }) => [id, key]));
  return {
    link(key: FileKey, { expiresAtSeconds, downloadName }: { expiresAtSeconds: number; downloadName: string }): string {
      const path = `/files/${keyPath(key)}`;
      const expires = String(expiresAtSeconds);
      const query = { download: downloadName.toWellFormed(), key: current.id, expires, nonce: options.nonce() };
      const signature = sign(current.key, path, query).toString('base64url');
      return `${options.downloadBaseUrl}${path}?${new URLSearchParams({ ...query, signature }).toString()}`;
    },
    /** @returns the content of a genuine link. The signature is verified first: nothing in the URL is trusted before. */
    read(url: string): GenuineLink | undefined {
      const [path = '', query = '', ...rest] = url.split('?');
      const parameters = readQuery(query);
      const key = parameters === undefined ? undefined : keys.get(parameters.key);
      if (parameters === undefined || key === undefined || rest.length > 0) return undefined;
      const expected = sign(key, path, parameters);
      const given = Buffer.from(parameters.signature, 'base64url');
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
      // Base64 can spell the same bytes in several ways; only our spelling is a link that we issued.
      if (expected.toString('base64url') !== parameters.signature) return undefined;
      const [, token = '', revision = '', name = ''] = pathPattern.exec(path) ?? [];
      if (!isToken(token) || !isFileName(name)) return undefined;
      const { download: downloadName, expires, signature } = parameters;
      const file = { token, claimRevision: Number(revision), name };
      return { file, downloadName, expiresSeconds: Number(expires), signature };
    },
  };
}

/**
 * Keeps finished files in a local directory, as token/claim revision/name, and issues signed links. A file appears complete, by
 * a rename; one that is purged while it is being read can be read to its end.
 */
export function createLocalFileStore(options: LocalFileStoreOptions): LocalFileStore {
  const links = createLinks(options);
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
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // No link can have this name, and it is never taken for a finished file.
      await moveFile(path, target, join(directory, `.${key.name}.incoming`));
      await fsyncPath(directory);
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
