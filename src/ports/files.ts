/** Where a finished file lies: the job's token and the revision of the claim that made it, so that no attempt overwrites another's. */
export interface FileKey {
  token: string;
  claimRevision: number;
  name: string;
}

/** The place where finished files lie is away, or does not take what it was asked for: nothing is known of the file. */
export class FileStoreUnavailable extends Error {
  override readonly name = 'FileStoreUnavailable';
}

export interface PutOptions {
  /** Of the file, hexadecimal: kept beside it where the store can. */
  sha256?: string;
  /** Ends an upload. */
  signal?: AbortSignal;
  /** Told now and then while the file goes over a network. */
  onProgress?: (storedBytes: number) => void;
}

/** What went from a file store. */
export interface RemovedFiles {
  files: number;
  bytes: number;
}

export interface FileStore {
  /**
   * Moves or uploads a finished file. Atomic: a reader sees all of it or nothing.
   *
   * @throws {FileStoreUnavailable} when it could not be stored; it may be tried again
   */
  put(key: FileKey, path: string, mime: string, options?: PutOptions): Promise<void>;
  /** Size of a stored file in bytes; undefined when it is not there. @throws {FileStoreUnavailable} when that is not known */
  sizeBytes(key: FileKey): Promise<number | undefined>;
  /** Removes one file; removing what is not there is fine. */
  remove(key: FileKey): Promise<void>;
  /** Removes every file of a token except the one named, if any. Removing what is not there is fine. */
  purge(token: string, except?: FileKey): Promise<RemovedFiles>;
  /** Tokens of which anything is kept, remains of a `put` that was interrupted included; some at a time, in any order. */
  tokens(): AsyncIterable<readonly string[]>;
  /**
   * A link that serves the file under `downloadName` until `expiresAtSeconds` (Unix time), and differs at every call.
   *
   * @throws {FileStoreUnavailable} when it cannot be signed now
   */
  link(key: FileKey, options: { expiresAtSeconds: number; downloadName: string }): Promise<string>;
}
