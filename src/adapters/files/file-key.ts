import { extname } from 'node:path';
import type { FileKey } from '../../ports/files.ts';

/** The name of a finished file in every file store: token/claim revision/name. */

const tokenPattern = /^[A-Za-z0-9_-]{1,200}$/;
const namePattern = /^[a-z0-9][a-z0-9_-]{0,99}\.(?:mp4|mp3|m4a|jpg)$/;

/** The file types that are served. The list is short so that no file is ever served as a page. */
const contentTypes: Readonly<Record<string, string>> = {
  '.mp4': 'video/mp4',
  '.mp3': 'audio/mpeg',
  '.m4a': 'audio/mp4',
  '.jpg': 'image/jpeg',
};

export const isToken = (text: string): boolean => tokenPattern.test(text);
export const isFileName = (text: string): boolean => namePattern.test(text);

/** @returns undefined for a file type that is never served */
export const contentTypeOf = ({ name }: Pick<FileKey, 'name'>): string | undefined => contentTypes[extname(name)];

/** @throws {RangeError} for parts that could leave the store: such a key is a bug, never a request */
export function checkedToken(token: string): string {
  if (!isToken(token)) throw new RangeError('A file token holds letters, digits, "-" and "_" only.');
  return token;
}

/** @throws {RangeError} as above */
export function keyPath({ token, claimRevision, name }: FileKey): string {
  if (!Number.isSafeInteger(claimRevision) || claimRevision < 0)
    throw new RangeError('A claim revision counts from 0.');
  if (!isFileName(name)) throw new RangeError(`A stored file cannot be named ${JSON.stringify(name)}.`);
  return `${checkedToken(token)}/${claimRevision}/${name}`;
}

/** The folder of notes. No token has a dot, so it is never taken for one. */
export const notesFolder = 'signed.notes';

/** @throws {RangeError} as above */
export function notePath(name: string): string {
  if (!/^[a-z0-9][a-z0-9.-]{0,199}$/.test(name))
    throw new RangeError(`A note cannot be named ${JSON.stringify(name)}.`);
  return `${notesFolder}/${name}`;
}
