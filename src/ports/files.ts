/** Key of a finished file. It includes the revision of the claim that made the file, so no attempt overwrites another's. */
export interface FileKey {
  token: string;
  claimRevision: number;
  name: string;
}

/** The file store is away or refuses the request, so nothing is known about the file. */
export class FileStoreUnavailable extends Error {
  override readonly name = 'FileStoreUnavailable';
}

export interface PutOptions {
  /** Digest of the file, hexadecimal. Stores that can keep it beside the file do. */
  sha256?: string;
  /** Ends an upload. */
  signal?: AbortSignal;
  /** Called now and then while the file goes over a network. */
  onProgress?: (storedBytes: number) => void;
}

/** The files that a file store has removed. */
export interface RemovedFiles {
  files: number;
  bytes: number;
}

/** Every later call of any process sees what a call has changed. A key of another form is a bug: a RangeError. */
export interface FileStore {
  /**
   * Moves or uploads a finished file. Atomic: a reader sees all of it or nothing. Afterwards the file is no longer at `path`. A
   * file of this key that was there before is replaced.
   *
   * @throws {FileStoreUnavailable} when it could not be stored, as far as is known; it may be tried again
   */
  put(key: FileKey, path: string, mime: string, options?: PutOptions): Promise<void>;
  /** Size of a stored file in bytes; undefined when it is not there. @throws {FileStoreUnavailable} */
  sizeBytes(key: FileKey): Promise<number | undefined>;
  /** Removes one file. Removing a file that is not there is fine. @throws {FileStoreUnavailable} */
  remove(key: FileKey): Promise<void>;
  /**
   * Removes every file of a token, except the given one if any, and the remains of an interrupted `put`.
   *
   * @throws {FileStoreUnavailable} some may be gone
   */
  purge(token: string, except?: FileKey): Promise<RemovedFiles>;
  /** Tokens with any stored file, the remains of an interrupted `put` included; in groups and in any order. */
  tokens(): AsyncIterable<readonly string[]>;
  /**
   * A link that serves the file under `downloadName` until `expiresAtSeconds` (Unix time). Each call gives a different one.
   *
   * @throws {FileStoreUnavailable} when it cannot be signed now
   */
  link(key: FileKey, options: { expiresAtSeconds: number; downloadName: string }): Promise<string>;
  /**
   * A small text that is kept beside the files, out of reach of log and Postgres.
   *
   * @param name lower-case letters, digits, dots and dashes
   * @returns undefined if there is none
   * @throws {FileStoreUnavailable}
   */
  readNote(name: string): Promise<string | undefined>;
  /** Keeps a text in the place of an earlier one of that name. Atomic, as `put`. @throws {FileStoreUnavailable} */
  keepNote(name: string, text: string): Promise<void>;
}
